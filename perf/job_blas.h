#ifndef MTLM_PERF_JOB_BLAS_H
#define MTLM_PERF_JOB_BLAS_H

/* Makes the BLAS that a job would use compute the products: MTLM_BLAS, or else
 * the choice by measurement.  Returns its description; ends the program with a
 * sentence if the library cannot be used. */
const char *job_blas_use(int argc, char **argv);

#endif /* MTLM_PERF_JOB_BLAS_H */
