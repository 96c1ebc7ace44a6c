#ifndef MTLM_ARENA_H
#define MTLM_ARENA_H

#include <stddef.h>

/* One block of memory for tensors that belong together, such as the gradients
 * of a stage, each at its own offset: a message may then cover several of
 * them.  Offsets are multiples of MTLM_ARENA_ALIGN bytes. */
struct mtlm_arena {
    char *memory;      /* that of a GPU is not for the host */
    size_t size, used; /* bytes */
    int node;          /* of StarPU's memory; -1: malloc()'s */
};

enum { MTLM_ARENA_ALIGN = 64 };

/* What a tensor of bytes takes in an arena. */
size_t mtlm_arena_padded(size_t bytes);

/* All zero.  size: at least the sum of mtlm_arena_padded() of all that will be
 * taken. */
void mtlm_arena_create(struct mtlm_arena *arena, size_t size);
/* The same in the memory of a node of StarPU's, which runs until the arena is
 * destroyed: a GPU's, or of the host such as GPUs copy from and to by
 * themselves (pinned). */
void mtlm_arena_create_on(struct mtlm_arena *arena, size_t size, unsigned node);
void mtlm_arena_destroy(struct mtlm_arena *arena);

/* The next bytes. */
void *mtlm_arena_take(struct mtlm_arena *arena, size_t bytes);

#endif /* MTLM_ARENA_H */
