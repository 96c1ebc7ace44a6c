/* Pieces of offloaded state in pinned host memory, copied to and from a GPU. */

#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <starpu.h>

#include "runtime/base/memory.h"
#include "runtime/disk/host_pieces.h"
#include "runtime/file/offload_file.h"
#include "runtime/machine/arena.h"
#include "runtime/machine/gpu_copy.h"

struct host_piece {
    int64_t offset, bytes;
    bool written;
};

/* A GPU copies in both directions at the same time: a stream for each. */
struct mtlm_host_pieces {
    struct mtlm_arena arena;
    struct host_piece *piece; /* [n] */
    int n;
    struct mtlm_gpu_copy loads, stores;
};

struct mtlm_host_pieces *mtlm_host_pieces_create(const int64_t *bytes, int n,
                                                 unsigned node)
{
    struct mtlm_host_pieces *pieces = mtlm_calloc(1, sizeof(*pieces));
    int64_t all = 0;

    pieces->piece = mtlm_calloc(n, sizeof(*pieces->piece));
    pieces->n = n;
    for (int i = 0; i < n; i++) {
        pieces->piece[i] =
            (struct host_piece){.offset = all, .bytes = bytes[i]};
        all += mtlm_offload_file_padded(bytes[i]);
    }
    mtlm_arena_create_on(&pieces->arena, all, STARPU_MAIN_RAM);
    mtlm_gpu_copy_create(&pieces->loads, node);
    mtlm_gpu_copy_create(&pieces->stores, node);
    return pieces;
}

void mtlm_host_pieces_destroy(struct mtlm_host_pieces *pieces)
{
    if (!pieces)
        return;
    mtlm_gpu_copy_destroy(&pieces->loads);
    mtlm_gpu_copy_destroy(&pieces->stores);
    mtlm_arena_destroy(&pieces->arena);
    free(pieces->piece);
    free(pieces);
}

static char *memory_of(const struct mtlm_host_pieces *pieces, int piece)
{
    return pieces->arena.memory + pieces->piece[piece].offset;
}

/* Returns the bytes of pieces [first, end), with the padding between them. */
static int64_t bytes_of(const struct mtlm_host_pieces *pieces, int first,
                        int end)
{
    const struct host_piece *last = &pieces->piece[end - 1];

    return last->offset + last->bytes - pieces->piece[first].offset;
}

/* ---- copies to and from the node ---- */

void mtlm_host_pieces_store(struct mtlm_host_pieces *pieces, int first, int n,
                            const void *memory)
{
    assert(first >= 0 && n > 0 && first + n <= pieces->n);
    mtlm_gpu_copy_start(&pieces->stores, memory_of(pieces, first), memory,
                        bytes_of(pieces, first, first + n));
    mtlm_gpu_copy_wait(&pieces->stores);
    for (int i = first; i < first + n; i++)
        pieces->piece[i].written = true;
}

/* Returns the end of the pieces from i on, before `end`, that are all written
 * or all not. */
static int end_of_run(const struct mtlm_host_pieces *pieces, int i, int end)
{
    const bool written = pieces->piece[i].written;

    while (i < end && pieces->piece[i].written == written)
        i++;
    return i;
}

void mtlm_host_pieces_load(struct mtlm_host_pieces *pieces, int first, int n,
                           void *memory)
{
    const int64_t begin = pieces->piece[first].offset;
    const int end = first + n;

    assert(first >= 0 && n > 0 && end <= pieces->n);
    for (int i = first, next; i < end; i = next) {
        char *at = (char *) memory + (pieces->piece[i].offset - begin);

        next = end_of_run(pieces, i, end);
        if (pieces->piece[i].written)
            mtlm_gpu_copy_start(&pieces->loads, at, memory_of(pieces, i),
                                bytes_of(pieces, i, next));
        else
            mtlm_gpu_copy_zero(&pieces->loads, at, bytes_of(pieces, i, next));
    }
    mtlm_gpu_copy_wait(&pieces->loads);
}

void mtlm_host_pieces_clear(struct mtlm_host_pieces *pieces, int first, int n)
{
    assert(first >= 0 && n > 0 && first + n <= pieces->n);
    for (int i = first; i < first + n; i++)
        pieces->piece[i].written = false;
}

/* ---- bytes of pieces on the host ---- */

/* Returns how many of the bytes, from offset on, lie in the piece. */
static int64_t part_of(const struct host_piece *piece, int64_t offset,
                       int64_t bytes)
{
    return bytes < piece->bytes - offset ? bytes : piece->bytes - offset;
}

void mtlm_host_pieces_put(struct mtlm_host_pieces *pieces, int piece,
                          int64_t offset, const void *memory, int64_t bytes)
{
    const char *from = memory;

    for (; bytes > 0; piece++, offset = 0) {
        struct host_piece *p = &pieces->piece[piece];
        const int64_t part = part_of(p, offset, bytes);

        if (!p->written)
            memset(memory_of(pieces, piece), 0, p->bytes);
        p->written = true;
        memcpy(memory_of(pieces, piece) + offset, from, part);
        from += part;
        bytes -= part;
    }
}

void mtlm_host_pieces_get(const struct mtlm_host_pieces *pieces, int piece,
                          int64_t offset, void *memory, int64_t bytes)
{
    char *to = memory;

    for (; bytes > 0; piece++, offset = 0) {
        const struct host_piece *p = &pieces->piece[piece];
        const int64_t part = part_of(p, offset, bytes);

        if (p->written)
            memcpy(to, memory_of(pieces, piece) + offset, part);
        else
            memset(to, 0, part);
        to += part;
        bytes -= part;
    }
}
