#ifndef MTLM_ERROR_H
#define MTLM_ERROR_H

#include <stddef.h>

#include "runtime/base/exit_code.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The reason of a failure, one sentence for the user, with its exit code.
 * Functions that fail because of user input take one as last parameter. */
struct mtlm_error {
    enum mtlm_exit code;
    char text[1024];
};

/* Sets code and reason of err, which may be NULL; control characters become
 * '?'. Always returns -1: a failing function ends in `return
 * mtlm_error_set(...);`. */
int mtlm_error_set(struct mtlm_error *err, enum mtlm_exit code, const char *fmt,
                   ...) __attribute__((format(printf, 3, 4)));

/* Puts "context: " before the reason in err.  Always returns -1. */
int mtlm_error_prefix(struct mtlm_error *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints the program's name and a sentence for the user to standard error, as
 * one line, which without memory is cut.  The job goes on. */
void mtlm_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Ends the whole job after a failed library call.  Prints rank, place and
 * reason, calls the hook of mtlm_fatal_hook(), then ends the process with
 * MTLM_EXIT_PEER: within seconds where nobody reads its text.  Takes SIGALRM.
 *
 * The process does not call MPI_Abort(): another thread may be inside MPI.  The
 * launcher ends the other ranks when a rank is lost before MPI_Finalize().
 * mpirun does so by itself.  srun --mpi=pmix kills the job step when PMIx
 * reports the lost process (SchedMD/slurm,
 * src/plugins/mpi/pmix/pmixp_client_v2.c, _errhandler()).  Otherwise the other
 * ranks miss this rank's signs of life and leave the same way
 * (runtime/comm/pulse.h). */
void mtlm_fatal(const char *file, int line, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 3, 4)));

/* Ends the whole job like mtlm_fatal(), with a code and without a place in the
 * program. */
void mtlm_end_job(enum mtlm_exit code, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 2, 3)));

/* Ends the whole job with MTLM_EXIT_RESOURCE: bytes of memory were refused. */
void mtlm_out_of_memory(size_t bytes) __attribute__((noreturn));

/* Sets the name of the program that begins the sentences above; "mtlm-dag" at
 * first. */
void mtlm_fatal_program(const char *name);

/* Sets the function that the functions that end the job call with the exit code
 * (NULL: none), and the rank that they print (-1: none). */
void mtlm_fatal_hook(void (*hook)(int code), int rank);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_ERROR_H */
