#ifndef MTLM_PROGRESS_H
#define MTLM_PROGRESS_H

/* Progress of iterations and validations on stderr.  A terminal shows a bar in
 * its last line from the first second on, drawn anew every 0.5 s.  Elsewhere a
 * long iteration prints a line after 5 s, then one every 10 s.  A thread of its
 * own prints (launch/log/progress_text.h).  A process has one iteration at a
 * time.  One thread calls start, hide, end and stop. */

#include <stdbool.h>
#include <stdint.h>

/* An iteration or a validation. */
struct mtlm_progress_work {
    const char *what;              /* "iteration 12", "validation"; copied */
    int64_t iteration, iterations; /* its number; of the run; 0: validation */
    int64_t microbatches;
    int64_t after;       /* later microbatches of the run; 0: unknown */
    double seconds_left; /* until the run's limit of time; 0: no limit */
    bool launched; /* by mpirun or srun: stderr is no terminal of a person */
};

void mtlm_progress_start(const struct mtlm_progress_work *work);

/* Adds a part of a microbatch.  Thread-safe, lock-free.  Parts beyond the
 * iteration's number of microbatches count for the next iteration. */
void mtlm_progress_add(double part);

/* Ends the iteration: nothing is drawn until the next start.  The bar stays. */
void mtlm_progress_end(void);

/* Clears the bar between end and start: the caller prints a line.  The next
 * start draws the bar again. */
void mtlm_progress_hide(void);

/* Clears the bar and stops the printing thread, if it runs. */
void mtlm_progress_stop(void);

#endif /* MTLM_PROGRESS_H */
