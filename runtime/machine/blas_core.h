#ifndef MTLM_BLAS_CORE_H
#define MTLM_BLAS_CORE_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The kernels of OpenBLAS.  OpenBLAS picks kernels when the program is loaded,
 * from a list of processors as old as the release of OpenBLAS.  A processor
 * newer than the list silently gets kernels for much older processors, several
 * times slower.  Only the environment at load time can correct the choice. */

/* Restarts the program once with OPENBLAS_CORETYPE set, if OpenBLAS took the
 * processor for an old one; and once with OPENBLAS_NUM_THREADS=1, where the
 * process has a limit of address space.  The user's settings stay.  Without
 * OPENBLAS_NUM_THREADS, OpenBLAS runs one thread per caller.  Returns if the
 * kernels are right, if nothing can be done, or with another BLAS.  Call first
 * in main(), before any other thread exists. */
void mtlm_blas_core_prepare(int argc, char **argv);

/* Checks the user's OPENBLAS_CORETYPE: this OpenBLAS must know the core, and
 * the processor must have the instructions of the core's matrix product.  A
 * child process tries them; MTLM_EXIT_RESOURCE where none starts.  Called
 * before other threads start. */
int mtlm_blas_core_check(struct mtlm_error *err);

/* Makes OpenBLAS allocate its buffers for `callers` threads now, where the
 * process has a limit of address space.  Later OpenBLAS would retry a refused
 * allocation for ever.  Returns -1 and MTLM_EXIT_RESOURCE where the buffers do
 * not fit, or no child process starts: one tries first. */
int mtlm_blas_core_reserve(int callers, struct mtlm_error *err);

/* Writes "OpenBLAS 0.3.21, core SkylakeX (not Prescott)" to text [bytes]: the
 * core in use, and the detected one where we replaced it.  Returns text. */
const char *mtlm_blas_core_describe(char *text, size_t bytes);

/* The facts behind the choice. */
struct mtlm_blas_facts {
    const char *config;   /* openblas_get_config(), or NULL: another BLAS */
    const char *core;     /* openblas_get_corename() */
    const char *coretype; /* OPENBLAS_CORETYPE, or NULL: not set */
    const char *detected; /* the core before the restart, or NULL */
    bool avx2, avx512;    /* of the processor; AVX-512 F, BW, DQ and VL */
};

/* Returns the core for OPENBLAS_CORETYPE; NULL: keep the current one. */
const char *mtlm_blas_core_better(const struct mtlm_blas_facts *facts);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_BLAS_CORE_H */
