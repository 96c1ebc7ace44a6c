#ifndef MTLM_CUBLASLT_H
#define MTLM_CUBLASLT_H

/* cuBLASLt, loaded when the process takes a GPU. */

#include <cublasLt.h>

#include "runtime/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Functions that the program calls, without cublasLt in front.  NAME_internal
 * is what cublasLt.h calls for NAME. */
#define MTLM_CUBLASLT_FUNCTIONS(X)                                             \
    X(Create)                                                                  \
    X(Destroy)                                                                 \
    X(GetStatusName)                                                           \
    X(GetStatusString)                                                         \
    X(GetVersion)                                                              \
    X(Matmul)                                                                  \
    X(MatmulAlgoGetHeuristic)                                                  \
    X(MatmulDescInit_internal)                                                 \
    X(MatmulDescSetAttribute)                                                  \
    X(MatmulPreferenceInit_internal)                                           \
    X(MatmulPreferenceSetAttribute)                                            \
    X(MatrixLayoutInit_internal)

struct mtlm_cublaslt {
#define MTLM_CUBLASLT_FIELD(name) __typeof__(cublasLt##name) *name;
    MTLM_CUBLASLT_FUNCTIONS(MTLM_CUBLASLT_FIELD)
#undef MTLM_CUBLASLT_FIELD
};

/* Loads the library once.  Returns 0, or -1 with the loader's reason. */
int mtlm_cublaslt_load(struct mtlm_error *err);

/* Returns the functions.  If the library cannot be loaded, the job ends. */
const struct mtlm_cublaslt *mtlm_cublaslt(void);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_CUBLASLT_H */
