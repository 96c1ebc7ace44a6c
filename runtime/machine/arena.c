/* Arenas: one block of memory for several tensors, on the host or on a GPU. */

#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <starpu.h>

#include "runtime/base/error.h"
#include "runtime/base/round_up.h"
#include "runtime/machine/arena.h"
#if HAVE_CUDA
#include <starpu_cuda.h>

#include "runtime/machine/cuda_check.h"
#endif

size_t mtlm_arena_padded(size_t bytes)
{
    return mtlm_round_up(bytes, MTLM_ARENA_ALIGN);
}

/* aligned_alloc() takes multiples of the alignment. */
static char *allocate_host(size_t size)
{
    return (char *) aligned_alloc(MTLM_ARENA_START,
                                  mtlm_round_up(size, MTLM_ARENA_START));
}

void mtlm_arena_create(struct mtlm_arena *arena, size_t size)
{
    arena->memory = size ? allocate_host(size) : NULL;
    arena->size = size;
    arena->used = 0;
    arena->node = -1;
    if (size && !arena->memory)
        mtlm_out_of_memory(size);
    if (size)
        memset(arena->memory, 0, size); /* messages include padding */
}

static void zero(void *memory, size_t bytes, unsigned node)
{
#if HAVE_CUDA
    if (starpu_node_get_kind(node) == STARPU_CUDA_RAM) {
        starpu_cuda_set_device(starpu_memory_node_get_devid(node));
        MTLM_CHECK_CUDA(cudaMemset(memory, 0, bytes));
        /* StarPU's streams do not wait for the memset. */
        MTLM_CHECK_CUDA(cudaDeviceSynchronize());
        return;
    }
#endif
    (void) node;
    memset(memory, 0, bytes);
}

/* Allocates on a GPU without StarPU.  StarPU would keep a tenth of the free
 * memory back at each allocation (FREE_MARGIN in
 * drivers/cuda/driver_cuda.c, 1.4.10): the planned arenas would not fit. */
static char *allocate_on(size_t bytes, unsigned node)
{
#if HAVE_CUDA
    if (starpu_node_get_kind(node) == STARPU_CUDA_RAM) {
        void *memory = NULL;

        starpu_cuda_set_device(starpu_memory_node_get_devid(node));
        if (cudaMalloc(&memory, bytes) != cudaSuccess)
            cudaGetLastError(); /* clear CUDA's last error */
        return memory;
    }
#endif
    return (char *) starpu_malloc_on_node(node, bytes);
}

static void give_back(char *memory, size_t bytes, unsigned node)
{
#if HAVE_CUDA
    if (starpu_node_get_kind(node) == STARPU_CUDA_RAM) {
        starpu_cuda_set_device(starpu_memory_node_get_devid(node));
        MTLM_CHECK_CUDA(cudaFree(memory));
        return;
    }
#endif
    starpu_free_on_node(node, (uintptr_t) memory, bytes);
}

void mtlm_arena_create_on(struct mtlm_arena *arena, size_t size, unsigned node)
{
    *arena = (struct mtlm_arena){.size = mtlm_arena_padded(size), .node = node};
    if (!size)
        return;
    arena->memory = allocate_on(arena->size, node);
    if (!arena->memory)
        mtlm_out_of_memory(size);
    zero(arena->memory, arena->size, node);
}

void mtlm_arena_destroy(struct mtlm_arena *arena)
{
    if (arena->node < 0)
        free(arena->memory);
    else if (arena->memory)
        give_back(arena->memory, arena->size, arena->node);
}

void *mtlm_arena_take(struct mtlm_arena *arena, size_t bytes)
{
    char *p = arena->memory + arena->used;

    arena->used += mtlm_arena_padded(bytes);
    assert(arena->used <= arena->size);
    return p;
}
