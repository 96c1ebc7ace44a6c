#ifndef MTLM_RANKS_H
#define MTLM_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/error.h"
#include "runtime/comm/group.h"

/* The processes of the job.  Calls are made by the main thread, before the
 * communication engine starts or after it has stopped.  All ranks make them,
 * in the same order, but for those that only tell what is known: rank, size,
 * on_host, group_rank, group_size, max_tag.  A call that waits for others too
 * long ends the job (runtime/comm/watchdog.h). */
struct mtlm_ranks;

/* Starts MPI.  From here on mtlm_fatal() ends all ranks. */
struct mtlm_ranks *mtlm_ranks_start(int *argc, char ***argv);

/* Divides the ranks into those that stay and those that do not: from here on
 * each are a job of their own, numbered anew in the old order, without groups.
 * MPI ends for both together. */
void mtlm_ranks_part(struct mtlm_ranks *ranks, bool stays);

/* Ends MPI; destroys ranks. */
void mtlm_ranks_stop(struct mtlm_ranks *ranks);

int mtlm_ranks_rank(const struct mtlm_ranks *ranks);
int mtlm_ranks_size(const struct mtlm_ranks *ranks);

/* Ranks on this host. */
int mtlm_ranks_on_host(const struct mtlm_ranks *ranks);

/* How many ranks of this host have the same value, and how many of those come
 * before this one. */
int mtlm_ranks_sharing(const struct mtlm_ranks *ranks, uint64_t value,
                       int *before);

/* What each rank of this host gives, in order of rank; the caller frees it.
 * *mine: where this rank's is. */
void *mtlm_ranks_host_gather(struct mtlm_ranks *ranks, const void *data,
                             size_t bytes, int *mine);

/* Sum over the ranks of this host. */
double mtlm_ranks_host_sum(const struct mtlm_ranks *ranks, double value);

/* Makes the group of the ranks with the same color (negative: this rank is
 * in none), ordered by rank. */
void mtlm_ranks_group(struct mtlm_ranks *ranks, enum mtlm_group group,
                      int color);

/* This rank's number in the group, 0 being its leader, and its size. */
int mtlm_ranks_group_rank(const struct mtlm_ranks *ranks,
                          enum mtlm_group group);
int mtlm_ranks_group_size(const struct mtlm_ranks *ranks,
                          enum mtlm_group group);

/* Whether all ranks are well: err is this rank's error, or NULL.  Otherwise
 * every rank returns -1 with the error of the lowest rank that has one, so
 * that all leave with the same code; *first tells whether it is this rank's
 * to print. */
int mtlm_ranks_agree(struct mtlm_ranks *ranks, const struct mtlm_error *err,
                     struct mtlm_error *out, int *first);

/* Whether all ranks hold the same text; if not, -1 with code and "rank 3 WHAT
 * than rank 0: ..., not ...", the first line that differs in both. */
int mtlm_ranks_same(struct mtlm_ranks *ranks, const char *text,
                    const char *what, enum mtlm_exit code,
                    struct mtlm_error *err);

/* Rank 0 gets all ranks' bytes, in order of rank, in memory that it frees;
 * the others get NULL.  *total: their sum. */
void *mtlm_ranks_gather(struct mtlm_ranks *ranks, const void *data,
                        size_t bytes, size_t *total);

/* Sum over all ranks, smallest value over all ranks. */
double mtlm_ranks_sum(struct mtlm_ranks *ranks, double value);
int64_t mtlm_ranks_min(struct mtlm_ranks *ranks, int64_t value);

/* The largest tag of a message. */
int mtlm_ranks_max_tag(const struct mtlm_ranks *ranks);

void mtlm_ranks_barrier(struct mtlm_ranks *ranks);

/* What must be added to this rank's clock to get rank 0's: 0 on its host, else
 * the offset of the fastest of many round trips between the two hosts. */
int64_t mtlm_ranks_clock_offset(struct mtlm_ranks *ranks);

/* What follows is called by the main threads while the engines run, or not;
 * by all ranks in the same order. */

/* Each of the n values becomes its sum over all ranks, or the largest. */
void mtlm_ranks_sum_all(struct mtlm_ranks *ranks, double *value, int n);
void mtlm_ranks_max_all(struct mtlm_ranks *ranks, double *value, int n);

/* Numbers for a peer, and from it. */
struct mtlm_swap {
    int peer;
    int64_t *out; /* [n_out] borrowed */
    int64_t n_out;
    int64_t *in; /* [n_in] made by the call, the caller frees it */
    int64_t n_in;
};

/* With each of n peers, each of which calls it with this rank among its own. */
void mtlm_ranks_swap(struct mtlm_ranks *ranks, struct mtlm_swap *swap, int n);

#endif /* MTLM_RANKS_H */
