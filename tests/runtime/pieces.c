#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/forbid_uring.h"
#include "tests/runtime/pieces.h"

char pieces_dir[] = "/tmp/mtlm-offload.XXXXXX";

const int64_t pieces_sizes[PIECES_N] = {1, 12345, 4096, 100000, 8192};

struct mtlm_offload_file *pieces_create(void)
{
    struct mtlm_error err = {0};
    struct mtlm_offload_file *file =
        mtlm_offload_file_create(pieces_dir, pieces_sizes, PIECES_N, &err);

    if (!file)
        fail_msg("%s", err.text);
    return file;
}

int64_t pieces_place(int i)
{
    int64_t at = 0;

    for (int j = 0; j < i; j++)
        at += mtlm_offload_file_padded(pieces_sizes[j]);
    return at;
}

char *pieces_memory(void)
{
    char *memory = aligned_alloc(MTLM_OFFLOAD_ALIGN, pieces_place(PIECES_N));

    assert_non_null(memory);
    memset(memory, 0x55, pieces_place(PIECES_N));
    return memory;
}

char pieces_byte(int piece, int64_t i, int seed)
{
    return (char) (i * 131 + piece * 7 + seed);
}

char *pieces_filled(int seed)
{
    char *memory = pieces_memory();

    for (int p = 0; p < PIECES_N; p++)
        for (int64_t i = 0; i < pieces_sizes[p]; i++)
            memory[pieces_place(p) + i] = pieces_byte(p, i, seed);
    return memory;
}

void pieces_assert(const char *at, int piece, int seed)
{
    for (int64_t i = 0; i < pieces_sizes[piece]; i++)
        assert_int_equal(at[i], pieces_byte(piece, i, seed));
}

int pieces_names(void)
{
    DIR *d = opendir(pieces_dir);
    const struct dirent *e;
    int n = 0;

    assert_non_null(d);
    while ((e = readdir(d)))
        n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
    closedir(d);
    return n;
}

int pieces_open_beside(void)
{
    DIR *d = opendir("/proc/self/fd");
    const struct dirent *e;
    int found = -1;

    assert_non_null(d);
    while (found < 0 && (e = readdir(d))) {
        char path[300], to[300] = "";

        snprintf(path, sizeof(path), "/proc/self/fd/%s", e->d_name);
        if (readlink(path, to, sizeof(to) - 1) > 0
            && strncmp(to, pieces_dir, strlen(pieces_dir)) == 0
            && to[strlen(pieces_dir)] == '/')
            found = open(path, O_RDWR);
    }
    closedir(d);
    assert_true(found >= 0);
    return found;
}

bool pieces_has_uring(void)
{
#ifdef HAVE_LIBURING
    char parameters[256] = {0};
    const long fd = syscall(__NR_io_uring_setup, 1, parameters);

    if (fd >= 0)
        close((int) fd);
    return fd >= 0;
#else
    return false;
#endif
}

/* All tests behind this one go the other way. */
static void test_io_uring_can_be_forbidden(void **state)
{
    (void) state;
    if (!forbid_uring())
        skip();
    assert_false(pieces_has_uring());
}

void pieces_both_ways(const struct CMUnitTest *tests, size_t n,
                      struct CMUnitTest *both)
{
    const struct CMUnitTest forbid =
        cmocka_unit_test(test_io_uring_can_be_forbidden);

    memcpy(both, tests, n * sizeof(*tests));
    both[n] = forbid;
    memcpy(both + n + 1, tests, n * sizeof(*tests));
}

int pieces_make_dir(void **state)
{
    (void) state;
    return mkdtemp(pieces_dir) ? 0 : -1;
}

int pieces_remove_dir(void **state)
{
    (void) state;
    return rmdir(pieces_dir);
}
