#ifndef MTLM_GRAPH_CELL_H
#define MTLM_GRAPH_CELL_H

/* Cells of a schedule in the CSV form of torch.distributed.pipelining
 * (torch/distributed/pipelining/schedules.py, _Action):
 * <stage><type><microbatch>, or (<cell>;<cell>)OVERLAP_F_B. */

#include <stdbool.h>

enum mtlm_cell_kind {
    MTLM_CELL_FORWARD,  /* F */
    MTLM_CELL_INPUT,    /* I: B of this project, the gradient of the inputs */
    MTLM_CELL_WEIGHT,   /* W */
    MTLM_CELL_BACKWARD, /* B: I and W together */
    MTLM_CELL_BOTH,     /* BW of older files, where B means I */
    /* Messages of F and of I or B, and waits for sends. */
    MTLM_CELL_SEND_F,
    MTLM_CELL_RECV_F,
    MTLM_CELL_SEND_B,
    MTLM_CELL_RECV_B,
    MTLM_CELL_WAIT_SEND,
    MTLM_CELL_SHARDING, /* UNSHARD, RESHARD, REDUCE_GRAD, WAIT_REDUCE_GRAD */
};

struct mtlm_cell {
    enum mtlm_cell_kind kind;
    const char *type;      /* as the file has it: "SEND_F"; a constant */
    int stage, microbatch; /* microbatch -1: none */
};

/* Returns whether a cell is a pass of a stage: F, I, W, B or BW. */
static inline bool mtlm_cell_computes(enum mtlm_cell_kind kind)
{
    return kind <= MTLM_CELL_BOTH;
}

/* Returns whether a cell is a message, or a wait for one. */
static inline bool mtlm_cell_is_message(enum mtlm_cell_kind kind)
{
    return kind >= MTLM_CELL_SEND_F && kind <= MTLM_CELL_WAIT_SEND;
}

enum { MTLM_CELL_MOST = 2 }; /* actions in a cell */

/* Reads the text of a cell.  Sets action[] and returns how many there are: 0
 * for an empty cell; -1: the text is no cell. */
int mtlm_cell_read(const char *text, struct mtlm_cell action[MTLM_CELL_MOST]);

#endif /* MTLM_GRAPH_CELL_H */
