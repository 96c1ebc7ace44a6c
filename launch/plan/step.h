#ifndef MTLM_STEP_H
#define MTLM_STEP_H

/* The step that a long plan works on, as the last line of a terminal. */

/* Shows "WHAT ..." if stderr is a terminal. */
void mtlm_step_show(const char *what);

/* Clears the line.  Call before other output. */
void mtlm_step_clear(void);

#endif /* MTLM_STEP_H */
