#ifndef MTLM_TESTS_INTERPRETER_RANK_H
#define MTLM_TESTS_INTERPRETER_RANK_H

#include "tests/graph/interpreter.h"

/* What the interpreter's files share: where each rank is, and its memory. */

/* A sent message that nobody has received. */
struct mail {
    int from, to;
    int64_t tag;
    void *data;
    struct mail *next;
};

struct rank {
    struct mtlm_program *program;
    void ***memory; /* [tensor id][slot] */
    char **block;   /* [graph->n_blocks] */
    char **piece;   /* [offloaded.n_pieces]: the disk */
    const struct mtlm_items *items;
    int at;       /* next item */
    bool waiting; /* in the collective at `at` */
};

struct interpreter {
    int n;
    struct rank *rank;
    struct mail *mail;
    struct mtlm_scratch scratch, wide;
    int64_t iteration, first_microbatch, first_sample;
    int64_t position, rows; /* of a pass of generation */
    int64_t left;           /* microbatches of the pass; 0: all that it has */
    bool stop_before_step, forward_only;
};

void *interpreter_slot(const struct rank *rank, struct mtlm_tensor *tensor,
                       int64_t use);
/* The use of an item's tensor: its microbatch, counted from the first of the
 * run, or the iteration.  tensor NULL: without versions. */
int64_t interpreter_use(const struct interpreter *in,
                        const struct mtlm_item *item,
                        const struct mtlm_tensor *tensor);
/* NULL: the rank is at its end. */
const struct mtlm_item *interpreter_current(const struct rank *rank);

/* The collective, or the send or receive, that rank is at; false: it must wait
 * for other ranks. */
bool interpreter_collective(struct interpreter *in, struct rank *rank);
bool interpreter_p2p(struct interpreter *in, struct rank *rank);

#endif /* MTLM_TESTS_INTERPRETER_RANK_H */
