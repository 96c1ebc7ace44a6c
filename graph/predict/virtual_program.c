/* Turns an evaluation of programs into a job for mtlm-dag-sim, and times back
 * into an execution. */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "graph/build/policy_facts.h"
#include "graph/predict/virtual_order.h"
#include "graph/predict/virtual_program.h"
#include "graph/schedule/priority.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"

struct virtual_builder {
    const struct mtlm_evaluate_program *job;
    const struct mtlm_execution *run;
    struct mtlm_virtual_order order;
    struct mtlm_virtual_job *out;
    int64_t *number; /* [tasks] of the evaluation: index in the job */
    int64_t *node;   /* [run->n] of the evaluation: index in the job */
    int64_t *data;   /* [programs] first data of the program */
    int *times;      /* [programs] first number of the program's nodes */
    struct mtlm_policy_facts *facts; /* [programs] */
    /* [programs * iterations] of each collective, its place in the order of
     * the evaluation */
    int **planned;
};

/* ---- data ---- */

/* Counts nodes and data of all programs, and adds the data. */
static void add_programs(struct virtual_builder *b)
{
    struct mtlm_virtual_job *out = b->out;

    b->data = mtlm_calloc(b->job->n, sizeof(*b->data));
    b->times = mtlm_calloc(b->job->n, sizeof(*b->times));
    for (int p = 0; p < b->job->n; p++) {
        b->data[p] = out->n_data;
        b->times[p] = out->n_times;
        out->n_data += mtlm_dependencies_slots(b->order.dependencies[p]);
        out->n_times += b->job->program[p]->graph->all.n;
    }
    out->data_bytes = mtlm_calloc(out->n_data, sizeof(*out->data_bytes));
    for (int p = 0; p < b->job->n; p++) {
        const struct mtlm_graph *graph = b->job->program[p]->graph;

        for (int i = 0; i < graph->n_tensors; i++) {
            const struct mtlm_tensor *t = graph->tensor[i];

            for (int s = 0; mtlm_tensor_is_owner(t) && s < t->slots; s++)
                out->data_bytes[b->data[p]
                                + mtlm_dependencies_first_slot(
                                    b->order.dependencies[p], t)
                                + s] = mtlm_tensor_bytes(t);
        }
    }
}

static void add_uses(struct virtual_builder *b, const struct mtlm_executed *e,
                     struct mtlm_virtual_task *task)
{
    const struct mtlm_submission submission = mtlm_executed_at(e);
    const int n = mtlm_node_n_uses(e->node);

    for (int i = 0; i < n; i++) {
        const struct mtlm_use use = mtlm_node_use(e->node, i);
        const struct mtlm_slot at = mtlm_tensor_slot(
            use.tensor, mtlm_tensor_use(use.tensor, &submission));
        const int first = mtlm_dependencies_first_slot(
            b->order.dependencies[e->program], at.owner);

        b->out->use[b->out->n_uses++] = (struct mtlm_virtual_use){
            .data = (int32_t) (b->data[e->program] + first + at.slot),
            .read = use.access != MTLM_W,
            .write = use.access != MTLM_R};
        task->n_uses++;
    }
}

/* ---- ranks ---- */

static int *find_places_of(const struct virtual_builder *b, int program,
                           int iteration)
{
    int n;
    int *order = mtlm_execution_collectives(b->run, program, iteration, &n);
    int *place = mtlm_calloc(n, sizeof(*place));

    for (int i = 0; i < n; i++)
        place[order[i]] = i;
    free(order);
    return place;
}

/* Describes the ranks, and finds the order of their collectives. */
static void add_ranks(struct virtual_builder *b)
{
    const int n = b->job->n, iterations = b->job->iterations;
    const int v = b->job->program[0]->config.layout.virtual_stages;

    b->facts = mtlm_calloc(n, sizeof(*b->facts));
    b->planned = mtlm_calloc((size_t) n * iterations, sizeof(int *));
    b->out->about = mtlm_calloc(n, sizeof(*b->out->about));
    b->out->n_chunks = (int64_t) n * v;
    b->out->chunk = mtlm_calloc(b->out->n_chunks, sizeof(*b->out->chunk));
    for (int p = 0; p < n; p++) {
        const struct mtlm_program *program = b->job->program[p];

        b->facts[p] = mtlm_policy_facts_create(program);
        b->out->about[p] = mtlm_policy_facts_job(program);
        mtlm_policy_facts_chunks(program, &b->out->chunk[p * v]);
        for (int i = 0; i < iterations; i++)
            b->planned[p * iterations + i] = find_places_of(b, p, i);
    }
}

