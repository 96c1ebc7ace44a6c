#ifndef MTLM_FUSION_CUH
#define MTLM_FUSION_CUH

/* Products whose epilogue either cuBLASLt or a kernel of our own computes. */

#include "codelets/matmul.cuh"
#include "codelets/note.h"

/* A product's epilogue, and what decides who computes the epilogue: the user's
 * wish, or where others found cuBLASLt's epilogue to pay. */
struct mtlm_fusion {
    const char *kind; /* as --epilogues spells it: "gelu" */
    enum mtlm_epilogue_wish wish;
    bool pays; /* expected to pay on this GPU */
    /* Reason against cuBLASLt's epilogue, whatever the wish; or NULL. */
    const char *why_not;
    enum mtlm_note fused, own; /* subjects of the notes */
};

/* Enqueues mtlm_matmul() with the epilogue if the library shall compute the
 * epilogue and can.  Returns whether the product was enqueued. */
bool mtlm_fusion_matmul(const struct mtlm_device *device,
                        const struct mtlm_product *p,
                        const struct mtlm_fusion *fusion);

#endif /* MTLM_FUSION_CUH */
