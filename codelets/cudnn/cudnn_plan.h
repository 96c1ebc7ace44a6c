#ifndef MTLM_CUDNN_PLAN_H
#define MTLM_CUDNN_PLAN_H

/* Plans: how cuDNN computes a graph (cudnn_graph.h), and their execution. */

#include "codelets/cudnn/cudnn_graph.h"

/* The ways in which the library would compute the graph on that kind of GPU
 * (CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR), of those that give the same bits each
 * time, the best first.  Returns how many; they belong to the graph. */
enum { MTLM_CUDNN_PROPOSALS = 16 };
int mtlm_cudnn_propose(struct mtlm_cudnn_graph *graph,
                       cudnnBackendDescriptor_t gpu,
                       cudnnBackendDescriptor_t config[MTLM_CUDNN_PROPOSALS]);

/* One of them, ready to run; it belongs to the graph. */
struct mtlm_cudnn_plan {
    cudnnBackendDescriptor_t plan;
    size_t workspace_bytes;
};

/* The first that can be made ready and needs no more workspace than that.
 * Returns false if there is none. */
bool mtlm_cudnn_plan(struct mtlm_cudnn_graph *graph,
                     cudnnBackendDescriptor_t gpu, size_t workspace_bytes,
                     struct mtlm_cudnn_plan *plan);

/* Enqueues the plan on the handle's stream: tensor number[i] is at data[i].
 * An error ends the job. */
void mtlm_cudnn_run(const struct mtlm_cudnn *lib, cudnnHandle_t handle,
                    const struct mtlm_cudnn_plan *plan, int n,
                    const int64_t number[], void *const data[],
                    void *workspace);

#endif /* MTLM_CUDNN_PLAN_H */
