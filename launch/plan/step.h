#ifndef MTLM_STEP_H
#define MTLM_STEP_H

/* What a plan of many layers works on, as one line of a terminal. */

/* Shows "WHAT ..." in the last line, if stderr is a terminal. */
void mtlm_step_show(const char *what);

/* Clears the line.  Call before other output. */
void mtlm_step_clear(void);

#endif /* MTLM_STEP_H */
