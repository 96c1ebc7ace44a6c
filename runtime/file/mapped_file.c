/* Maps files for reading, and turns a SIGBUS on a file that shrank into an
 * error with the name of the file. */

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/base/memory.h"
#include "runtime/file/disk.h"
#include "runtime/file/mapped_file.h"

static struct mtlm_mapped_file *mapped_files;
static pthread_mutex_t mapped_files_lock = PTHREAD_MUTEX_INITIALIZER;

static struct iovec piece(const char *text)
{
    return (struct iovec){.iov_base = (void *) text, .iov_len = strlen(text)};
}

/* The signal handler: calls only functions allowed in one.  Reads the list
 * without its lock, which the interrupted thread may hold. */
static void on_sigbus(int sig, siginfo_t *info, void *context)
{
    const unsigned char *at = info->si_addr;

    (void) context;
    for (struct mtlm_mapped_file *f = mapped_files; f; f = f->next)
        if (at >= f->data && at < f->data + f->bytes) {
            const struct iovec line[] = {
                piece(program_invocation_short_name), piece(": "),
                piece(f->path),
                piece(
                    ": the file became shorter while it was being read, or the "
                    "disk failed\n")};

            if (writev(STDERR_FILENO, line, 4) < 0)
                _exit(MTLM_EXIT_INPUT);
            _exit(MTLM_EXIT_INPUT);
        }
    /* No mapped file: the repeated access ends the process. */
    signal(sig, SIG_DFL);
}

/* Installs the handler at each open: libraries that start later install their
 * own. */
static void install_handler(void)
{
    struct sigaction action = {.sa_sigaction = on_sigbus,
                               .sa_flags = SA_SIGINFO};

    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}

/* Opens the regular file at path, with its attributes; -1 on failure. */
static int open_file(const char *path, struct stat *st, struct mtlm_error *err)
{
    /* Non-blocking: a FIFO of this name must not hang the open. */
    const int fd = mtlm_disk_open(path, O_RDONLY | O_NONBLOCK);

    if (fd < 0 || fstat(fd, st) < 0)
        mtlm_disk_cannot_read(path, err);
    else if (S_ISREG(st->st_mode))
        return fd;
    else
        mtlm_error_set(err, MTLM_EXIT_INPUT, "%s: not a regular file", path);
    if (fd >= 0)
        close(fd);
    return -1;
}

static int map(struct mtlm_mapped_file *file, int fd, const char *path,
               int64_t bytes, struct mtlm_error *err)
{
    void *data;

    if (bytes == 0)
        return 0;
    data = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED)
        return mtlm_error_set(err, MTLM_EXIT_IO,
                              "%s: cannot map %lld bytes: %s", path,
                              (long long) bytes, strerror(errno));
    file->data = data;
    file->bytes = bytes;
    return 0;
}

int mtlm_mapped_file_open(struct mtlm_mapped_file *file, const char *path,
                          struct mtlm_error *err)
{
    struct stat st;
    const int fd = open_file(path, &st, err);
    int rc;

    *file = (struct mtlm_mapped_file){0};
    if (fd < 0)
        return -1;
    rc = map(file, fd, path, st.st_size, err);
    close(fd);
    if (rc < 0)
        return rc;
    file->path = mtlm_strdup(path);
    install_handler();
    pthread_mutex_lock(&mapped_files_lock);
    file->next = mapped_files;
    mapped_files = file;
    pthread_mutex_unlock(&mapped_files_lock);
    return 0;
}

/* One byte more, so that an empty file is read, too. */
static int copy(struct mtlm_mapped_file *file, int fd, const char *path,
                int64_t bytes, struct mtlm_error *err)
{
    int rc = 0;

    file->copy = mtlm_calloc(bytes + 1, 1);
    file->bytes = mtlm_disk_read(fd, file->copy, bytes + 1);
    if (file->bytes < 0)
        rc = mtlm_disk_cannot_read(path, err);
    file->data = file->bytes > 0 ? file->copy : NULL;
    return rc;
}

int mtlm_mapped_file_read(struct mtlm_mapped_file *file, const char *path,
                          int64_t max_bytes, struct mtlm_error *err)
{
    struct stat st;
    const int fd = open_file(path, &st, err);
    int rc;

    *file = (struct mtlm_mapped_file){0};
    if (fd < 0)
        return -1;
    if (st.st_size > max_bytes)
        rc = mtlm_error_set(err, MTLM_EXIT_INPUT,
                            "%s: expected at most %lld bytes, found %lld", path,
                            (long long) max_bytes, (long long) st.st_size);
    else
        rc = copy(file, fd, path, st.st_size, err);
    close(fd);
    file->path = mtlm_strdup(path);
    if (rc < 0)
        mtlm_mapped_file_close(file);
    return rc;
}

/* Returns the bytes that were read, or -1 with errno. */
static int64_t read_pieces(int fd, mtlm_mapped_file_take *take, void *arg)
{
    enum { PIECE_BYTES = 4 << 20 };
    void *piece = mtlm_calloc(PIECE_BYTES, 1);
    int64_t all = 0;
    ssize_t n;

    while ((n = mtlm_disk_read(fd, piece, PIECE_BYTES)) > 0) {
        take(arg, piece, n);
        all += n;
    }
    free(piece);
    return n < 0 ? -1 : all;
}

int mtlm_mapped_file_each_piece(const char *path, int64_t bytes,
                                mtlm_mapped_file_take *take, void *arg,
                                int64_t *found, struct mtlm_error *err)
{
    struct stat st;
    const int fd = open_file(path, &st, err);
    int rc = 0;

    if (fd < 0)
        return -1;
    *found = st.st_size;
    if (*found == bytes)
        *found = read_pieces(fd, take, arg);
    if (*found < 0)
        rc = mtlm_disk_cannot_read(path, err);
    close(fd);
    return rc;
}

/* A hint: the contents stay the same either way. */
void mtlm_mapped_file_forget(const void *data, int64_t bytes)
{
    const uintptr_t page = sysconf(_SC_PAGESIZE);
    const uintptr_t begin = (uintptr_t) data / page * page;

    if (bytes > 0)
        madvise((void *) begin, (uintptr_t) data + bytes - begin,
                MADV_DONTNEED);
}

void mtlm_mapped_file_close(struct mtlm_mapped_file *file)
{
    if (!file->path)
        return;
    pthread_mutex_lock(&mapped_files_lock);
    for (struct mtlm_mapped_file **f = &mapped_files; *f; f = &(*f)->next)
        if (*f == file) {
            *f = file->next;
            break;
        }
    pthread_mutex_unlock(&mapped_files_lock);
    if (file->data && !file->copy)
        munmap((void *) file->data, file->bytes);
    free(file->copy);
    free(file->path);
    *file = (struct mtlm_mapped_file){0};
}
