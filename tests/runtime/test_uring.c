/* io_uring: long reads and writes are those of pread() and pwrite(), whatever
 * the system answers to single requests. */

#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/file/block_file.h"
#include "runtime/file/disk.h"
#include "runtime/file/uring.h"

#ifdef HAVE_LIBURING

#include <fcntl.h>
#include <liburing.h>
#include <sys/mman.h>

/* More requests than are under way at once, and a last one that is smaller. */
enum { BYTES = (40 << 20) + 12288, BEGIN = 8192 };

/* Replaces a result that the system gave; NULL: results stay. */
static int (*change)(int result);
static int changed; /* results */
static int refused; /* calls that are to fail with EINTR */

int __real_io_uring_submit_and_wait(struct io_uring *ring, unsigned wait);
int __wrap_io_uring_submit_and_wait(struct io_uring *ring, unsigned wait);

int __wrap_io_uring_submit_and_wait(struct io_uring *ring, unsigned wait)
{
    struct io_uring_cqe *cqe;
    unsigned head;
    int rc;

    if (refused > 0) {
        refused--;
        return -EINTR;
    }
    rc = __real_io_uring_submit_and_wait(ring, wait);
    io_uring_for_each_cqe(ring, head, cqe) if (change) cqe->res =
        change(cqe->res);
    return rc;
}

/* A file, a ring, and what is to be in the file from BEGIN on. */
struct fixture {
    int fd;
    struct mtlm_uring *uring;
    char *values, *got;
};

static char *get_values(void)
{
    char *values = aligned_alloc(4096, BYTES);

    assert_non_null(values);
    for (int64_t i = 0; i < BYTES; i++)
        values[i] = (char) (i * 131 + i / 4096);
    return values;
}

static int open_file(void)
{
    char path[] = "/tmp/mtlm-uring.XXXXXX";
    const int fd = mkstemp(path);

    assert_true(fd >= 0);
    unlink(path);
    return fd;
}

static void start(struct fixture *f)
{
    change = NULL;
    changed = refused = 0;
    *f = (struct fixture){.uring = mtlm_uring_create()};
    if (!f->uring)
        skip();
    f->fd = open_file();
    f->values = get_values();
    f->got = aligned_alloc(4096, BYTES);
    assert_non_null(f->got);
    memset(f->got, 0, BYTES);
}

static void end(struct fixture *f)
{
    mtlm_uring_destroy(f->uring);
    close(f->fd);
    free(f->values);
    free(f->got);
}

static void assert_all(struct fixture *f)
{
    for (int64_t at = 0, n; at < BYTES; at += n) {
        n = pread(f->fd, f->got + at, BYTES - at, BEGIN + at);
        assert_true(n > 0);
    }
    assert_memory_equal(f->got, f->values, BYTES);
}

static void write_all(struct fixture *f)
{
    assert_int_equal(
        mtlm_uring_transfer(f->uring, f->fd, true, f->values, BYTES, BEGIN), 0);
}

static void read_all(struct fixture *f)
{
    memset(f->got, 0, BYTES);
    assert_int_equal(
        mtlm_uring_transfer(f->uring, f->fd, false, f->got, BYTES, BEGIN), 0);
    assert_memory_equal(f->got, f->values, BYTES);
}

static int returns; /* that the watchdog would hear of */

static void count_return(void)
{
    returns++;
}

/* A long transfer returns often: its requests are more than are under way at
 * once. */
static void test_bytes_come_back(void **state)
{
    struct fixture f;

    (void) state;
    start(&f);
    mtlm_disk_on_call(count_return);
    returns = 0;
    write_all(&f);
    assert_true(returns >= 3);
    assert_all(&f);
    returns = 0;
    read_all(&f);
    assert_true(returns >= 3);
    mtlm_disk_on_call(NULL);
    end(&f);
}

static int halve(int result)
{
    return ++changed % 3 == 0 && result > 4096 ? result / 8192 * 4096 : result;
}

static int interrupt(int result)
{
    return ++changed % 3 == 0 ? changed % 2 ? -EINTR : -EAGAIN : result;
}

/* What a request leaves undone is asked for again. */
static void test_short_and_interrupted_requests_go_on(void **state)
{
    int (*const way[])(int) = {halve, interrupt};
    struct fixture f;

    (void) state;
    for (int i = 0; i < 2; i++) {
        start(&f);
        change = way[i];
        refused = 2;
        write_all(&f);
        assert_int_equal(refused, 0);
        assert_true(changed >= 3);
        change = NULL;
        assert_all(&f);
        change = way[i];
        changed = 0;
        read_all(&f);
        assert_true(changed >= 3);
        end(&f);
    }
}

