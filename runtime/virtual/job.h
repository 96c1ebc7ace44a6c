#ifndef MTLM_VIRTUAL_JOB_H
#define MTLM_VIRTUAL_JOB_H

/* A job for mtlm-dag-sim: tasks with durations and data, without kernels or
 * messages.  mtlm-dag writes the job to a file, mtlm-dag-sim reads the file. */

#include <stdint.h>

#include <mtlm/policy.h>

#include "runtime/base/error.h"
#include "runtime/comm/policy_job.h"

/* Data that tasks use; StarPU orders the tasks by it. */
struct mtlm_virtual_use {
    int32_t data;        /* index in data_bytes */
    int32_t read, write; /* 1: the task reads, writes */
};

/* A task runs on a worker of one rank: on a compute worker, or on the rank's
 * worker for messages of the lane. */
struct mtlm_virtual_task {
    int64_t duration_ns;
    int32_t priority;
    int32_t rank;
    int32_t lane;   /* enum mtlm_lane */
    int32_t worker; /* number among the compute workers; -1: any */
    int32_t name;   /* index in name: of the operation */
    int32_t n_uses;
    int64_t first_use;      /* index in use */
    int64_t first_node;     /* index in node */
    int32_t n_nodes;        /* one, or one for each rank of a message */
    int32_t n_predecessors; /* of all nodes; 0: ready at the start */
};

/* A node as policies see it. */
struct mtlm_virtual_node {
    struct mtlm_policy_node about; /* without name; job: this node's index */
    int64_t task;                  /* index in task */
    int32_t times; /* nodes with equal numbers are executions of one node */
    int32_t n_predecessors;
    int64_t first_predecessor; /* index in predecessor */
};

/* Tasks stand after all tasks that they wait for, and nodes in the order of
 * their tasks. */
struct mtlm_virtual_job {
    int32_t ranks, workers; /* compute workers of a rank */
    int32_t n_names, n_times;
    int64_t n_chunks; /* of all ranks */
    int64_t n_tasks, n_nodes, n_uses, n_predecessors, n_data;
    struct mtlm_virtual_task *task;
    struct mtlm_virtual_node *node;
    struct mtlm_virtual_use *use;
    int64_t *predecessor; /* indices of nodes */
    int64_t *data_bytes;
    char (*name)[32];
    struct mtlm_policy_advice advice;
    struct mtlm_policy_job *about; /* [ranks] */
    /* Virtual stages, rank by rank. */
    struct mtlm_policy_job_chunk *chunk;
};

/* Workers of a rank that run messages: one each for TP, PP and DP. */
enum { MTLM_VIRTUAL_MESSAGE_WORKERS = 3 };

/* Returns the workers of a rank. */
int mtlm_virtual_workers(const struct mtlm_virtual_job *job);

/* Returns the lowest-numbered worker that may run the task, and sets *n to the
 * number of consecutive workers that may. */
int mtlm_virtual_first_worker(const struct mtlm_virtual_job *job,
                              const struct mtlm_virtual_task *task, int *n);

/* Writes the job to a file. */
int mtlm_virtual_job_write(const struct mtlm_virtual_job *job, const char *path,
                           struct mtlm_error *err);

/* Reads a job that the same version of this program wrote.  The caller frees
 * the job with mtlm_virtual_job_free(). */
int mtlm_virtual_job_read(struct mtlm_virtual_job *job, const char *path,
                          struct mtlm_error *err);

/* Frees the arrays of the job. */
void mtlm_virtual_job_free(struct mtlm_virtual_job *job);

#endif /* MTLM_VIRTUAL_JOB_H */
