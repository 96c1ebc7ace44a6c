/* The offset of another host's clock.  Ranks 2 and 3 are made a host of their
 * own, whose clock is hours ahead.  Most answers of rank 0 are under way for
 * longer than the question was: such a round trip misleads. */

#include "config.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/comm/ranks_private.h"
#include "support.h"
#include "tests/time_scale.h"

enum { HOURS = 3 };

static int slow_us, right_ns;

static atomic_int ahead_s, slow, answers;

/* Both are what the program calls instead of the libraries' own. */

int clock_gettime(clockid_t clock, struct timespec *t)
{
    const int rc = (int) syscall(SYS_clock_gettime, clock, t);

    if (rc == 0 && clock == CLOCK_MONOTONIC)
        t->tv_sec += atomic_load(&ahead_s);
    return rc;
}

int MPI_Isend(const void *buf, int count, MPI_Datatype type, int dest, int tag,
              MPI_Comm comm, MPI_Request *request)
{
    if (atomic_load(&slow) && atomic_fetch_add(&answers, 1) % 4 != 2)
        usleep(slow_us);
    return PMPI_Isend(buf, count, type, dest, tag, comm, request);
}

static void test_offset_of_one_host(void)
{
    const int64_t offset = mtlm_ranks_clock_offset(ranks);

    expect(offset == 0, "%lld ns on one host", (long long) offset);
}

static void test_offset_of_two_hosts(void)
{
    const bool there = rank >= 2;
    const int64_t want = there ? -HOURS * INT64_C(3600000000000) : 0;
    const MPI_Comm host = ranks->host;
    int64_t offset;

    MTLM_CHECK_MPI(MPI_Comm_split(ranks->world, there, rank, &ranks->host));
    atomic_store(&ahead_s, there ? HOURS * 3600 : 0);
    atomic_store(&slow, rank == 0);
    offset = mtlm_ranks_clock_offset(ranks);
    atomic_store(&slow, 0);
    expect(llabs(offset - want) < (there ? right_ns : 1), "off by %lld ns",
           (long long) (offset - want));
    /* Ranks 2 and 3 have the same. */
    expect(mtlm_ranks_min(ranks, there ? -offset : INT64_MAX)
               == -mtlm_ranks_min(ranks, there ? offset : INT64_MAX),
           "two offsets on one host");
    MTLM_CHECK_MPI(MPI_Comm_free(&ranks->host));
    ranks->host = host;
}

int main(int argc, char **argv)
{
    slow_us = 20000 / 3 * time_scale();
    right_ns = 5000000 / 3 * time_scale();
    setup(&argc, &argv, 2, 1, 60);
    test_offset_of_one_host();
    test_offset_of_two_hosts();
    return finish();
}