static void free_ranks(struct virtual_builder *b)
{
    for (int p = 0; p < b->job->n; p++)
        mtlm_policy_facts_free(&b->facts[p]);
    for (int i = 0; i < b->job->n * b->job->iterations; i++)
        free(b->planned[i]);
    free(b->facts);
    free(b->planned);
}

/* ---- nodes ---- */

static int priority_of(const struct virtual_builder *b,
                       const struct mtlm_executed *e)
{
    const struct mtlm_priority p =
        mtlm_program_priority(b->job->program[e->program]);

    return mtlm_priority_base(&p, e->iteration) + e->item->priority;
}

static struct mtlm_policy_node about(const struct virtual_builder *b,
                                     const struct mtlm_executed *e)
{
    struct mtlm_policy_node node =
        mtlm_policy_facts_node(&b->facts[e->program], e->node);

    node.iteration = e->iteration;
    node.microbatch = e->microbatch;
    node.microbatches = (int) b->job->program[e->program]->config.microbatches;
    node.priority = priority_of(b, e);
    node.rank = e->program;
    if (e->collective >= 0)
        node.order = b->planned[e->program * b->job->iterations + e->iteration]
                               [e->collective];
    return node;
}

static void add_node(struct virtual_builder *b, int node,
                     struct mtlm_virtual_task *task)
{
    const struct mtlm_executed *e = &b->run->node[node];
    struct mtlm_virtual_job *out = b->out;
    int n;
    const int *on = mtlm_virtual_order_edges(&b->order, node, &n);

    b->node[node] = out->n_nodes;
    out->node[out->n_nodes++] =
        (struct mtlm_virtual_node){.about = about(b, e),
                                   .task = b->number[e->task],
                                   .times = b->times[e->program] + e->node->id,
                                   .first_predecessor = out->n_predecessors,
                                   .n_predecessors = n};
    for (int k = 0; k < n; k++)
        out->predecessor[out->n_predecessors++] = b->node[on[k]];
    task->n_nodes++;
    task->n_predecessors += n;
    add_uses(b, e, task);
}

/* ---- tasks ---- */

/* Returns the node that decides where the task runs: the sender's, or that of
 * the first rank. */
static const struct mtlm_executed *decider_of(const struct virtual_builder *b,
                                              int task)
{
    const int *member = &b->order.member[b->order.first_member[task]];
    const int n = b->order.first_member[task + 1] - b->order.first_member[task];

    for (int i = 0; i < n; i++)
        if (b->run->node[member[i]].node->call.kind == MTLM_OP_SEND)
            return &b->run->node[member[i]];
    return &b->run->node[member[0]];
}

static void add_task(struct virtual_builder *b, int number)
{
    const int task = b->order.task[number];
    const struct mtlm_executed *e = decider_of(b, task);
    struct mtlm_virtual_task *to = &b->out->task[number];

    b->number[task] = number;
    *to = (struct mtlm_virtual_task){.duration_ns = e->end_ns - e->start_ns,
                                     .priority = priority_of(b, e),
                                     .rank = e->program,
                                     .lane = e->node->lane,
                                     .worker = e->item->lane,
                                     .name = e->node->call.kind,
                                     .first_use = b->out->n_uses,
                                     .first_node = b->out->n_nodes};
    for (int i = b->order.first_member[task];
         i < b->order.first_member[task + 1]; i++)
        add_node(b, b->order.member[i], to);
}

static void add_names(struct mtlm_virtual_job *out)
{
    out->n_names = MTLM_OP_COUNT;
    out->name = mtlm_calloc(out->n_names, sizeof(*out->name));
    for (int i = 0; i < MTLM_OP_COUNT; i++)
        snprintf(out->name[i], sizeof(out->name[i]), "%s", mtlm_ops[i]->name);
}

static int64_t count_uses(const struct mtlm_execution *run)
{
    int64_t n = 0;

    for (int i = 0; i < run->n; i++)
        n += mtlm_node_n_uses(run->node[i].node);
    return n;
}

