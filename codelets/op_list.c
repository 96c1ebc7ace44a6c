/* The table of operations: op_list.h names each entry, the operation's own file
 * defines the entry. */

#include "config.h"

#include "codelets/op.h"

const struct mtlm_op *const mtlm_ops[MTLM_OP_COUNT] = {
#define OP(UC, lc) [MTLM_OP_##UC] = &mtlm_op_##lc,
    MTLM_OP_LIST(OP)
#undef OP
};
