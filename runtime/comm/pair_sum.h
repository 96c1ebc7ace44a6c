#ifndef MTLM_PAIR_SUM_H
#define MTLM_PAIR_SUM_H

#include <mpi.h>
#include <stdint.h>

/* Sums of two ranks: each sends values to the other one, and adds what arrives.
 * An all-reduce sends all values, a reduce-scatter those of the other rank's
 * block.  The values go in pieces, so that a rank adds one piece while the next
 * one travels.  MPI_Iallreduce gives the same bits, but takes four times as
 * long for two ranks of a host (Open MPI 4.1, 154 MB), and a copy of the values.
 * Nobody measured ranks of two hosts.
 *
 * All functions are called within a turn (runtime/comm/mpi_turn.h). */
struct mtlm_pair_sum;

/* op must commute bit by bit, as sums do; both ranks then have the same result.
 * comm: two ranks, and no other messages of this tag until the end. */
struct mtlm_pair_sum_config {
    MPI_Comm comm;
    int tag;
    const void *send; /* [n] values for the other rank */
    void *sum;        /* [n] in: this rank's values, out: the sums; may be
                       * send */
    int n;            /* at least 1, of both ranks */
    MPI_Datatype type;
    MPI_Op op;
};

enum mtlm_pair_sum_state {
    MTLM_PAIR_SUM_WAITS, /* for the other rank */
    MTLM_PAIR_SUM_MOVES, /* a piece was received, or added, and not all are */
    MTLM_PAIR_SUM_ENDS
};

/* Starts to send.  The caller tests until the sum ends. */
struct mtlm_pair_sum *mtlm_pair_sum_start(
    const struct mtlm_pair_sum_config *config);

/* Receives a piece, or adds one that has arrived, and posts another.  Waits for
 * nothing.  Frees sum at its end. */
enum mtlm_pair_sum_state mtlm_pair_sum_test(struct mtlm_pair_sum *sum);

#endif /* MTLM_PAIR_SUM_H */
