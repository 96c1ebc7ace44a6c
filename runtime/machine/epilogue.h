#ifndef MTLM_EPILOGUE_H
#define MTLM_EPILOGUE_H

/* What a GPU's library may do to a matrix product while it makes it, as an
 * epilogue, in place of a kernel of ours after it (codelets/fusion.cuh).  On
 * CPUs it is all the same. */
enum mtlm_epilogue_wish {
    MTLM_EPILOGUE_AUTO, /* where it is believed to pay */
    MTLM_EPILOGUE_ON,   /* wherever the library can */
    MTLM_EPILOGUE_OFF,
};

struct mtlm_epilogue_wishes {
    enum mtlm_epilogue_wish gelu, gelu_gradient; /* of an MLP, in 16 bits */
    enum mtlm_epilogue_wish bias_gradient;
};

#endif /* MTLM_EPILOGUE_H */
