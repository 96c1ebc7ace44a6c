#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "graph/predict/bank.h"
#include "runtime/base/memory.h"

/* Of sums that ought to be equal. */
#define ROUNDING 1e-9

void mtlm_bank_create(struct mtlm_bank *bank, int microbatches, double each)
{
    *bank = (struct mtlm_bank){
        .need = mtlm_calloc(microbatches, sizeof(*bank->need)),
        .held = mtlm_calloc(microbatches, sizeof(*bank->held)),
        .microbatches = microbatches,
        .newest = -1};
    for (int i = 0; i < microbatches; i++)
        bank->need[i] = each;
}

void mtlm_bank_destroy(struct mtlm_bank *bank)
{
    free(bank->need);
    free(bank->held);
}

void mtlm_bank_take(struct mtlm_bank *bank, int microbatch, double memory)
{
    bank->used += memory;
    bank->held[microbatch] += memory;
    bank->need[microbatch] -= memory;
    bank->peak = fmax(bank->peak, bank->used);
    if (microbatch > bank->newest)
        bank->newest = microbatch;
}

void mtlm_bank_give(struct mtlm_bank *bank, int microbatch, double memory)
{
    bank->used -= memory;
    bank->held[microbatch] -= memory;
    while (bank->oldest <= bank->newest && bank->need[bank->oldest] < ROUNDING
           && bank->held[bank->oldest] < ROUNDING)
        bank->oldest++;
}

bool mtlm_bank_admits(const struct mtlm_bank *bank, int microbatch,
                      double memory, double most)
{
    const int newest = microbatch > bank->newest ? microbatch : bank->newest;
    double left = most - bank->used - memory + ROUNDING;

    if (left < 0)
        return false;
    for (int j = bank->oldest; j <= newest; j++) {
        const double more = j == microbatch ? memory : 0;

        if (bank->held[j] + more < ROUNDING)
            continue;
        if (bank->need[j] - more > left)
            return false;
        left += bank->held[j] + more;
    }
    return true;
}
