/* Doorbells: a word per rank in memory shared by the host, and a futex on it.
 */

#include "config.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/memory.h"
#include "runtime/comm/doorbell.h"
#include "runtime/comm/ranks_private.h"

/* As large as a cache line: MPI aligns to less. */
struct doorbell_word {
    _Atomic uint32_t rings;
    char rest[60];
};

struct mtlm_doorbell {
    MPI_Group group; /* of the ranks that share the memory */
    MPI_Win win;     /* MPI_WIN_NULL: no such memory */
    int n;
    struct doorbell_word **rank; /* [n] */
    struct doorbell_word *own;
    int *number; /* [n] 0 .. n - 1: numbers of these ranks in group */
    int *there;  /* [n] room for their numbers in a communicator */
};

struct mtlm_doorbell *mtlm_doorbell_create(MPI_Comm host)
{
    struct mtlm_doorbell *bell = mtlm_calloc(1, sizeof(*bell));
    int n, me, shared;

    MPI_Comm_size(host, &n);
    bell->n = n;
    bell->number = mtlm_calloc(2 * n, sizeof(*bell->number));
    bell->there = bell->number + n;
    for (int r = 0; r < n; r++)
        bell->number[r] = r;
    MPI_Comm_rank(host, &me);
    MPI_Comm_group(host, &bell->group);
    bell->rank = mtlm_calloc(n, sizeof(*bell->rank));
    bell->win = MPI_WIN_NULL;
    shared =
        n > 1
        && MPI_Win_allocate_shared(sizeof(struct doorbell_word), 1,
                                   MPI_INFO_NULL, host, &bell->own, &bell->win)
               == MPI_SUCCESS;
    /* Freeing is collective: a window that only some ranks got stays. */
    MTLM_CHECK_MPI(
        MPI_Allreduce(MPI_IN_PLACE, &shared, 1, MPI_INT, MPI_MIN, host));
    if (shared) {
        for (int r = 0; r < n; r++) {
            MPI_Aint bytes;
            int unit;

            MTLM_CHECK_MPI(MPI_Win_shared_query(bell->win, r, &bytes, &unit,
                                                &bell->rank[r]));
        }
    } else {
        bell->win = MPI_WIN_NULL;
        bell->own = bell->rank[me] = mtlm_calloc(1, sizeof(*bell->own));
    }
    return bell;
}

void mtlm_doorbell_destroy(struct mtlm_doorbell *bell)
{
    if (bell->win == MPI_WIN_NULL)
        free(bell->own);
    else
        MPI_Win_free(&bell->win);
    MPI_Group_free(&bell->group);
    free(bell->number);
    free(bell->rank);
    free(bell);
}

uint32_t mtlm_doorbell_rings(const struct mtlm_doorbell *bell)
{
    return atomic_load(&bell->own->rings);
}

bool mtlm_doorbell_reaches(const struct mtlm_doorbell *bell, int ranks)
{
    return bell->win != MPI_WIN_NULL && bell->n == ranks;
}

void mtlm_doorbell_wait(const struct mtlm_doorbell *bell, uint32_t rings,
                        int64_t until_ns)
{
    const struct timespec until = {until_ns / 1000000000,
                                   until_ns % 1000000000};

    /* The caller looks for work whatever ended the wait. */
    syscall(SYS_futex, &bell->own->rings, FUTEX_WAIT_BITSET, rings, &until,
            NULL, FUTEX_BITSET_MATCH_ANY);
}

static void ring(struct doorbell_word *word)
{
    atomic_fetch_add(&word->rings, 1);
    syscall(SYS_futex, &word->rings, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void mtlm_doorbell_ring(struct mtlm_doorbell *bell)
{
    ring(bell->own);
}

void mtlm_doorbell_ring_rank(struct mtlm_doorbell *bell, MPI_Comm comm,
                             int rank)
{
    MPI_Group group;
    int there;

    if (bell->win == MPI_WIN_NULL)
        return;
    MPI_Comm_group(comm, &group);
    MPI_Group_translate_ranks(group, 1, &rank, bell->group, &there);
    MPI_Group_free(&group);
    if (there != MPI_UNDEFINED && bell->rank[there] != bell->own)
        ring(bell->rank[there]);
}

void mtlm_doorbell_ring_all(struct mtlm_doorbell *bell, MPI_Comm comm)
{
    MPI_Group group;

    if (bell->win == MPI_WIN_NULL)
        return;
    MPI_Comm_group(comm, &group);
    MPI_Group_translate_ranks(bell->group, bell->n, bell->number, group,
                              bell->there);
    MPI_Group_free(&group);
    for (int r = 0; r < bell->n; r++)
        if (bell->there[r] != MPI_UNDEFINED && bell->rank[r] != bell->own)
            ring(bell->rank[r]);
}
