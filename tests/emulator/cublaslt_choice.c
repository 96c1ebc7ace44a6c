/* cuBLASLt's double: what it proposes for a product, and refuses. */

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emulator/cublaslt_double.h"
#include "tests/emulator/device_double.h"

static atomic_long gelu_wanted, bias_gradients_wanted;

long mtlm_double_gelu_wanted(void)
{
    return atomic_load(&gelu_wanted);
}

long mtlm_double_bias_gradients_wanted(void)
{
    return atomic_load(&bias_gradients_wanted);
}

/* Each epilogue with GELU has one of the bits `gelu` and `gradient`, and no
 * other has. */
void blas_count(const struct blas_description *d)
{
    const uint32_t gelu = CUBLASLT_EPILOGUE_GELU;
    const uint32_t gradient =
        CUBLASLT_EPILOGUE_DGELU & ~(uint32_t) CUBLASLT_EPILOGUE_GELU_AUX;

    if (d->epilogue & (gelu | gradient))
        atomic_fetch_add(&gelu_wanted, 1);
    if (d->epilogue == CUBLASLT_EPILOGUE_BGRADA
        || d->epilogue == CUBLASLT_EPILOGUE_BGRADB)
        atomic_fetch_add(&bias_gradients_wanted, 1);
}

bool blas_refuses(const struct blas_description *d, const char *when,
                  cublasStatus_t *status)
{
    const char *refused = getenv("MTLM_DOUBLE_REFUSE_EPILOGUES");

    if (d->epilogue == CUBLASLT_EPILOGUE_DEFAULT || !refused
        || strncmp(refused, when, strlen(when)) != 0)
        return false;
    refused += strlen(when);
    *status = *refused == ':' ? (cublasStatus_t) atoi(refused + 1)
                              : CUBLAS_STATUS_NOT_SUPPORTED;
    return true;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
    cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
    cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
    cublasLtMatmulPreference_t preference, int wanted,
    cublasLtMatmulHeuristicResult_t result[], int *found)
{
    const struct blas_preference *p =
        (const struct blas_preference *) preference;
    struct blas_choice *choice = (struct blas_choice *) &result[0].algo;
    cublasStatus_t status;

    *found = 0;
    (void) handle, (void) a, (void) b, (void) c, (void) d;
    if (wanted < 1)
        return CUBLAS_STATUS_INVALID_VALUE;
    blas_count((const struct blas_description *) desc);
    if (blas_refuses((const struct blas_description *) desc, "ask", &status))
        return status;
    memset(&result[0], 0, sizeof(result[0]));
    choice->workspace_bytes = p->workspace_bytes;
    memcpy(choice->alignment, p->alignment, sizeof(p->alignment));
    result[0].workspaceSize = p->workspace_bytes;
    result[0].state = CUBLAS_STATUS_SUCCESS;
    *found = 1;
    return CUBLAS_STATUS_SUCCESS;
}
