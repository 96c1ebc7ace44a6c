#ifndef MTLM_PERF_TEAM_H
#define MTLM_PERF_TEAM_H

/* Threads that compute the same at once, as the workers of a job do: what one
 * of them reaches while all share the memory and the clock of the machine. */

enum { TEAM_MAX_THREADS = 256 };

struct team_work {
    void *(*begin)(const void *arg); /* each thread: what run() gets */
    void (*run)(void *mine);         /* a round of each thread */
    void (*end)(void *mine);
    const void *arg;
};

/* Returns the least seconds of a round: from a common start to the end of the
 * slowest thread.  The first round only warms up. */
double team_time(const struct team_work *work, int threads);

#endif /* MTLM_PERF_TEAM_H */
