/* Prints a prediction for people. */

#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "launch/options/options_schedule.h"
#include "launch/plan/layout_choice.h"
#include "launch/simulate/assumptions.h"
#include "launch/simulate/prediction_table.h"
#include "runtime/base/plural.h"
#include "runtime/base/units.h"

static void print_job(const struct mtlm_prediction *p,
                      const struct mtlm_options *o, FILE *out)
{
    const struct mtlm_layout *l = &p->layout;

    fprintf(out,
            "model            %s: %s, %" PRId64 " layer%s, hidden %" PRId64
            ", %.4g billion parameters\n",
            o->preset ? o->preset : "from the options",
            mtlm_model_family_name(o->model.family), o->model.num_layers,
            mtlm_plural(o->model.num_layers), o->model.hidden_size,
            1e-9 * mtlm_model_padded_parameters(&o->model, l->tp));
    fprintf(out,
            "layout           tensor %d x pipeline %d x data %d = %d rank%s, "
            "%d worker%s each\n",
            l->tp, l->pp, l->dp, p->ranks, mtlm_plural(p->ranks), l->workers,
            mtlm_plural(l->workers));
    if (mtlm_layout_stages(l) > 1) {
        char *stages = mtlm_layout_choice_stages_text(l, o->model.num_layers);

        fprintf(out, "stages           %s\n", stages);
        free(stages);
    }
    fprintf(out,
            "iteration        %" PRId64 " sample%s = %d x %" PRId64
            " microbatch%s of %" PRId64 " x %" PRId64 " tokens\n",
            o->global_batch_size, mtlm_plural(o->global_batch_size), l->dp,
            p->microbatches, mtlm_plural_es(p->microbatches), p->micro_batch,
            o->model.seq_length);
    fprintf(out, "schedule         %s\n\n", mtlm_options_schedule_name(o));
}

/* Says what StarPU's policy changes. */
static void print_engine(const struct mtlm_prediction *p, FILE *out)
{
    if (p->evaluated_s > 0)
        fprintf(out,
                "engine           StarPU in virtual time, policy %s: %+.2f %% "
                "beside the evaluator's %.6g s\n",
                p->policy, 100 * (p->iteration_s / p->evaluated_s - 1),
                p->evaluated_s);
}

static void print_rates(const struct mtlm_prediction *p, FILE *out)
{
    fprintf(out,
            "time             %.6g s an iteration: %.5g samples/s, %.5g "
            "tokens/s\n",
            p->iteration_s, p->samples_per_s, p->tokens_per_s);
    fprintf(out,
            "throughput       %.4g TFLOP/s per device, %.4g PFLOP/s in all; "
            "with recomputation %.4g and %.4g\n",
            1e-12 * p->model_flop_per_s, 1e-15 * p->ranks * p->model_flop_per_s,
            1e-12 * p->hardware_flop_per_s,
            1e-15 * p->ranks * p->hardware_flop_per_s);
    if (isnan(p->mfu))
        fprintf(out, "utilisation      unknown: the cluster file gives times "
                     "of stages, and no peak\n");
    else
        fprintf(out,
                "utilisation      MFU %.2f %%, HFU %.2f %% of %.4g TFLOP/s\n",
                100 * p->mfu, 100 * p->hfu, 1e-12 * p->peak_flop_per_s);
}

/* Says how near the iteration is to the time of its matrix products. */
static void print_floor(const struct mtlm_prediction *p, FILE *out)
{
    if (isnan(p->products_s))
        return;
    fprintf(out,
            "products         %.5g s of matrix products at the peak: %.1f %% "
            "of the iteration, the share of the GEMM floor\n",
            p->products_s, 100 * p->products_s / p->iteration_s);
}

static void print_disk(const struct mtlm_prediction *p, FILE *out)
{
    const struct mtlm_exposure *e = &p->exposure;

    fprintf(out,
            "disk             of that rank: %.2f GiB read, %.2f GiB written in "
            "%.5g s; %.1f %% of these beside computation\n"
            "                 idle during loads and stores: %.4g s, %.2f %% of "
            "the iteration\n",
            p->loaded_bytes / MTLM_GIB, p->stored_bytes / MTLM_GIB, e->moving_s,
            e->moving_s > 0 ? 100 * e->hidden_s / e->moving_s : 100, e->disk_s,
            100 * e->disk_s / p->iteration_s);
}

static void print_idle_time(const struct mtlm_prediction *p, FILE *out)
{
    static const char *const names[] = {
        [MTLM_TRAFFIC_TP] = "tensor-parallel",
        [MTLM_TRAFFIC_PP] = "pipeline",
        [MTLM_TRAFFIC_DP] = "data-parallel",
        [MTLM_TRAFFIC_EMBEDDING] = "tied embedding",
        [MTLM_TRAFFIC_OTHER] = "norm and flags"};

    fprintf(out,
            "bubble           %.2f %% of all ranks, %.2f %% of the busiest "
            "one (pipeline rank %d)\n"
            "exposed          of that rank, idle during messages:",
            100 * p->bubble, 100 * p->busiest_bubble, p->busiest);
    for (int kind = 0; kind < MTLM_TRAFFIC_COUNT; kind++)
        fprintf(out, "%s %s %.4g s", kind == 0 ? "\n                " : ",",
                names[kind], p->exposure.message_s[kind]);
    fprintf(out,
            "\nwaiting          %.4g s of that rank, idle without a message%s: "
            "for another rank's computation\n",
            p->exposure.waiting_s,
            mtlm_prediction_uses_disk(p) ? ", a load or a store" : "");
}

static void print_memory(const struct mtlm_prediction *p, FILE *out)
{
    fprintf(out, "memory           %.2f GiB on the fullest ",
            p->memory_bytes / MTLM_GIB);
    if (p->fullest < 0)
        fputs("host", out);
    else
        fprintf(out, "device (pipeline rank %d)", p->fullest);
    if (p->limit_bytes == 0)
        fprintf(out, "; the cluster file gives no memory_gb\n");
    else if (p->memory_bytes <= p->limit_bytes)
        fprintf(out, " of %.2f GiB\n", p->limit_bytes / MTLM_GIB);
    else
        fprintf(out, ", which has %.2f GiB: the job does not fit\n",
                p->limit_bytes / MTLM_GIB);
}

int mtlm_prediction_table_print(const struct mtlm_prediction *prediction,
                                const struct mtlm_shorter *shorter,
                                const struct mtlm_options *options, FILE *out,
                                struct mtlm_error *err)
{
    fprintf(out, "mtlm-dag %s: a simulation, nothing runs\n", PACKAGE_VERSION);
    if (options->notes)
        fprintf(out, "%s\n", options->notes);
    fputc('\n', out);
    print_job(prediction, options, out);
    print_engine(prediction, out);
    print_rates(prediction, out);
    print_idle_time(prediction, out);
    if (mtlm_prediction_uses_disk(prediction)) {
        print_disk(prediction, out);
        print_floor(prediction, out);
    }
    print_memory(prediction, out);
    mtlm_shorter_print(shorter, out);
    return mtlm_assumptions_print(prediction, options, out, err);
}
