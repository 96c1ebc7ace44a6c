#ifndef MTLM_NCCL_DOUBLE_H
#define MTLM_NCCL_DOUBLE_H

#include <stdbool.h>
#include <stddef.h>

#include <nccl.h>

#include "tests/emulator/device_double.h"

/* What the files of NCCL's double share. */

enum { MAX_RANKS = 16, PIECE = 1 << 16 };

/* What a rank issues, in pieces of data that fit its place. */
struct what {
    int kind, type, op;
    size_t count; /* per block */
};

enum { ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER };

/* Of a rank, in shared memory: how many pieces it has laid down and how many
 * it has done with; the collective that they are of; the piece. */
struct place {
    _Atomic long laid, taken;
    _Atomic long issued; /* collectives */
    struct what what;
    char piece[PIECE];
};

struct meeting {
    _Atomic int come;
    struct place place[MAX_RANKS];
};

struct collective {
    struct ncclComm *comm;
    struct what what;
    const char *from;
    char *to;
    size_t at;  /* elements of a block that are done */
    int block;  /* reduce-scatter, all-gather: which one is under way */
    long piece; /* number of the piece, over the communicator's life */
    bool laid;
    bool fails;
    cudaStream_t stream;
};

struct ncclComm {
    struct meeting *meeting;
    char name[NCCL_UNIQUE_ID_BYTES];
    int rank, ranks;
    long pieces;                  /* of all collectives so far */
    struct collective *launching; /* not enqueued yet */
    bool met;
    _Atomic bool aborted, failed;
};

/* Whether that counter of struct place has come so far on all ranks. */
#define ALL(comm, counter, at_least)                                           \
    nccl_double_all(comm, offsetof(struct place, counter), at_least)
bool nccl_double_all(const struct ncclComm *comm, size_t counter,
                     long at_least);

/* Takes a collective (struct collective) as far as the other ranks let it;
 * whether it is over: it is freed then. */
bool nccl_double_progress(void *collective);

/* Ends the program with a sentence. */
void nccl_double_wrong(const char *fmt, ...)
    __attribute__((noreturn, format(printf, 1, 2)));

#endif /* MTLM_NCCL_DOUBLE_H */
