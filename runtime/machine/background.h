#ifndef MTLM_BACKGROUND_H
#define MTLM_BACKGROUND_H

#include <stdbool.h>

/* A thread for what may wait for a disk while everything else goes on: one
 * piece of work at a time.  It takes no signals, and no call of MPI is for
 * it. */
struct mtlm_background;

struct mtlm_background *mtlm_background_create(void);

/* Starts work(arg), when what was started before is done. */
void mtlm_background_start(struct mtlm_background *b, void (*work)(void *arg),
                           void *arg);

/* Whether it is done; what it has written is seen then. */
bool mtlm_background_done(struct mtlm_background *b);

/* Waits until the work is done. */
void mtlm_background_wait(struct mtlm_background *b);

/* Waits, too.  b may be NULL. */
void mtlm_background_destroy(struct mtlm_background *b);

#endif /* MTLM_BACKGROUND_H */
