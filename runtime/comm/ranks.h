#ifndef MTLM_RANKS_H
#define MTLM_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/error.h"
#include "runtime/comm/group.h"

/* The ranks of the job: its processes.
 *
 * The main thread makes these calls, before the communication engine starts or
 * after it has stopped.  All ranks make them in the same order, except the
 * calls that only look up a value: rank, size, on_host, group_rank, group_size,
 * max_tag.  A call that waits for other ranks for too long ends the job
 * (runtime/comm/watchdog.h). */
struct mtlm_ranks;

/* Starts MPI; the caller stops it.  From here on mtlm_fatal() ends all ranks.
 */
struct mtlm_ranks *mtlm_ranks_start(int *argc, char ***argv);

/* Splits the ranks into those that stay and those that leave.  Each part is a
 * job of its own from here on: renumbered in the old order, without groups. MPI
 * ends for both parts together. */
void mtlm_ranks_part(struct mtlm_ranks *ranks, bool stays);

/* Ends MPI; destroys ranks. */
void mtlm_ranks_stop(struct mtlm_ranks *ranks);

/* Return this rank's number, and the number of ranks. */
int mtlm_ranks_rank(const struct mtlm_ranks *ranks);
int mtlm_ranks_size(const struct mtlm_ranks *ranks);

/* Returns the number of ranks on this host. */
int mtlm_ranks_on_host(const struct mtlm_ranks *ranks);

/* Returns how many ranks of this host have the same value; *before: how many of
 * these have a lower number than this rank. */
int mtlm_ranks_sharing(const struct mtlm_ranks *ranks, uint64_t value,
                       int *before);

/* Returns the data of each rank of this host, [on_host][bytes] by rank; the
 * caller frees it.  *mine: this rank's place. */
void *mtlm_ranks_host_gather(struct mtlm_ranks *ranks, const void *data,
                             size_t bytes, int *mine);

/* Returns the sum of value over the ranks of this host. */
double mtlm_ranks_host_sum(const struct mtlm_ranks *ranks, double value);

/* Makes a group of the ranks with the same color, ordered by rank; a negative
 * color: this rank is in none. */
void mtlm_ranks_group(struct mtlm_ranks *ranks, enum mtlm_group group,
                      int color);

/* Return this rank's number in the group (0: its leader), and the group's
 * size. */
int mtlm_ranks_group_rank(const struct mtlm_ranks *ranks,
                          enum mtlm_group group);
int mtlm_ranks_group_size(const struct mtlm_ranks *ranks,
                          enum mtlm_group group);

/* Compares errors: err is this rank's error, or NULL.  Returns 0 when no rank
 * has an error.  Otherwise every rank returns -1 with the error of the lowest
 * rank that has one, so that all ranks leave with the same code.  *first:
 * whether this rank prints the error. */
int mtlm_ranks_agree(struct mtlm_ranks *ranks, const struct mtlm_error *err,
                     struct mtlm_error *out, int *first);

/* Compares a text over all ranks.  Returns 0 when all are equal; otherwise -1
 * with code and "rank 3 WHAT than rank 0: ..., not ...", the first lines that
 * differ. */
int mtlm_ranks_same(struct mtlm_ranks *ranks, const char *text,
                    const char *what, enum mtlm_exit code,
                    struct mtlm_error *err);

/* Gathers data on rank 0.  Rank 0 returns the bytes of all ranks, by rank, and
 * frees them; the others return NULL.  *total: number of bytes returned. */
void *mtlm_ranks_gather(struct mtlm_ranks *ranks, const void *data,
                        size_t bytes, size_t *total);

/* Returns the sum of value over all ranks. */
double mtlm_ranks_sum(struct mtlm_ranks *ranks, double value);

/* Returns the smallest value of all ranks. */
int64_t mtlm_ranks_min(struct mtlm_ranks *ranks, int64_t value);

/* Returns the largest tag of a message. */
int mtlm_ranks_max_tag(const struct mtlm_ranks *ranks);

/* Returns when all ranks have called it. */
void mtlm_ranks_barrier(struct mtlm_ranks *ranks);

/* Returns rank 0's clock minus this rank's clock, in ns.  On rank 0's host: 0.
 * Elsewhere the offset comes from the fastest of many round trips between the
 * two hosts. */
int64_t mtlm_ranks_clock_offset(struct mtlm_ranks *ranks);

/* The main threads may make the calls below while the engines run, too; all
 * ranks in the same order. */

/* Replaces value [n] by the sums over all ranks, or by the largest values. */
void mtlm_ranks_sum_all(struct mtlm_ranks *ranks, double *value, int n);
void mtlm_ranks_max_all(struct mtlm_ranks *ranks, double *value, int n);

/* Numbers for a peer, and from it. */
struct mtlm_swap {
    int peer;
    int64_t *out; /* [n_out] borrowed */
    int64_t n_out;
    int64_t *in; /* [n_in] set by the call; the caller frees it */
    int64_t n_in;
};

/* Exchanges numbers with n peers, swap [n].  Each peer calls this with an entry
 * for this rank. */
void mtlm_ranks_swap(struct mtlm_ranks *ranks, struct mtlm_swap *swap, int n);

#endif /* MTLM_RANKS_H */
