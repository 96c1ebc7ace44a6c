/* In place of NCCL's files in a program without NCCL. */

#include "config.h"

#include "runtime/comm/nccl.h"

bool mtlm_nccl_is_built_in(void)
{
    return false;
}

int mtlm_nccl_load(struct mtlm_error *err)
{
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "this program was built without NCCL");
}

const char *mtlm_nccl_version(void)
{
    return "none";
}
