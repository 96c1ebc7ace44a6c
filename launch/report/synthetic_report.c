/* Compares a synthetic run with the evaluator's prediction. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/build/program_build.h"
#include "graph/predict/evaluate_program.h"
#include "graph/predict/hold.h"
#include "graph/predict/late.h"
#include "launch/job/job_synthetic.h"
#include "launch/report/evaluated_records.h"
#include "launch/report/message_times.h"
#include "launch/report/synthetic_report.h"
#include "launch/trace/summarize.h"
#include "runtime/base/standard_output.h"
#include "runtime/machine/machine.h"
#include "runtime/machine/plugin.h"

/* Maximum number of evaluated iterations; draws of the times of messages, of at
 * most so many nodes. */
enum { MANY_ITERATIONS = 8, DRAWS = 8, DRAWS_NODES = 100000 };

struct evaluation {
    const struct mtlm_job *job;
    const struct mtlm_message_times *times;
    struct mtlm_program **program; /* [ranks] */
    struct mtlm_synthetic *rank;   /* [ranks] */
    int ranks;
    double more_s; /* seconds: measured minus modelled time of a collective */
    int draw;      /* of the times of messages, from 1; 0: means */
    int64_t later; /* number in the run of evaluated iteration 0: noise differs
                    * by iteration */
};

/* Returns the share of a message's mean time, of a random message of the run.
 * Iterations are alike. */
static double drawn_share(const struct evaluation *e, int rank,
                          const struct mtlm_item *item)
{
    const struct mtlm_message_times *times = e->times;
    const double at = mtlm_late_share(rank * (DRAWS + 1) + e->draw,
                                      item->node->id, item->microbatch);

    return e->draw == 0 ? 1 : times->share[(int) (at * times->shares)];
}

/* Returns the modelled time of a task, or the measured time of a message. */
static double item_seconds(void *arg, const struct mtlm_program *program,
                           const struct mtlm_item *item, int iteration)
{
    const struct evaluation *e = arg;
    const int rank = mtlm_layout_rank(&program->config.layout);
    const double modelled =
        1e-9 * mtlm_synthetic_ns(&e->rank[rank], item, iteration + e->later);
    double hop;

    switch (mtlm_ops[item->node->call.kind]->op_class) {
    case MTLM_CLASS_P2P:
        hop = e->times->hop_s[rank * e->ranks + item->node->call.attr.p2p.peer];
        return hop < 0 ? modelled : hop * drawn_share(e, rank, item);
    case MTLM_CLASS_COLLECTIVE:
        return modelled + e->more_s;
    default:
        return modelled;
    }
}

/* Returns the mean modelled time of the tensor-parallel collectives of all
 * groups: those of the last stage have small messages more. */
static double modelled_tp(const struct evaluation *e)
{
    double sum = 0, n = 0;

    for (int r = 0; r < e->ranks; r += e->job->layout.tp) {
        const struct mtlm_items *items = &e->program[r]->train;

        for (int i = 0; i < items->n; i++)
            if (items->item[i].node->lane == MTLM_LANE_TP) {
                sum +=
                    1e-9 * mtlm_synthetic_ns(&e->rank[r], &items->item[i], 0);
                n++;
            }
    }
    return n > 0 ? sum / n : 0;
}

static void evaluation_create(struct evaluation *e)
{
    const struct mtlm_job *job = e->job;

    e->ranks = mtlm_layout_ranks(&job->layout);
    e->program = mtlm_calloc(e->ranks, sizeof(struct mtlm_program *));
    e->rank = mtlm_calloc(e->ranks, sizeof(*e->rank));
    for (int r = 0; r < e->ranks; r++) {
        struct mtlm_program_config config = job->program->config;

        mtlm_layout_place(&config.layout, r);
        e->program[r] = mtlm_program_build(&config);
        e->rank[r] = mtlm_job_synthetic_of_rank(job, e->program[r], r);
    }
    if (e->times->tp_s >= 0)
        e->more_s = fmax(0, e->times->tp_s - modelled_tp(e));
    else if (e->times->mean_hop_s >= 0)
        e->more_s = e->times->mean_hop_s;
}

static void evaluation_destroy(struct evaluation *e)
{
    for (int r = 0; r < e->ranks; r++)
        mtlm_program_destroy(e->program[r]);
    free(e->program);
    free(e->rank);
}

/* Returns the share of a task that the workers of the run wait for others. */
static double hold_of(const struct evaluation *e)
{
    if (strcmp(mtlm_machine_policy(), MTLM_HOLD_POLICY) != 0
        || !mtlm_plugin_may_hold())
        return 0;
    return e->job->layout.pp > 1 ? mtlm_policy_advice().share
                                 : mtlm_hold_alone(&e->program[0]->config);
}

