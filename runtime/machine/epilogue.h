#ifndef MTLM_EPILOGUE_H
#define MTLM_EPILOGUE_H

/* Epilogues: cuBLASLt applies an operation to a matrix product while computing
 * the product, in place of a kernel of ours afterwards (codelets/fusion.cuh).
 * CPUs have none. */
enum mtlm_epilogue_wish {
    MTLM_EPILOGUE_AUTO, /* where we expect a gain */
    MTLM_EPILOGUE_ON,   /* wherever cuBLASLt can */
    MTLM_EPILOGUE_OFF,
};

struct mtlm_epilogue_wishes {
    enum mtlm_epilogue_wish gelu, gelu_gradient; /* of an MLP, in 16 bits */
    enum mtlm_epilogue_wish bias_gradient;
};

#endif /* MTLM_EPILOGUE_H */
