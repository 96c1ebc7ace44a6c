#ifndef MTLM_TESTS_GRADCHECK_H
#define MTLM_TESTS_GRADCHECK_H

#include "codelets/op.h"

/* An operation's gradient rule, as the table has it, against central
 * differences: whatever a rule gets wrong (operand, phase's call, missing
 * tensor) shows as well as what a kernel does. */
struct gradcheck {
    enum mtlm_op_kind kind;
    union mtlm_attr attr;
    struct mtlm_shape shape[MTLM_MAX_OPERANDS]; /* of what is given */
    /* Integers are these, or where there are none drawn from 0 ..
     * tokens_below - 1. */
    const int32_t *integers;
    int32_t tokens_below;

    /* Operands without a gradient of their own; prepare() computes those that
     * follow from others, before each forward call. */
    bool derived[MTLM_MAX_OPERANDS];
    void (*prepare)(const struct mtlm_call *call, void *const ptr[]);
};

/* Runs check with the rule's calls, then once more with kind_add where it has
 * one.  The loss is the sum of the outputs times random numbers, or what a
 * root leaves in its doubles.  What is given and changed in place counts as an
 * operand before and as an output after the call.  Each given real operand is
 * moved both ways by h along a random unit direction.  Returns the greatest
 * relative error of the directional derivatives; also fails the test where an
 * operand gets no gradient, where RW is not added to or where W is not wholly
 * written. */
double gradcheck_worst(const struct gradcheck *check);

/* Whether a check of that operation has been run, or was said to be made
 * otherwise. */
bool gradcheck_done(enum mtlm_op_kind kind);
void gradcheck_otherwise(enum mtlm_op_kind kind);

#endif /* MTLM_TESTS_GRADCHECK_H */
