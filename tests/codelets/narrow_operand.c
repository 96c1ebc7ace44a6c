#include "config.h"

#include <stdlib.h>

#include "runtime/base/value16.h"
#include "tests/codelets/narrow_operand.h"
#include "tests/codelets/support.h"

struct narrow_operand narrow_operand_new(const struct mtlm_call *call, int i)
{
    struct narrow_operand o = {.n = mtlm_shape_elems(&call->shape[i]),
                               .type = mtlm_call_dtype(call, i)};

    o.is_value = mtlm_ops[call->kind]->dtype[i] == MTLM_VALUE;
    if (o.type == MTLM_I32) {
        o.wide = mtlm_calloc(o.n, sizeof(int32_t));
        o.given = mtlm_calloc(o.n, sizeof(int32_t));
        return o;
    }
    o.wide = new_normal(o.n, 10 + i);
    o.given = o.is_value ? mtlm_calloc(o.n, sizeof(uint16_t))
                         : new_normal(o.n, 10 + i);
    if (o.is_value) {
        mtlm_value16_round(o.type, o.wide, o.n, o.given);
        mtlm_value16_widen(o.type, o.given, o.n, o.wide);
    }
    return o;
}

void narrow_operand_free(struct narrow_operand o)
{
    free(o.wide);
    free(o.given);
}

mtlm_real *narrow_operand_result(const struct narrow_operand *o)
{
    mtlm_real *got = new_undefined(o->n);

    if (o->is_value)
        mtlm_value16_widen(o->type, o->given, o->n, got);
    else
        for (int64_t i = 0; i < o->n; i++)
            got[i] = ((mtlm_real *) o->given)[i];
    return got;
}
