/* In place of nccl_comm.c in a program without NCCL. */

#include "config.h"

#include <stddef.h>

#include "runtime/comm/nccl.h"

const char *mtlm_nccl_version(void)
{
    return NULL;
}
