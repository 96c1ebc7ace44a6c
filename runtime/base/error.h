#ifndef MTLM_ERROR_H
#define MTLM_ERROR_H

#include <stddef.h>

#include "runtime/base/exit_code.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Why something that the user asked for cannot be done, in one sentence fit
 * for the user, and the exit code that goes with it.  Functions that can
 * fail because of what the user asked take one as their last parameter. */
struct mtlm_error {
    enum mtlm_exit code;
    char text[1024];
};

/* Writes code and reason to err (which may be NULL), control characters as
 * '?'.  Returns -1, so that a failing function can end in
 * `return mtlm_error_set(err, ...);`. */
int mtlm_error_set(struct mtlm_error *err, enum mtlm_exit code, const char *fmt,
                   ...) __attribute__((format(printf, 3, 4)));

/* Puts "context: " before the reason that err holds already.  Returns -1. */
int mtlm_error_prefix(struct mtlm_error *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Ends the whole job: a failed library call, from which a rank cannot
 * recover by itself.  Prints rank, place and reason, then calls the hook set
 * by mtlm_fatal_hook(), then ends the process at once with code
 * MTLM_EXIT_PEER.
 *
 * It leaves without MPI_Abort(): that would be a call of MPI while another
 * thread may be in one.  A launcher ends the other ranks when one that has
 * started MPI is gone before MPI_Finalize(): mpirun by itself, srun --mpi=pmix
 * because PMIx reports the lost process, at which it kills the job step
 * (SchedMD/slurm, src/plugins/mpi/pmix/pmixp_client_v2.c, _errhandler()). Where
 * one does not, the others miss this rank's signs of life and leave the same
 * way (runtime/comm/pulse.h). */
void mtlm_fatal(const char *file, int line, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 3, 4)));

/* The same for a reason that lies in no line of the program: one sentence and
 * its code. */
void mtlm_end_job(enum mtlm_exit code, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 2, 3)));

/* The same for memory that cannot be had: code MTLM_EXIT_RESOURCE. */
void mtlm_out_of_memory(size_t bytes) __attribute__((noreturn));

/* hook(code) is called before the process ends (NULL: nothing is); rank is
 * printed before each message
 * (-1: none). */
void mtlm_fatal_hook(void (*hook)(int code), int rank);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_ERROR_H */
