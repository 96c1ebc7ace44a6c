/* Describes the nodes of a program, its layout and its windows to scheduling
 * policies. */

#include "config.h"

#include <stdlib.h>

#include "graph/build/policy_facts.h"
#include "runtime/base/memory.h"

enum { FIRST = 1, LAST = 2 };

/* ---- blocks ---- */

static bool computes(const struct mtlm_node *node)
{
    return mtlm_ops[node->call.kind]->op_class == MTLM_CLASS_COMPUTE;
}

/* Marks the ends of a block.  The backward list may hold the nodes of W, too.
 */
static void mark_ends(const struct mtlm_stage *stage, enum mtlm_phase phase,
                      unsigned char *ends)
{
    const struct mtlm_list *const lists[] = {&stage->forward, &stage->backward,
                                             &stage->weight};
    int last = -1;

    for (int l = 0; l < 3; l++)
        for (int i = 0; i < lists[l]->n; i++) {
            const struct mtlm_node *node = lists[l]->node[i];

            if (node->phase != phase || !computes(node))
                continue;
            if (last < 0)
                ends[node->id] |= FIRST;
            last = node->id;
        }
    if (last >= 0)
        ends[last] |= LAST;
}

struct mtlm_policy_facts mtlm_policy_facts_create(
    const struct mtlm_program *program)
{
    const struct mtlm_layout *layout = &program->config.layout;
    struct mtlm_policy_facts facts = {.program = program};

    facts.ends = mtlm_calloc(program->graph->all.n, sizeof(*facts.ends));
    for (int c = 0; c < layout->virtual_stages; c++) {
        mark_ends(&program->stage[c], MTLM_PHASE_FORWARD, facts.ends);
        mark_ends(&program->stage[c], MTLM_PHASE_BACKWARD, facts.ends);
        mark_ends(&program->stage[c], MTLM_PHASE_WEIGHT, facts.ends);
    }
    return facts;
}

void mtlm_policy_facts_free(struct mtlm_policy_facts *facts)
{
    free(facts->ends);
}

/* ---- nodes ---- */

static enum mtlm_policy_kind kind_of(const struct mtlm_node *node)
{
    switch (mtlm_ops[node->call.kind]->op_class) {
    case MTLM_CLASS_P2P:
        return node->call.kind == MTLM_OP_SEND ? MTLM_POLICY_SEND
                                               : MTLM_POLICY_RECEIVE;
    case MTLM_CLASS_COLLECTIVE:
        return MTLM_POLICY_COLLECTIVE;
    case MTLM_CLASS_DISK:
        return node->call.kind == MTLM_OP_LOAD ? MTLM_POLICY_LOAD
                                               : MTLM_POLICY_STORE;
    default:
        return MTLM_POLICY_TASK;
    }
}

struct mtlm_policy_node mtlm_policy_facts_node(
    const struct mtlm_policy_facts *facts, const struct mtlm_node *node)
{
    const bool p2p = mtlm_ops[node->call.kind]->op_class == MTLM_CLASS_P2P;

    return (struct mtlm_policy_node){
        .kind = kind_of(node),
        .lane = node->lane,
        .phase = node->phase,
        .name = mtlm_ops[node->call.kind]->name,
        .stage = node->stage,
        .chunk = mtlm_layout_chunk(&facts->program->config.layout, node->stage),
        .layer = node->layer,
        .peer = p2p ? node->call.attr.p2p.peer : -1,
        .first = (facts->ends[node->id] & FIRST) != 0,
        .last = (facts->ends[node->id] & LAST) != 0,
        .order = -1,
        .flops = node->flops,
        .bytes = mtlm_node_bytes(node)};
}

/* ---- the job ---- */

struct mtlm_policy_job mtlm_policy_facts_job(const struct mtlm_program *program)
{
    const struct mtlm_layout *layout = &program->config.layout;

    return (struct mtlm_policy_job){.tensor = layout->tp,
                                    .pipeline = layout->pp,
                                    .data = layout->dp,
                                    .tensor_rank = layout->tp_rank,
                                    .pipeline_rank = layout->pp_rank,
                                    .data_rank = layout->dp_rank,
                                    .virtual_stages = layout->virtual_stages,
                                    .workers = layout->workers,
                                    .microbatches =
                                        (int) program->config.microbatches};
}

/* Counts the tasks of B or W, whose nodes may stand in one list. */
static int count_tasks(const struct mtlm_stage *stage, enum mtlm_phase phase)
{
    const struct mtlm_list *const lists[] = {&stage->backward, &stage->weight};
    int n = 0;

    for (int l = 0; l < 2; l++)
        for (int i = 0; i < lists[l]->n; i++) {
            const struct mtlm_node *node = lists[l]->node[i];
            const enum mtlm_op_class class =
                mtlm_ops[node->call.kind]->op_class;

            n += node->phase == phase
                 && (class == MTLM_CLASS_COMPUTE || class == MTLM_CLASS_HOST);
        }
    return n;
}

void mtlm_policy_facts_chunks(const struct mtlm_program *program,
                              struct mtlm_policy_job_chunk *chunk)
{
    const struct mtlm_layout *layout = &program->config.layout;

    for (int c = 0; c < layout->virtual_stages; c++) {
        const struct mtlm_stage *stage = &program->stage[c];
        const struct mtlm_window *window =
            &program->window[mtlm_layout_stage(layout, c)];

        chunk[c] = (struct mtlm_policy_job_chunk){
            .w = window->w,
            .q = window->q,
            .backward_tasks = count_tasks(stage, MTLM_PHASE_BACKWARD),
            .weight_tasks = count_tasks(stage, MTLM_PHASE_WEIGHT)};
    }
}

void mtlm_policy_facts_tell(const struct mtlm_program *program, int rank,
                            int workers)
{
    struct mtlm_policy_job job = mtlm_policy_facts_job(program);
    struct mtlm_policy_job_chunk *chunk =
        mtlm_calloc(job.virtual_stages, sizeof(*chunk));

    job.workers = workers;
    mtlm_policy_facts_chunks(program, chunk);
    mtlm_policy_job_set(rank, &job, chunk);
    free(chunk);
}
