/* Loads NCCL.  Built only with NCCL. */

#include "config.h"

#include <pthread.h>

#include "runtime/comm/nccl.h"
#include "runtime/comm/nccl_library.h"
#include "runtime/machine/shared_library.h"

#define TEXT(number) #number
#define LIBRARY(version) "libnccl.so." TEXT(version)

static struct mtlm_nccl library;
static struct mtlm_error trouble;
static int rc;

bool mtlm_nccl_is_built_in(void)
{
    return true;
}

static void load(void)
{
    static const struct mtlm_library_function function[] = {
#define FUNCTION(name) {"nccl" #name, &library.name},
        MTLM_NCCL_FUNCTIONS(FUNCTION)
#undef FUNCTION
    };

    rc = mtlm_shared_library_load(LIBRARY(NCCL_MAJOR), function,
                                  sizeof(function) / sizeof(function[0]),
                                  &trouble);
}

int mtlm_nccl_load(struct mtlm_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load);
    if (rc < 0)
        *err = trouble;
    return rc;
}

const struct mtlm_nccl *mtlm_nccl(void)
{
    struct mtlm_error err;

    if (mtlm_nccl_load(&err) < 0)
        mtlm_fatal(__FILE__, __LINE__, "%s", err.text);
    return &library;
}
