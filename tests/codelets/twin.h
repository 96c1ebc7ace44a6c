#ifndef MTLM_TESTS_TWIN_H
#define MTLM_TESTS_TWIN_H

#include "codelets/op.h"
#include "runtime/machine/epilogue.h"

#ifndef MTLM_EMULATED
#define MTLM_EMULATED 0
#endif

/* CUDA kernels against the CPU's of the same operation, on the same operands:
 * on a GPU or, in a program built with MTLM_EMULATED, in the emulator. */

struct twin {
    /* Without the shapes that infer makes; its next ones are overwritten. */
    struct mtlm_call call;
    /* Overwrites the operands of a call that N(0, 1) does not suit; integers
     * are 0 and must mostly be.  Values and reals are mtlm_real here. */
    void (*fill)(const struct mtlm_call *call, void *const operand[]);
    int64_t sample; /* the microbatch's first */
    /* Of values only: besides rounding, greatest difference over greatest
     * value.  0: 1e-5. */
    double bound;
    /* Of 16 bits: greatest difference over greatest value, in half units of
     * the last place, for what rounds on the way.  0: nothing does. */
    double roundings;
    bool aligned;   /* operands that are not are left out */
    int capability; /* that the device is said to have; 0: its own */
    struct mtlm_epilogue_wishes epilogues;
    enum {
        TWIN_NEAR,  /* doubles: to 1e-12 of the greatest */
        TWIN_EACH,  /* each to its own last places */
        TWIN_EXACT, /* bit for bit */
    } doubles;
    bool real_only; /* has no kernel for 16 bits */
};

/* Why there is nothing to compare on, or NULL. */
const char *twin_start(void);
void twin_stop(void);

/* Runs the call in every value type, with operands that are aligned to 16
 * bytes and with some that are not, and compares all that it writes.
 *
 * Operands of 16 bits are rounded before, so that both compute the same; what
 * is written in 16 bits may differ by its rounding besides the bound.  Integers
 * and what nobody writes must be equal, and a second run gives the same bits,
 * in the emulator with another order of the threads.  There nothing outside of
 * operands is touched. */
void twin_compare(const struct twin *twin);

/* Fails unless every operation with a kernel was compared. */
void twin_assert_complete(void);

#endif /* MTLM_TESTS_TWIN_H */
