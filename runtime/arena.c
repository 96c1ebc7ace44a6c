#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/arena.h"
#include "runtime/error.h"

size_t mtlm_arena_padded(size_t bytes)
{
    return (bytes + MTLM_ARENA_ALIGN - 1) / MTLM_ARENA_ALIGN * MTLM_ARENA_ALIGN;
}

void mtlm_arena_create(struct mtlm_arena *arena, size_t size)
{
    arena->memory =
        size ? aligned_alloc(MTLM_ARENA_ALIGN, mtlm_arena_padded(size)) : NULL;
    arena->size = size;
    arena->used = 0;
    if (size && !arena->memory)
        mtlm_out_of_memory(size);
    if (size)
        memset(arena->memory, 0, size); /* padding is sent, too */
}

void mtlm_arena_destroy(struct mtlm_arena *arena)
{
    free(arena->memory);
}

void *mtlm_arena_take(struct mtlm_arena *arena, size_t bytes)
{
    char *p = arena->memory + arena->used;

    arena->used += mtlm_arena_padded(bytes);
    assert(arena->used <= arena->size);
    return p;
}
