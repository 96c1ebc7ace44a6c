#ifndef MTLM_ENVIRONMENT_COPY_H
#define MTLM_ENVIRONMENT_COPY_H

/* StarPU's environment variables as they were.  The start of StarPU changes
 * them, and a second start would read the changed ones. */

/* Returns the variables whose names begin with STARPU_, "NAME=value", and NULL
 * behind them; the caller frees them by mtlm_environment_copy_free(). */
char **mtlm_environment_copy(void);

/* Gives StarPU's variables the values of the copy, and removes others. */
void mtlm_environment_copy_restore(char *const *copy);

/* copy may be NULL. */
void mtlm_environment_copy_free(char **copy);

#endif /* MTLM_ENVIRONMENT_COPY_H */