static struct mtlm_trace_summary *evaluate_run(
    struct evaluation *e, const struct mtlm_trace_info *info, int first,
    int last)
{
    const struct mtlm_evaluate_program job = {
        .program = (const struct mtlm_program *const *) e->program,
        .n = e->ranks,
        .iterations = last + 1,
        .seconds = item_seconds,
        .arg = e,
        .turns = e->job->options.transport == MTLM_USE_SERIAL ? MTLM_TURNS_ALL
                                                              : MTLM_TURNS_LANE,
        .first_come = true,
        .hold = hold_of(e),
        .leaves_backward = mtlm_policy_advice().leaves_backward};
    struct mtlm_execution run = mtlm_evaluate_program(&job);
    size_t n;
    struct mtlm_record *records = mtlm_evaluated_records_list(
        &run, e->ranks, e->job->layout.workers, first, last, &n);
    struct mtlm_trace_summary *summary = mtlm_trace_summarize(records, n, info);

    free(records);
    mtlm_execution_free(&run);
    return summary;
}

/* Returns the nodes of an iteration. */
static int64_t nodes_of(const struct evaluation *e)
{
    int64_t nodes = 0;

    for (int r = 0; r < e->ranks; r++)
        nodes += e->program[r]->train.n;
    return nodes;
}

/* Prints what the iteration takes if messages change places.  Which message is
 * first decides what a rank runs, so makespans jump. */
static void print_draws(struct evaluation *e,
                        const struct mtlm_trace_info *info, int first, int last)
{
    double least = INFINITY, most = 0;

    if (e->times->shares == 0 || (last + 1) * nodes_of(e) > DRAWS_NODES)
        return;
    for (e->draw = 1; e->draw <= DRAWS; e->draw++) {
        struct mtlm_trace_summary *s = evaluate_run(e, info, first, last);

        least = fmin(least, s->makespan_ns);
        most = fmax(most, s->makespan_ns);
        mtlm_trace_summary_destroy(s);
    }
    e->draw = 0;
    printf("Drawn %d times from the times of messages: %.1f to %.1f ms an "
           "iteration.\n",
           DRAWS, least / 1e6, most / 1e6);
}

/* Work of all ranks per window. */
static double busy_ns(const struct mtlm_trace_summary *s)
{
    double busy = 0;

    for (int r = 0; r < s->ranks; r++)
        busy += s->rank[r].busy_ns;
    return busy / (s->windows > 0 ? s->windows : 1);
}

static void print_report(const struct mtlm_message_times *times,
                         const struct mtlm_trace_summary *measured,
                         const struct mtlm_trace_summary *evaluated,
                         double stretch)
{
    const double more =
        100.0 * measured->makespan_ns / evaluated->makespan_ns - 100;

    printf("Predicted: %.1f ms an iteration, bubble %.1f %%",
           evaluated->makespan_ns / 1e6, 100 * evaluated->bubble);
    if (evaluated->overlap >= 0)
        printf(", %.0f %% of the communication under computation",
               100 * evaluated->overlap);
    if (times->mean_hop_s >= 0)
        printf(", with %.3f ms per hop as measured", 1e3 * times->mean_hop_s);
    if (times->tp_s >= 0)
        printf(", %.3f ms per tensor-parallel collective", 1e3 * times->tp_s);
    printf(".\n");
    if (stretch != 1)
        printf("Unstretched: %.4g ms an iteration, predicted %.4g ms.\n",
               measured->makespan_ns / 1e6 / stretch,
               evaluated->makespan_ns / 1e6 / stretch);
    printf("Measured %.1f %% %s than predicted (tasks %+.1f %%).\n", fabs(more),
           more < 0 ? "faster" : "slower",
           100 * busy_ns(measured) / busy_ns(evaluated) - 100);
}

/* Prints which iterations were evaluated, if these are not all. */
static void print_iterations(const struct mtlm_trace_summary *measured,
                             int evaluated)
{
    const int all = measured->last_iteration - measured->first_iteration + 1;

    if (evaluated < all)
        printf("The prediction has the noise of the first %d of %d traced "
               "iterations.\n",
               evaluated, all);
}

void mtlm_synthetic_report(const struct mtlm_job *job,
                           const struct mtlm_record *records, size_t n,
                           const struct mtlm_trace_info *info,
                           const struct mtlm_trace_summary *measured)
{
    struct mtlm_message_times times = mtlm_message_times_create(
        records, n, &job->layout, job->options.transport == MTLM_USE_SERIAL);
    struct evaluation e = {.job = job, .times = &times};
    struct mtlm_trace_summary *evaluated;
    int first = measured->first_iteration, last = measured->last_iteration;

    /* Iterations differ by noise only. */
    if (last >= MANY_ITERATIONS) {
        first = first > 0 ? 1 : 0;
        last = first + measured->last_iteration - measured->first_iteration;
        last = last < MANY_ITERATIONS ? last : MANY_ITERATIONS - 1;
    }
    e.later = measured->first_iteration - first;
    evaluation_create(&e);
    evaluated = evaluate_run(&e, info, first, last);
    print_report(&times, measured, evaluated, job->options.stretch);
    if (mtlm_noise_is_any(&job->options.jitter))
        print_iterations(measured, last - first + 1);
    print_draws(&e, info, first, last);
    mtlm_standard_output_flush();
    mtlm_trace_summary_destroy(evaluated);
    evaluation_destroy(&e);
    mtlm_message_times_destroy(&times);
}
