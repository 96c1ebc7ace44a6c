#ifndef MTLM_DATA_H
#define MTLM_DATA_H

#include <stdint.h>
#include <string.h>

#include <starpu.h>

#include "runtime/base/dtype.h"
#include "runtime/base/error.h"

/* StarPU's data handles for tensors. */

/* A StarPU call that fails ends the job. */
#define MTLM_CHECK_STARPU(call)                                                \
    do {                                                                       \
        const int rc_ = (call);                                                \
        if (rc_ < 0)                                                           \
            mtlm_fatal(__FILE__, __LINE__, "%s: %s", #call, strerror(-rc_));   \
    } while (0)

/* Registers a vector of elems elements; the caller unregisters the handle.  The
 * caller owns memory, which outlives the handle.  NULL: StarPU allocates memory
 * at the first write.  Ends the job beyond 2^32 - 1 elements, where StarPU
 * would truncate silently. */
starpu_data_handle_t mtlm_data_register(void *memory, int64_t elems,
                                        enum mtlm_dtype dtype,
                                        const char *name);

/* Registers a vector whose home is memory on a memory node: StarPU never moves
 * the data away from there. */
starpu_data_handle_t mtlm_data_register_on(unsigned node, void *memory,
                                           int64_t elems, enum mtlm_dtype dtype,
                                           const char *name);

/* Sets host memory for the data's copies.  Called before the first use. */
void mtlm_data_stage(starpu_data_handle_t handle, void *memory);

/* The operands of a task, [n] each, to be filled in by the caller. */
struct mtlm_task_buffers {
    starpu_data_handle_t *handle;
    enum starpu_data_access_mode *mode;
};

/* Returns the task's own arrays; beyond STARPU_NMAXBUFS operands new arrays,
 * which StarPU frees. */
struct mtlm_task_buffers mtlm_data_buffers(struct starpu_task *task, int n);

/* Returns the memory node of a rank's weights and activations: its GPU's, or
 * the host's. */
unsigned mtlm_data_home(void);

#endif /* MTLM_DATA_H */
