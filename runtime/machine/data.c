/* Registers tensors with StarPU and fills in the operands of tasks. */

#include "config.h"

#include <inttypes.h>

#include "runtime/base/error.h"
#include "runtime/base/memory.h"
#include "runtime/machine/data.h"

static starpu_data_handle_t make(int home, void *memory, int64_t elems,
                                 enum mtlm_dtype dtype, const char *name)
{
    starpu_data_handle_t handle;

    if (elems < 1 || elems > UINT32_MAX)
        mtlm_fatal(__FILE__, __LINE__,
                   "%s has %" PRId64 " elements, StarPU counts to %" PRIu32,
                   name, elems, UINT32_MAX);
    starpu_vector_data_register(&handle, home, (uintptr_t) memory,
                                (uint32_t) elems, mtlm_dtype_bytes(dtype));
    starpu_data_set_name(handle, name);
    return handle;
}

starpu_data_handle_t mtlm_data_register(void *memory, int64_t elems,
                                        enum mtlm_dtype dtype, const char *name)
{
    return make(memory ? STARPU_MAIN_RAM : -1, memory, elems, dtype, name);
}

starpu_data_handle_t mtlm_data_register_on(unsigned node, void *memory,
                                           int64_t elems, enum mtlm_dtype dtype,
                                           const char *name)
{
    return make(node, memory, elems, dtype, name);
}

void mtlm_data_stage(starpu_data_handle_t handle, void *memory)
{
    starpu_vector_ptr_register(handle, STARPU_MAIN_RAM, (uintptr_t) memory,
                               (uintptr_t) memory, 0);
}

unsigned mtlm_data_home(void)
{
    const int worker = starpu_worker_get_by_type(STARPU_CUDA_WORKER, 0);

    return worker < 0 ? STARPU_MAIN_RAM : starpu_worker_get_memory_node(worker);
}

struct mtlm_task_buffers mtlm_data_buffers(struct starpu_task *task, int n)
{
    struct mtlm_task_buffers to = {task->handles, task->modes};

    if (n > STARPU_NMAXBUFS) {
        to.handle = task->dyn_handles = mtlm_calloc(n, sizeof(*to.handle));
        to.mode = task->dyn_modes = mtlm_calloc(n, sizeof(*to.mode));
    }
    task->nbuffers = n;
    return to;
}
