/* save: y = x, a tensor as it is now, for a checkpoint that is written while
 * training goes on.  y is in the host's memory, so that a CPU worker does it:
 * from a GPU without a copy in between, and beside its kernels. */

#include "config.h"

#include <string.h>

#include "codelets/infer.h"
#include "codelets/save.h"
#include "runtime/base/clock.h"
#if HAVE_CUDA
#include "runtime/machine/cuda_device.h"
#endif

enum { X, Y };

static _Atomic int64_t copies_ns;

int64_t mtlm_save_copies_ns(void)
{
    return copies_ns;
}

static int save_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    return mtlm_infer_expect_shape(call, Y, "y", call->shape[X], err);
}

static void save_cpu(void *const ptr[], const struct mtlm_call *call,
                     const struct mtlm_context *context)
{
    const int64_t start = mtlm_now_ns();
    const size_t bytes =
        mtlm_shape_elems(&call->shape[X]) * mtlm_dtype_bytes(call->value);

    (void) context;
#if HAVE_CUDA
    mtlm_cuda_device_fetch(ptr[Y], ptr[X], bytes);
#else
    memcpy(ptr[Y], ptr[X], bytes);
#endif
    copies_ns += mtlm_now_ns() - start;
}

const struct mtlm_op mtlm_op_save = {
    .name = "save",
    .op_class = MTLM_CLASS_HOST,
    .n_operands = 2,
    .access = {[X] = MTLM_R, [Y] = MTLM_W},
    .dtype = {[X] = MTLM_VALUE, [Y] = MTLM_VALUE},
    .infer = save_infer,
    .cpu = save_cpu,
    .cpu_typed = true,
    .cpu_fetches = true,
};
