#ifndef MTLM_BLAS_CORE_H
#define MTLM_BLAS_CORE_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* OpenBLAS picks its kernels when the program is loaded, from a list of
 * processors that ends with its release: a newer one gets those of a twenty
 * years older, several times slower, without a word.  Only the environment
 * at load time can tell it better. */

/* Called first in main(), before any other thread: where OpenBLAS took the
 * processor for an old one, starts the program anew, once, with
 * OPENBLAS_CORETYPE set.  What the user set stays; without
 * OPENBLAS_NUM_THREADS it runs one thread per caller.  Another BLAS is left
 * alone.  Returns where nothing had to be done or nothing can be. */
void mtlm_blas_core_prepare(int argc, char **argv);

/* "OpenBLAS 0.3.21, core SkylakeX (set by us; detected Prescott)".
 * Returns text. */
const char *mtlm_blas_core_describe(char *text, size_t bytes);

/* What the decision rests on. */
struct mtlm_blas_facts {
    const char *config;   /* openblas_get_config(), or NULL: another BLAS */
    const char *core;     /* openblas_get_corename() */
    const char *coretype; /* OPENBLAS_CORETYPE, or NULL: not set */
    const char *detected; /* the core before we started anew, or NULL */
    bool avx2, avx512;    /* of the processor; AVX-512 F, BW, DQ and VL */
};

/* The core that OPENBLAS_CORETYPE should name, or NULL: leave it. */
const char *mtlm_blas_core_better(const struct mtlm_blas_facts *facts);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_BLAS_CORE_H */
