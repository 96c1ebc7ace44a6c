#ifndef MTLM_ENVIRONMENT_H
#define MTLM_ENVIRONMENT_H

#include "runtime/base/error.h"

/* Environment variables of StarPU, of the BLAS and of the policy "mtlm".  The
 * libraries end the process, or take another value, where a variable is
 * wrong. */

/* Checks the variables that hold numbers.  Needs neither StarPU nor a machine
 * to run on. */
int mtlm_environment_check_numbers(struct mtlm_error *err);

/* Checks all variables, on the machine that runs the job: numbers, processors,
 * and cores that StarPU would reserve.  Checks also the directory of StarPU's
 * measurements, the core of OpenBLAS, and room for the libraries under a limit
 * of address space.  Called before StarPU starts.  Makes the directory. */
int mtlm_environment_check(struct mtlm_error *err);

/* Checks that the limits of STARPU_LIMIT_CPU_MEM and its like leave `bytes`:
 * StarPU would wait for ever for memory beyond a limit. */
int mtlm_environment_check_memory(double bytes, struct mtlm_error *err);

#endif /* MTLM_ENVIRONMENT_H */