static int break_first(int result)
{
    return changed++ == 0 ? -EIO : result;
}

/* One failure ends the transfer; the ring is good for the next. */
static void test_an_error_is_told(void **state)
{
    struct fixture f;

    (void) state;
    start(&f);
    for (int writes = 1; writes >= 0; writes--) {
        change = break_first;
        changed = 0;
        errno = 0;
        assert_int_equal(mtlm_uring_transfer(f.uring, f.fd, writes,
                                             writes ? f.values : f.got, BYTES,
                                             BEGIN),
                         -1);
        assert_int_equal(errno, EIO);
        change = NULL;
        write_all(&f);
        read_all(&f);
    }
    end(&f);
}

static void test_the_end_of_the_file_is_told(void **state)
{
    struct fixture f;

    (void) state;
    start(&f);
    write_all(&f);
    assert_int_equal(ftruncate(f.fd, BEGIN + BYTES - 4096), 0);
    errno = EIO;
    assert_int_equal(
        mtlm_uring_transfer(f.uring, f.fd, false, f.got, BYTES, BEGIN), -1);
    assert_int_equal(errno, 0);
    end(&f);
}

static void test_a_bad_file_is_told(void **state)
{
    struct fixture f;

    (void) state;
    start(&f);
    assert_int_equal(mtlm_uring_transfer(f.uring, -1, true, f.values, BYTES, 0),
                     -1);
    assert_int_equal(errno, EBADF);
    end(&f);
}

static int reason; /* with which the system refuses a request */

static int refuse_first(int result)
{
    return changed++ == 0 ? -reason : result;
}

/* Creates a file that goes by rings, or skips the test; sets *fd, the file's
 * descriptor. */
static struct mtlm_block_file *create_block_file(int *fd)
{
    struct mtlm_block_file *file;

    *fd = dup(STDERR_FILENO); /* the lowest free one, which comes next */
    close(*fd);
    file = mtlm_block_file_create("/tmp", BYTES);
    assert_non_null(file);
    if (!mtlm_block_file_has_rings(file)) {
        mtlm_block_file_destroy(file);
        skip();
    }
    return file;
}

/* A system may allow rings, and no reads and writes by them. */
static void test_what_a_ring_may_not_do_goes_by_calls(void **state)
{
    static const int reasons[] = {EPERM, EACCES, EOPNOTSUPP, ENOSYS};

    (void) state;
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        int fd;
        struct mtlm_block_file *file = create_block_file(&fd);
        char *values = get_values(), *got = aligned_alloc(4096, BYTES);

        assert_non_null(got);
        reason = reasons[i];
        changed = 0;
        change = refuse_first;
        assert_int_equal(mtlm_block_file_transfer(file, true, values, BYTES, 0),
                         0);
        change = NULL;
        assert_true(changed > 0);
        assert_false(mtlm_block_file_has_rings(file));
        assert_true(mtlm_block_file_is_direct(file));
        memset(got, 0, BYTES);
        assert_int_equal(mtlm_block_file_transfer(file, false, got, BYTES, 0),
                         0);
        assert_memory_equal(got, values, BYTES);
        mtlm_block_file_destroy(file);
        free(values);
        free(got);
    }
}

/* The same errno, from a file that nobody may write to. */
static void test_what_the_file_refuses_is_told(void **state)
{
    const int sealed = memfd_create("sealed", MFD_ALLOW_SEALING);
    struct mtlm_block_file *file;
    char *values;
    int fd;

    (void) state;
    if (sealed < 0 || ftruncate(sealed, BYTES) < 0
        || fcntl(sealed, F_ADD_SEALS, F_SEAL_WRITE) < 0)
        skip();
    change = NULL;
    file = create_block_file(&fd);
    values = get_values();
    assert_int_equal(dup2(sealed, fd), fd);
    assert_int_equal(mtlm_block_file_transfer(file, true, values, BYTES, 0),
                     -1);
    assert_int_equal(errno, EPERM);
    mtlm_block_file_destroy(file);
    close(sealed);
    free(values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_ring_may_not_do_goes_by_calls),
        cmocka_unit_test(test_what_the_file_refuses_is_told),
        cmocka_unit_test(test_bytes_come_back),
        cmocka_unit_test(test_short_and_interrupted_requests_go_on),
        cmocka_unit_test(test_an_error_is_told),
        cmocka_unit_test(test_the_end_of_the_file_is_told),
        cmocka_unit_test(test_a_bad_file_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void test_without_liburing(void **state)
{
    (void) state;
    assert_null(mtlm_uring_create());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_liburing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
