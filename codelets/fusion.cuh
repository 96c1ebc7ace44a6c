#ifndef MTLM_FUSION_CUH
#define MTLM_FUSION_CUH

#include "codelets/matmul.cuh"
#include "codelets/note.h"

/* Products with an epilogue that a kernel of our own could take the place of:
 * who does it is wished, or decided by where others found it to pay. */
struct mtlm_fusion {
    const char *kind; /* as --epilogues spells it: "gelu" */
    enum mtlm_epilogue_wish wish;
    bool pays; /* is believed to, on this GPU */
    /* What stands against it whatever is wished, or NULL. */
    const char *why_not;
    enum mtlm_note fused, own; /* what is noted of either way */
};

/* mtlm_matmul(), where the epilogue is to be the library's and it can; else
 * nothing is enqueued.  Returns whether it was. */
bool mtlm_matmul_fused(const struct mtlm_device *device,
                       const struct mtlm_product *p,
                       const struct mtlm_fusion *fusion);

#endif /* MTLM_FUSION_CUH */
