#ifndef MTLM_VIRTUAL_TIMES_H
#define MTLM_VIRTUAL_TIMES_H

/* What mtlm-dag-sim reports: a file that both programs map.  So mtlm-dag sees
 * how far a simulation is, also when mtlm-dag-sim ends early. */

#include <stdint.h>

#include "runtime/base/error.h"

enum mtlm_virtual_state {
    MTLM_VIRTUAL_STARTED, /* and not finished */
    MTLM_VIRTUAL_REFUSED, /* error says why */
    MTLM_VIRTUAL_COMPLETE,
};

struct mtlm_virtual_time {
    int64_t start_ns, end_ns; /* from the first start; end_ns -1: not ended */
};

struct mtlm_virtual_times {
    int64_t n_tasks;
    volatile int64_t submitted, ended; /* tasks so far */
    volatile int32_t state;            /* enum mtlm_virtual_state */
    char policy[64];                   /* the policy in force */
    struct mtlm_error error;
    struct mtlm_virtual_time task[]; /* [n_tasks] */
};

/* Creates the file and maps it; the caller calls mtlm_virtual_times_close(). */
struct mtlm_virtual_times *mtlm_virtual_times_create(const char *path,
                                                     int64_t n_tasks,
                                                     struct mtlm_error *err);

/* Maps a file that exists; else as mtlm_virtual_times_create(). */
struct mtlm_virtual_times *mtlm_virtual_times_open(const char *path,
                                                   int64_t n_tasks,
                                                   struct mtlm_error *err);

/* Unmaps the file; NULL is allowed. */
void mtlm_virtual_times_close(struct mtlm_virtual_times *times);

#endif /* MTLM_VIRTUAL_TIMES_H */
