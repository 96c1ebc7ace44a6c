/* What CPU kernels take of memory beside their operands. */

#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "codelets/bf16_product.h"
#include "codelets/value.h"
#include "graph/predict/plan_scratch.h"
#include "runtime/amx/amx_fp32.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"
#include "runtime/machine/blas.h"

/* OpenBLAS copies at most this many columns of a factor. */
#define BLAS_PANEL 320.0

/* Returns the bytes of the packed panels of an m x n x k product in fp32. */
static double fp32_bytes(int64_t m, int64_t n, int64_t k)
{
    return mtlm_blas_by_amx() ? mtlm_amx_fp32_bytes(m, n, k)
                              : sizeof(mtlm_real) * m * fmin(k, BLAS_PANEL);
}

/* Returns the bytes of the packed panels of an m x n x k product, from its
 * output [m, n] and its 2 m n k operations. */
static double panel_bytes(const struct mtlm_node *node)
{
    const struct mtlm_op *op = mtlm_ops[node->call.kind];
    const bool amx =
        mtlm_bf16_product_by_amx() && mtlm_value_is_bf16(&node->call);
    struct mtlm_call call = node->call;
    double most = 0;

    call.next = NULL; /* of a product: parts of the same sample */
    for (int i = 0; i < op->n_operands; i++) {
        const struct mtlm_shape *y = &node->call.shape[i];

        if (op->access[i] != MTLM_R && mtlm_shape_elems(y) > 0) {
            const double k = mtlm_call_flops(&call) / 2 / mtlm_shape_elems(y);
            const int64_t m = mtlm_shape_rows(y), n = mtlm_shape_cols(y);

            most = fmax(most, amx ? mtlm_bf16_product_bytes_of_amx(m, k)
                                  : fp32_bytes(m, n, k));
        }
    }
    return most;
}

static int compare_bytes(const void *a, const void *b)
{
    return mtlm_compare_double(b, a);
}

/* Whether a CPU runs the node; no_gpu_has: beside a GPU. */
static bool runs_on_cpu(const struct mtlm_node *node, bool no_gpu_has)
{
    return !no_gpu_has || !mtlm_ops[node->call.kind]->cuda;
}

/* Returns the bytes of scratch in which all workers widen 16-bit operands:
 * least of each, and those of the nodes that initialise tensors.  Such a node
 * runs once, so the largest ones run on different workers at most.  The scratch
 * stays while a checkpoint is read. */
static double init_bytes(const struct mtlm_program *program, bool no_gpu_has,
                         double least)
{
    const struct mtlm_list *list = &program->init_list;
    const int workers = program->config.layout.workers;
    double *bytes = mtlm_calloc(list->n + workers, sizeof(*bytes)), sum = 0;

    for (int i = 0; i < list->n; i++)
        if (runs_on_cpu(list->node[i], no_gpu_has))
            bytes[i] = mtlm_value_wide_bytes(&list->node[i]->call);
    qsort(bytes, list->n + workers, sizeof(*bytes), compare_bytes);
    for (int w = 0; w < workers; w++)
        sum += fmax(least, bytes[w]);
    free(bytes);
    return sum;
}

double mtlm_plan_scratch_init(const struct mtlm_program *program)
{
    return init_bytes(program, false, 0);
}

double mtlm_plan_scratch_kernels(const struct mtlm_program *program,
                                 bool no_gpu_has)
{
    const struct mtlm_graph *graph = program->graph;
    double panels = 0, kernel = 0, wide = 0;

    for (int i = 0; i < graph->all.n; i++) {
        const struct mtlm_node *node = graph->all.node[i];

        if (!runs_on_cpu(node, no_gpu_has))
            continue;
        panels = fmax(panels, panel_bytes(node));
        kernel = fmax(kernel, mtlm_value_kernel_bytes(&node->call));
        if (node->phase != MTLM_PHASE_INIT)
            wide = fmax(wide, mtlm_value_wide_bytes(&node->call));
    }
    return (panels + kernel) * program->config.layout.workers
           + init_bytes(program, no_gpu_has, wide);
}
