/* How fast a disk takes and gives offloaded state, by io_uring and by pread()
 * and pwrite(), side by side:
 *
 *   build/perf/disk DIR [MIB]
 *
 * A line for each size of a unit and number of threads: MB/s written and read
 * each way, with checksums, best of some rounds.  MIB (512): bytes of the file,
 * which is removed. */

#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/memory.h"
#include "runtime/base/standard_output.h"
#include "runtime/file/offload_file.h"
#include "tests/forbid_uring.h"

enum { MOST_THREADS = 2, ROUNDS = 3 };

/* Threads that write or read all units of a file. */
struct pass {
    struct mtlm_offload_file *file;
    bool writes;
    int64_t unit; /* bytes */
    int units;
    atomic_int next;
};

static void fail(const struct mtlm_error *err)
{
    fprintf(stderr, "disk: %s\n", err->text);
    _exit(err->code);
}

static void *move_units(void *arg)
{
    struct pass *p = arg;
    void *memory = aligned_alloc(MTLM_OFFLOAD_ALIGN, p->unit);
    struct mtlm_error err;

    if (!memory)
        mtlm_out_of_memory(p->unit);
    memset(memory, 1, p->unit);
    for (int i; (i = atomic_fetch_add(&p->next, 1)) < p->units;)
        if ((p->writes ? mtlm_offload_file_write(p->file, i, 1, memory, &err)
                       : mtlm_offload_file_read(p->file, i, 1, memory, &err))
            < 0)
            fail(&err);
    free(memory);
    return NULL;
}

/* Returns the bytes per second of a pass. */
static double run_pass(struct pass *p, bool writes, int threads)
{
    pthread_t thread[MOST_THREADS];
    const int64_t begin = mtlm_now_ns();

    p->writes = writes;
    p->next = 0;
    for (int t = 0; t < threads; t++)
        if (pthread_create(&thread[t], NULL, move_units, p) != 0)
            abort();
    for (int t = 0; t < threads; t++)
        pthread_join(thread[t], NULL);
    return 1e9 * (double) p->unit * p->units / (double) (mtlm_now_ns() - begin);
}

static struct mtlm_offload_speed measure(const char *dir, int64_t unit,
                                         int units, int threads)
{
    int64_t *bytes = mtlm_calloc(units, sizeof(*bytes));
    struct mtlm_offload_speed speed;
    struct mtlm_error err;
    struct pass p = {.unit = unit, .units = units};

    for (int i = 0; i < units; i++)
        bytes[i] = unit;
    p.file = mtlm_offload_file_create(dir, bytes, units, &err);
    if (!p.file)
        fail(&err);
    run_pass(&p, true, threads); /* blocks of the disk are there from now on */
    speed.written = run_pass(&p, true, threads);
    speed.read = run_pass(&p, false, threads);
    mtlm_offload_file_destroy(p.file);
    free(bytes);
    return speed;
}

/* Measures in a process of its own, where io_uring may be forbidden. */
static struct mtlm_offload_speed measure_apart(const char *dir, int64_t unit,
                                               int units, int threads,
                                               bool rings)
{
    struct mtlm_offload_speed speed;
    int end[2], status;

    if (pipe(end) < 0)
        abort();
    if (fork() == 0) {
        if (!rings && !forbid_uring())
            abort();
        speed = measure(dir, unit, units, threads);
        _exit(write(end[1], &speed, sizeof(speed)) != sizeof(speed));
    }
    close(end[1]);
    if (read(end[0], &speed, sizeof(speed)) != sizeof(speed))
        exit(MTLM_EXIT_IO);
    close(end[0]);
    wait(&status);
    return speed;
}

static void keep_best(struct mtlm_offload_speed *best,
                      const struct mtlm_offload_speed *speed)
{
    best->read = speed->read > best->read ? speed->read : best->read;
    best->written =
        speed->written > best->written ? speed->written : best->written;
}

static void print_row(const char *dir, int64_t bytes, int64_t unit, int threads)
{
    struct mtlm_offload_speed best[2] = {{0}}; /* [rings] */

    for (int i = 0; i < ROUNDS; i++)
        for (int rings = 0; rings < 2; rings++) {
            const struct mtlm_offload_speed speed =
                measure_apart(dir, unit, (int) (bytes / unit), threads, rings);

            keep_best(&best[rings], &speed);
        }
    printf("%8.2f %8d %10.0f %10.0f %10.0f %10.0f\n", unit / 1048576.0, threads,
           best[0].written / 1e6, best[1].written / 1e6, best[0].read / 1e6,
           best[1].read / 1e6);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const int64_t mib = argc == 3 ? atoll(argv[2]) : 512;

    mtlm_standard_output_start();
    if (argc < 2 || argc > 3 || mib < 64) {
        fprintf(stderr, "usage: build/perf/disk DIR [MIB]\n");
        return MTLM_EXIT_USAGE;
    }
    printf("%8s %8s %21s %21s\n%8s %8s %10s %10s %10s %10s\n", "", "",
           "written, MB/s", "read, MB/s", "MiB", "threads", "calls", "io_uring",
           "calls", "io_uring");
    for (int64_t unit = 256 << 10; unit <= 64 << 20; unit *= 4)
        for (int threads = 1; threads <= MOST_THREADS; threads++)
            print_row(argv[1], mib << 20, unit, threads);
    return 0;
}
