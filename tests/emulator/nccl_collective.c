/* How a collective of NCCL's double gets on: piece by piece, which each rank
 * lays down in its place for all to take up. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/value16.h"
#include "tests/emulator/nccl_double.h"

static size_t bytes_of(ncclDataType_t type)
{
    switch (type) {
    case ncclFloat16:
    case ncclBfloat16:
        return 2;
    case ncclFloat64:
        return 8;
    default:
        return 4;
    }
}

static double get(const void *p, size_t i, ncclDataType_t type)
{
    float x;

    switch (type) {
    case ncclFloat16:
    case ncclBfloat16:
        mtlm_value16_widen(type == ncclFloat16 ? MTLM_F16 : MTLM_BF16,
                           (const uint16_t *) p + i, 1, &x);
        return x;
    case ncclFloat32:
        return ((const float *) p)[i];
    case ncclFloat64:
        return ((const double *) p)[i];
    default:
        return ((const int *) p)[i];
    }
}

static void put(void *p, size_t i, ncclDataType_t type, double x)
{
    const float single = x;

    switch (type) {
    case ncclFloat16:
    case ncclBfloat16:
        mtlm_value16_round(type == ncclFloat16 ? MTLM_F16 : MTLM_BF16, &single,
                           1, (uint16_t *) p + i);
        break;
    case ncclFloat32:
        ((float *) p)[i] = single;
        break;
    case ncclFloat64:
        ((double *) p)[i] = x;
        break;
    default:
        ((int *) p)[i] = x;
    }
}

bool nccl_double_all(const struct ncclComm *comm, size_t counter, long at_least)
{
    for (int r = 0; r < comm->ranks; r++)
        if (*(_Atomic long *) ((char *) &comm->meeting->place[r] + counter)
            < at_least)
            return false;
    return true;
}

static size_t elements_now(const struct collective *c)
{
    const size_t left = c->what.count - c->at;
    const size_t fit = PIECE / bytes_of(c->what.type);

    return left < fit ? left : fit;
}

static void lay_down(struct collective *c)
{
    struct ncclComm *comm = c->comm;
    struct place *mine = &comm->meeting->place[comm->rank];
    const size_t size = bytes_of(c->what.type);

    mine->what = c->what;
    memcpy(mine->piece, c->from + (c->block * c->what.count + c->at) * size,
           elements_now(c) * size);
    mine->laid = c->piece + 1;
    c->laid = true;
}

static void check_match(const struct collective *c)
{
    static const char *const name[] = {
        [ALL_REDUCE] = "an all-reduce",
        [REDUCE_SCATTER] = "a reduce-scatter",
        [ALL_GATHER] = "an all-gather",
    };

    for (int r = 0; r < c->comm->ranks; r++) {
        const struct what *other = &c->comm->meeting->place[r].what;

        if (memcmp(other, &c->what, sizeof(*other)) != 0)
            nccl_double_wrong(
                "rank %d of %d: %s of %zu elements meets %s of %zu of rank "
                "%d",
                c->comm->rank, c->comm->ranks, name[c->what.kind],
                c->what.count, name[other->kind], other->count, r);
    }
}

static void reduce(const struct collective *c, char *to)
{
    const struct place *place = c->comm->meeting->place;
    const ncclDataType_t type = c->what.type;

    for (size_t i = 0; i < elements_now(c); i++) {
        double result = get(place[0].piece, i, type);

        for (int r = 1; r < c->comm->ranks; r++) {
            const double x = get(place[r].piece, i, type);

            result = c->what.op == ncclSum ? result + x
                     : x > result          ? x
                                           : result;
        }
        put(to, i, type, result);
    }
}

static void take_up(struct collective *c)
{
    struct ncclComm *comm = c->comm;
    const size_t size = bytes_of(c->what.type), n = elements_now(c);

    check_match(c);
    if (c->what.kind == ALL_GATHER)
        for (int r = 0; r < comm->ranks; r++)
            memcpy(c->to + (r * c->what.count + c->at) * size,
                   comm->meeting->place[r].piece, n * size);
    else if (c->what.kind == ALL_REDUCE || c->block == comm->rank)
        reduce(c, c->to + c->at * size);
    comm->meeting->place[comm->rank].taken = ++c->piece;
    c->laid = false;
    c->at += n;
    if (c->at == c->what.count) {
        c->at = 0;
        c->block++;
    }
}

bool nccl_double_progress(void *argument)
{
    struct collective *c = argument;
    struct ncclComm *comm = c->comm;
    const int blocks = c->what.kind == REDUCE_SCATTER ? comm->ranks : 1;

    if (c->piece < 0)
        c->piece = comm->pieces;
    while (!comm->aborted && c->block < blocks) {
        if (c->fails)
            return false;
        if (!c->laid && !ALL(comm, taken, c->piece))
            return false;
        if (!c->laid)
            lay_down(c);
        if (!ALL(comm, laid, c->piece + 1))
            return false;
        take_up(c);
    }
    comm->pieces = c->piece;
    free(c);
    return true;
}
