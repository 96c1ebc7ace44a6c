#ifndef MTLM_CUDNN_PLAN_H
#define MTLM_CUDNN_PLAN_H

/* Makes and runs plans.  A plan is cuDNN's way to compute a graph
 * (cudnn_graph.h). */

#include "codelets/cudnn/cudnn_graph.h"

/* Maximum number of cuDNN's proposals for one graph. */
enum { MTLM_CUDNN_PROPOSALS = 16 };

/* Writes cuDNN's proposals to compute the graph to config, best first.  Returns
 * the number of proposals; 0 after an error.  gpu: a
 * CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR.  Leaves out proposals that cuDNN marks
 * as not deterministic.  The graph owns the proposals. */
int mtlm_cudnn_propose(struct mtlm_cudnn_graph *graph,
                       cudnnBackendDescriptor_t gpu,
                       cudnnBackendDescriptor_t config[MTLM_CUDNN_PROPOSALS]);

/* A plan ready to run; the graph owns the descriptor. */
struct mtlm_cudnn_plan {
    cudnnBackendDescriptor_t plan;
    size_t workspace_bytes; /* GPU memory that a run needs */
};

/* Makes *plan from the first proposal that needs at most workspace_bytes.
 * Returns false if there is none, or after an error of the graph. */
bool mtlm_cudnn_plan(struct mtlm_cudnn_graph *graph,
                     cudnnBackendDescriptor_t gpu, size_t workspace_bytes,
                     struct mtlm_cudnn_plan *plan);

/* Enqueues the plan on the handle's stream.  The tensor with number[i] lies at
 * data[i], i < n.  workspace: plan->workspace_bytes of GPU memory, borrowed
 * until the plan has run.  An error ends the job. */
void mtlm_cudnn_run(const struct mtlm_cudnn *lib, cudnnHandle_t handle,
                    const struct mtlm_cudnn_plan *plan, int n,
                    const int64_t number[], void *const data[],
                    void *workspace);

#endif /* MTLM_CUDNN_PLAN_H */
