#ifndef MTLM_TESTS_BF16_SKIP_H
#define MTLM_TESTS_BF16_SKIP_H

/* Include after <cmocka.h>. */

#include "codelets/bf16_product.h"

/* Skips a test where products of bf16 are in fp32, and prints the reason. */
static inline void need_bf16_instructions(void)
{
    char text[160];

    if (mtlm_bf16_product_here())
        return;
    print_message("# products are %s\n",
                  mtlm_bf16_product_describe(text, sizeof(text)));
    skip();
}

#endif /* MTLM_TESTS_BF16_SKIP_H */
