#ifndef MTLM_ARENA_H
#define MTLM_ARENA_H

/* Arenas.  An arena is one block of memory for tensors that belong together,
 * such as the gradients of a bucket.  One message may cover several tensors.
 * Tensors begin at multiples of MTLM_ARENA_ALIGN bytes. */

#include <stddef.h>

struct mtlm_arena {
    char *memory;      /* not for the host on a GPU's memory node */
    size_t size, used; /* bytes; used: handed out by mtlm_arena_take() */
    int node;          /* StarPU's memory node; -1: malloc() */
};

enum { MTLM_ARENA_ALIGN = 64 };

/* Host memory of mtlm_arena_create() begins at a multiple of so many bytes: a
 * page, as direct I/O on a disk needs. */
enum { MTLM_ARENA_START = 4096 };

/* Returns the bytes that a tensor of `bytes` bytes takes in an arena: rounds up
 * to a multiple of MTLM_ARENA_ALIGN. */
size_t mtlm_arena_padded(size_t bytes);

/* Creates a zeroed arena in host memory.  The caller destroys the arena.  size:
 * at least the sum of mtlm_arena_padded() over all tensors.  Lack of memory
 * ends the job. */
void mtlm_arena_create(struct mtlm_arena *arena, size_t size);

/* Creates a zeroed arena, as above, on a memory node of StarPU: GPU memory or
 * pinned host memory.  Destroy the arena before starpu_shutdown(). */
void mtlm_arena_create_on(struct mtlm_arena *arena, size_t size, unsigned node);

/* Frees the arena's memory. */
void mtlm_arena_destroy(struct mtlm_arena *arena);

/* Returns the address of the next `bytes` bytes, which the arena owns.  The
 * arena must have room. */
void *mtlm_arena_take(struct mtlm_arena *arena, size_t bytes);

#endif /* MTLM_ARENA_H */
