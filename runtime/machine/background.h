#ifndef MTLM_BACKGROUND_H
#define MTLM_BACKGROUND_H

#include <stdbool.h>

/* A background thread does work that waits for a disk, one piece at a time,
 * while the program goes on.  The thread takes no signals, and must not call
 * MPI. */
struct mtlm_background;

/* Starts the thread; the caller destroys it. */
struct mtlm_background *mtlm_background_create(void);

/* Starts work(arg) after the previous piece is done. */
void mtlm_background_start(struct mtlm_background *b, void (*work)(void *arg),
                           void *arg);

/* Whether the work is done; true: what it wrote is visible to the caller. */
bool mtlm_background_done(struct mtlm_background *b);

/* Returns when the work is done. */
void mtlm_background_wait(struct mtlm_background *b);

/* Waits for the work, ends the thread.  b may be NULL. */
void mtlm_background_destroy(struct mtlm_background *b);

#endif /* MTLM_BACKGROUND_H */
