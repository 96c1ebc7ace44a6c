#ifndef MTLM_JOB_BLAS_H
#define MTLM_JOB_BLAS_H

#include "launch/job/job.h"

/* Returns what the user wants: --blas, or else the variable MTLM_BLAS. */
const char *mtlm_job_blas_wish(const struct mtlm_options *options);

/* A step of the start: chooses the library for products of matrices.  Rank 0
 * chooses for all ranks (--blas, then MTLM_BLAS, then by measurement).  Fails
 * on ranks whose machine lacks the library, and where the library is wrong.
 * Does nothing for jobs without products on CPUs. */
int mtlm_job_blas_choose(struct mtlm_job *job, struct mtlm_error *err);

/* A step of the start: prints a line where ranks have other libraries of that
 * name, or other kernels.  Collective. */
int mtlm_job_blas_compare(struct mtlm_job *job, struct mtlm_error *err);

/* Chooses for a plan, which takes the library's memory and speed, as a job of
 * this machine would; but measures nothing.  Does nothing for jobs without
 * products on CPUs. */
int mtlm_job_blas_plan(const struct mtlm_options *options,
                       struct mtlm_error *err);

#endif /* MTLM_JOB_BLAS_H */
