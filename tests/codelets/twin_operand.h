#ifndef MTLM_TESTS_TWIN_OPERAND_H
#define MTLM_TESTS_TWIN_OPERAND_H

#include "runtime/base/dtype.h"
#include "tests/codelets/twin_device.h"

/* An operand on both sides, of a call or of all that follow it.  Included where
 * there is CUDA only. */
struct twin_operand {
    bool again; /* that the first call has already */
    enum mtlm_dtype dtype;
    int64_t n;
    void *host; /* values widened to mtlm_real */
    struct twin_memory there;
};

/* On the host numbers of N(0, 1), integers 0; on the device undefined. */
void twin_operand_new(struct twin_operand *o, enum mtlm_dtype dtype, int64_t n,
                      int seed, bool aligned);
void twin_operand_free(struct twin_operand *o);

/* Takes values on the host to the nearest that the type can express. */
void twin_operand_round(struct twin_operand *o);

/* From the host to the device. */
void twin_operand_put(const struct twin_operand *o);
/* What lies on the device, as it is; the caller frees it. */
void *twin_operand_get(const struct twin_operand *o);

/* Element i of raw. */
double twin_element(const void *raw, enum mtlm_dtype dtype, int64_t i);
/* Half a unit in the last place of x; 0 of more than 16 bits. */
double twin_rounding(double x, enum mtlm_dtype dtype);

#endif /* MTLM_TESTS_TWIN_OPERAND_H */
