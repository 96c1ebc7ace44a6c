/* Writes what a simulation found. */

#include "config.h"

#include <inttypes.h>

#include "launch/plan/step.h"
#include "launch/simulate/assumptions.h"
#include "launch/simulate/graph_out.h"
#include "launch/simulate/prediction_json.h"
#include "launch/simulate/simulate_trace.h"
#include "launch/simulate/simulate_write.h"

static int write_metrics(struct mtlm_simulate_outputs *outputs,
                         const struct mtlm_options *options,
                         const struct mtlm_choice *choice,
                         const struct mtlm_prediction *prediction,
                         struct mtlm_error *err)
{
    return mtlm_simulate_outputs_write_metrics(
        outputs, options,
        &(struct mtlm_metrics_about){
            .ranks = prediction->ranks,
            .tensor = choice->tp,
            .pipeline = choice->pp,
            .data = choice->dp,
            .parameters = mtlm_model_parameters(&options->model),
            .policy = prediction->policy,
            .simulation = mtlm_prediction_json(
                prediction, mtlm_assumptions_json(prediction, options))},
        err);
}

static int write_trace(struct mtlm_simulate_outputs *outputs,
                       const struct mtlm_options *options,
                       const struct mtlm_folded_run *run,
                       const struct mtlm_prediction *prediction,
                       struct mtlm_simulate_trace *trace,
                       struct mtlm_error *err)
{
    int rc;

    if (!options->trace_dir)
        return 0;
    mtlm_step_show("writing the trace");
    mtlm_simulate_outputs_begin_trace(outputs);
    rc = mtlm_simulate_trace(run, prediction, options, trace, err);
    mtlm_step_clear();
    return rc;
}

static int write_graph(const struct mtlm_options *options,
                       const struct mtlm_folded_run *run, FILE *out,
                       struct mtlm_error *err)
{
    if (!options->graph_out
        || mtlm_graph_out(run, options->graph_out, out, err) == 0)
        return 0;
    return options->trace_dir ? mtlm_error_prefix(err, "no trace is left in %s",
                                                  options->trace_dir)
                              : -1;
}

static void print_trace(const struct mtlm_options *options,
                        const struct mtlm_prediction *prediction,
                        const struct mtlm_simulate_trace *trace, FILE *out)
{
    if (options->trace_dir)
        fprintf(out,
                "\nTrace in %s: microbatches %" PRId64 " to %" PRId64
                " of %" PRId64 ", %" PRId64 " of %d nodes\n",
                options->trace_dir, trace->microbatches.first,
                trace->microbatches.last, prediction->microbatches,
                trace->nodes, prediction->nodes);
}

int mtlm_simulate_write(struct mtlm_simulate_outputs *outputs,
                        const struct mtlm_options *options,
                        const struct mtlm_choice *choice,
                        const struct mtlm_folded_run *run,
                        const struct mtlm_prediction *prediction, FILE *out,
                        struct mtlm_error *err)
{
    struct mtlm_simulate_trace trace;

    if (write_metrics(outputs, options, choice, prediction, err) < 0
        || write_trace(outputs, options, run, prediction, &trace, err) < 0
        || write_graph(options, run, out, err) < 0)
        return -1;
    print_trace(options, prediction, &trace, out);
    return 0;
}