struct mtlm_virtual_job mtlm_virtual_program_job(
    const struct mtlm_evaluate_program *job,
    const struct mtlm_execution *evaluated, int64_t *number)
{
    struct mtlm_virtual_job out = {.ranks = job->n,
                                   .workers =
                                       job->program[0]->config.layout.workers,
                                   .advice = {job->hold, job->leaves_backward}};
    struct virtual_builder b = {.job = job,
                                .run = evaluated,
                                .order =
                                    mtlm_virtual_order_create(job, evaluated),
                                .out = &out,
                                .number = number};

    b.node = mtlm_calloc(evaluated->n, sizeof(*b.node));
    out.n_tasks = b.order.tasks;
    out.task = mtlm_calloc(out.n_tasks, sizeof(*out.task));
    out.node = mtlm_calloc(evaluated->n, sizeof(*out.node));
    out.use = mtlm_calloc(count_uses(evaluated), sizeof(*out.use));
    out.predecessor =
        mtlm_calloc(b.order.first_edge[evaluated->n], sizeof(*out.predecessor));
    add_names(&out);
    add_programs(&b);
    add_ranks(&b);
    for (int i = 0; i < b.order.tasks; i++)
        add_task(&b, i);
    mtlm_virtual_order_free(&b.order);
    free_ranks(&b);
    free(b.node);
    free(b.data);
    free(b.times);
    return out;
}

/* ---- times ---- */

static const struct mtlm_virtual_time *ranked; /* of compare_starts() */

/* Of equal starts, the task that was submitted first: its successors start
 * later or at the same time. */
static int compare_starts(const void *a, const void *b)
{
    const int x = *(const int *) a, y = *(const int *) b;
    const int c = mtlm_compare(ranked[x].start_ns, ranked[y].start_ns);

    return c ? c : x - y;
}

/* Returns the place of each task in the order of starts. */
static int *find_places(const struct mtlm_virtual_time *time, int n)
{
    int *task = mtlm_calloc(n, sizeof(*task));
    int *place = mtlm_calloc(n, sizeof(*place));

    for (int i = 0; i < n; i++)
        task[i] = i;
    ranked = time;
    qsort(task, n, sizeof(*task), compare_starts);
    for (int i = 0; i < n; i++)
        place[task[i]] = i;
    free(task);
    return place;
}

static struct mtlm_execution execution_of(
    const struct mtlm_execution *evaluated,
    const struct mtlm_virtual_time *time, int64_t n_tasks,
    const int64_t *number)
{
    struct mtlm_execution run = {.n = evaluated->n};
    int *place = find_places(time, n_tasks);
    int64_t first = INT64_MAX, last = 0;

    run.node = mtlm_calloc(run.n, sizeof(*run.node));
    for (int64_t i = 0; i < n_tasks; i++)
        if (time[i].start_ns < first)
            first = time[i].start_ns;
    for (int i = 0; i < run.n; i++) {
        struct mtlm_executed *e = &run.node[i];

        *e = evaluated->node[i];
        e->place = place[number[e->task]];
        e->start_ns = time[number[e->task]].start_ns - first;
        e->end_ns = time[number[e->task]].end_ns - first;
        last = e->end_ns > last ? e->end_ns : last;
    }
    run.makespan_ns = last;
    mtlm_execution_sort(&run);
    free(place);
    return run;
}

int mtlm_virtual_program(const struct mtlm_evaluate_program *job,
                         const struct mtlm_execution *evaluated,
                         const struct mtlm_virtual_config *config,
                         struct mtlm_execution *run, char *policy,
                         struct mtlm_error *err)
{
    int64_t *number = mtlm_calloc(evaluated->n, sizeof(*number));
    struct mtlm_virtual_job out =
        mtlm_virtual_program_job(job, evaluated, number);
    struct mtlm_virtual_result result;
    const int rc = mtlm_virtual_run(&out, config, &result, err);

    if (rc == 0) {
        *run = execution_of(evaluated, result.task, out.n_tasks, number);
        snprintf(policy, sizeof(result.policy), "%s", result.policy);
        free(result.task);
    }
    mtlm_virtual_job_free(&out);
    free(number);
    return rc;
}
