/* Loads cuBLASLt.  Built only with CUDA. */

#include "config.h"

#include <pthread.h>

#include "runtime/machine/cublaslt.h"
#include "runtime/machine/shared_library.h"

#define TEXT(number) #number
#define LIBRARY(version) "libcublasLt.so." TEXT(version)

static struct mtlm_cublaslt library;
static struct mtlm_error trouble;
static int rc;

static void load(void)
{
    static const struct mtlm_library_function function[] = {
#define FUNCTION(name) {"cublasLt" #name, &library.name},
        MTLM_CUBLASLT_FUNCTIONS(FUNCTION)
#undef FUNCTION
    };

    rc = mtlm_shared_library_load(LIBRARY(CUBLAS_VER_MAJOR), function,
                                  sizeof(function) / sizeof(function[0]),
                                  &trouble);
}

int mtlm_cublaslt_load(struct mtlm_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load);
    if (rc < 0)
        *err = trouble;
    return rc;
}

const struct mtlm_cublaslt *mtlm_cublaslt(void)
{
    struct mtlm_error err;

    if (mtlm_cublaslt_load(&err) < 0)
        mtlm_fatal(__FILE__, __LINE__, "%s", err.text);
    return &library;
}
