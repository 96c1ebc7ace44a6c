#ifndef MTLM_CUDNN_PLAN_H
#define MTLM_CUDNN_PLAN_H

/* Plans: how cuDNN computes a graph (cudnn_graph.h), and their execution. */

#include "codelets/cudnn/cudnn_graph.h"

/* Writes the library's proposals to compute the graph on that kind of GPU
 * (CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR), best first; only proposals with the
 * same bits each time.  Returns their number.  The graph owns the proposals. */
enum { MTLM_CUDNN_PROPOSALS = 16 };
int mtlm_cudnn_propose(struct mtlm_cudnn_graph *graph,
                       cudnnBackendDescriptor_t gpu,
                       cudnnBackendDescriptor_t config[MTLM_CUDNN_PROPOSALS]);

/* A plan ready to run; the graph owns the plan. */
struct mtlm_cudnn_plan {
    cudnnBackendDescriptor_t plan;
    size_t workspace_bytes;
};

/* Sets *plan to the first proposal that can be made ready within
 * workspace_bytes.  Returns false if none exists. */
bool mtlm_cudnn_plan(struct mtlm_cudnn_graph *graph,
                     cudnnBackendDescriptor_t gpu, size_t workspace_bytes,
                     struct mtlm_cudnn_plan *plan);

/* Enqueues the plan on the handle's stream; tensor number[i] is at data[i].  An
 * error ends the job. */
void mtlm_cudnn_run(const struct mtlm_cudnn *lib, cudnnHandle_t handle,
                    const struct mtlm_cudnn_plan *plan, int n,
                    const int64_t number[], void *const data[],
                    void *workspace);

#endif /* MTLM_CUDNN_PLAN_H */
