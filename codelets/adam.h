#ifndef MTLM_ADAM_H
#define MTLM_ADAM_H

/* AdamW's formula, shared by the CPU and CUDA kernels of adam.c and adam.cu. */

#include "codelets/control_slots.h"
#include "codelets/op.h"
#include "codelets/vector_math.h"

/* Operands of adam, and of adam_master and adam_version.  The "master" of
 * adam_version is the version of the weight before. */
enum { ADAM_G, ADAM_CONTROL, ADAM_WEIGHT, ADAM_M, ADAM_V, ADAM_COUNT };
enum {
    ADAMM_G,
    ADAMM_CONTROL,
    ADAMM_MASTER,
    ADAMM_M,
    ADAMM_V,
    ADAMM_WEIGHT,
    ADAMM_COUNT
};

/* Coefficients that do not depend on the element, each rounded once. */
struct mtlm_adam {
    mtlm_real clip;
    mtlm_real b1, c1, b2, c2; /* beta and 1 - beta */
    mtlm_real rate, root;     /* factors on m and on sqrt(v) */
    mtlm_real decay;          /* share of the weight that a step takes */
    mtlm_real epsilon;
};

/* Returns the coefficients of a step from attributes and control tensor. */
static inline MTLM_HOST_DEVICE struct mtlm_adam mtlm_adam_begin(
    const union mtlm_attr *attr, const double *control)
{
    const double beta1 = attr->adam.beta1, beta2 = attr->adam.beta2;
    const double lr = control[MTLM_CONTROL_LR];
    const double t = control[MTLM_CONTROL_STEP];
    const double decay =
        attr->adam.decay ? lr * control[MTLM_CONTROL_WEIGHT_DECAY] : 0;
    struct mtlm_adam a;

    a.clip = (mtlm_real) control[MTLM_CONTROL_CLIP];
    a.b1 = (mtlm_real) beta1;
    a.c1 = (mtlm_real) (1 - beta1);
    a.b2 = (mtlm_real) beta2;
    a.c2 = (mtlm_real) (1 - beta2);
    a.rate = (mtlm_real) (lr / (1 - pow(beta1, t)));
    a.root = (mtlm_real) (1 / sqrt(1 - pow(beta2, t)));
    a.decay = (mtlm_real) decay;
    a.epsilon = (mtlm_real) attr->adam.epsilon;
    return a;
}

/* Steps one element, without a change of g.  Decay and gradient change the
 * weight in one rounding.  A factor 1 - decay would be rounded by itself.  A
 * decay of 1e-7 would be a fifth too large then, one below 3e-8 lost. */
static inline MTLM_HOST_DEVICE void mtlm_adam_step(const struct mtlm_adam *a,
                                                   mtlm_real g, mtlm_real *m,
                                                   mtlm_real *v, mtlm_real *w)
{
    const mtlm_real grad = a->clip * g;

    *m = a->b1 * *m + a->c1 * grad;
    *v = a->b2 * *v + a->c2 * grad * grad;
    *w -= a->decay * *w + a->rate * *m / (mtlm_sqrt(*v) * a->root + a->epsilon);
}

#endif /* MTLM_ADAM_H */
