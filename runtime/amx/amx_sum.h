#ifndef MTLM_AMX_SUM_H
#define MTLM_AMX_SUM_H

/* Products by AMX with an fp32 C. */

#include "runtime/amx/amx_product.h"

/* Computes the fp32 C of a product and of its next ones, between
 * mtlm_amx_begin() and mtlm_amx_end().  scratch: as of mtlm_amx_product(). */
void mtlm_amx_sum(const struct mtlm_amx_product *product,
                  struct mtlm_scratch *scratch);

#endif /* MTLM_AMX_SUM_H */
