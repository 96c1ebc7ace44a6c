/* Decides whether cuBLASLt computes a product's epilogue, and notes the
 * decision.  Host code only. */

#include "config.h"

#include <stdio.h>

#include "codelets/fusion.cuh"
#include "runtime/machine/cublaslt.h"

bool mtlm_fusion_matmul(const struct mtlm_device *device,
                        const struct mtlm_product *p,
                        const struct mtlm_fusion *fusion)
{
    const char *why = fusion->why_not;
    char text[40];

    if (fusion->wish == MTLM_EPILOGUE_OFF) {
        snprintf(text, sizeof(text), "--epilogues %s:off", fusion->kind);
        why = text;
    } else if (!why && fusion->wish == MTLM_EPILOGUE_AUTO && !fusion->pays) {
        snprintf(text, sizeof(text), "compute capability %d.%d",
                 device->capability / 10, device->capability % 10);
        why = text;
    }
    if (!why)
        why = mtlm_matmul(device, p);
    if (why)
        mtlm_note(fusion->own, "own kernels (%s)", why);
    else
        mtlm_note(fusion->fused, "epilogue of cuBLASLt %zu",
                  mtlm_cublaslt()->GetVersion());
    return !why;
}
