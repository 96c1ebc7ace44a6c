#ifndef MTLM_TESTS_NARROW_OPERAND_H
#define MTLM_TESTS_NARROW_OPERAND_H

/* Operands of a call on 16-bit values, and of the same call on mtlm_real. */

#include "codelets/op.h"

struct narrow_operand {
    int64_t n;
    enum mtlm_dtype type;
    bool is_value;
    mtlm_real *wide; /* integers where the type is MTLM_I32 */
    void *given;     /* the same numbers; values have 16 bits */
};

/* Makes operand i of the call: N(0, 1), rounded to the call's value type where
 * the operand has values; integers are 0. */
struct narrow_operand narrow_operand_new(const struct mtlm_call *call, int i);
void narrow_operand_free(struct narrow_operand o);

/* Returns what the call on 16-bit values has left in `given`, as mtlm_real.
 * The caller frees the numbers. */
mtlm_real *narrow_operand_result(const struct narrow_operand *o);

#endif /* MTLM_TESTS_NARROW_OPERAND_H */
