#ifndef MTLM_DATA_H
#define MTLM_DATA_H

#include <stdint.h>
#include <string.h>

#include <starpu.h>

#include "runtime/base/dtype.h"
#include "runtime/base/error.h"

/* A StarPU call that fails ends the job. */
#define MTLM_CHECK_STARPU(call)                                                \
    do {                                                                       \
        const int rc_ = (call);                                                \
        if (rc_ < 0)                                                           \
            mtlm_fatal(__FILE__, __LINE__, "%s: %s", #call, strerror(-rc_));   \
    } while (0)

/* Registers elems elements as a vector: at memory, which the caller owns and
 * which must outlive the handle, or, for NULL, in memory that StarPU takes
 * when the data is first written.  StarPU counts elements in 32 bits and
 * truncates silently, so this checks. */
starpu_data_handle_t mtlm_data_register(void *memory, int64_t elems,
                                        enum mtlm_dtype dtype,
                                        const char *name);

/* The same at memory of that node, on which the data has its home: StarPU
 * never moves it away from there. */
starpu_data_handle_t mtlm_data_register_on(unsigned node, void *memory,
                                           int64_t elems, enum mtlm_dtype dtype,
                                           const char *name);

/* Its copies in host memory are to lie there: before anything uses it. */
void mtlm_data_stage(starpu_data_handle_t handle, void *memory);

/* A task's buffers, of which the caller sets n of each kind: the task's own
 * arrays, or for more than STARPU_NMAXBUFS others, which StarPU frees. */
struct mtlm_task_buffers {
    starpu_data_handle_t *handle;
    enum starpu_data_access_mode *mode;
};
struct mtlm_task_buffers mtlm_data_buffers(struct starpu_task *task, int n);

/* The node where a rank's weights and activations belong: its GPU's, or the
 * host's where it has none. */
unsigned mtlm_data_home(void);

#endif /* MTLM_DATA_H */
