#ifndef MTLM_ARENA_H
#define MTLM_ARENA_H

#include <stddef.h>

/* An arena is one block of memory for tensors that belong together, such as the
 * gradients of a stage.  One message may cover several tensors of an arena.
 * Offsets are multiples of MTLM_ARENA_ALIGN bytes. */
struct mtlm_arena {
    char *memory;      /* perhaps a GPU's, not for the host */
    size_t size, used; /* bytes */
    int node;          /* StarPU's memory node; -1: malloc() */
};

enum { MTLM_ARENA_ALIGN = 64 };

/* Returns the bytes of an arena that a tensor of bytes takes. */
size_t mtlm_arena_padded(size_t bytes);

/* Creates a zeroed arena in host memory; the caller destroys it.  size: at
 * least the sum of mtlm_arena_padded() over all tensors. */
void mtlm_arena_create(struct mtlm_arena *arena, size_t size);

/* Creates a zeroed arena on a memory node of StarPU: a GPU's memory, or pinned
 * host memory.  StarPU must run until the arena is destroyed. */
void mtlm_arena_create_on(struct mtlm_arena *arena, size_t size, unsigned node);

/* Frees the memory. */
void mtlm_arena_destroy(struct mtlm_arena *arena);

/* Returns the next bytes of the arena. */
void *mtlm_arena_take(struct mtlm_arena *arena, size_t bytes);

#endif /* MTLM_ARENA_H */
