/* --dry-run: prints model, layout and work of the job. */

#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "launch/plan/dry_run_job.h"
#include "launch/plan/layout_choice.h"
#include "runtime/base/plural.h"

static void print_model(const struct mtlm_dry_run_job *job, FILE *out)
{
    const struct mtlm_model *m = &job->options->model;
    const double padded = mtlm_model_padded_parameters(m, job->choice->tp);
    const double exact = mtlm_model_parameters(m);

    fprintf(out,
            "model            %s: %s, %" PRId64 " layer%s, hidden %" PRId64
            ", %" PRId64 " head%s, MLP %" PRId64 ", sequence %" PRId64 "%s%s\n",
            job->options->preset ? job->options->preset : "from the options",
            mtlm_model_family_name(m->family), m->num_layers,
            mtlm_plural(m->num_layers), m->hidden_size, m->num_heads,
            mtlm_plural(m->num_heads), m->ffn_hidden_size, m->seq_length,
            m->positions == MTLM_POSITIONS_ALIBI ? ", ALiBi" : "",
            m->embedding_layernorm ? ", embedding layernorm" : "");
    fprintf(out, "vocabulary       %" PRId64 " tokens, padded to %" PRId64 "\n",
            m->vocab_size, mtlm_model_padded_vocab(m, job->choice->tp));
    fprintf(out, "parameters       %.0f (%.*f B)", padded,
            padded < 1e11 ? 3 : 0, padded / 1e9);
    if (exact < padded)
        fprintf(out, ", %.0f without the padding of the vocabulary", exact);
    fputc('\n', out);
}

static void print_stages(const struct mtlm_dry_run_job *job, FILE *out)
{
    const struct mtlm_layout *layout = &job->outline->layout;
    char *stages;

    if (mtlm_layout_stages(layout) == 1)
        return;
    stages =
        mtlm_layout_choice_stages_text(layout, job->options->model.num_layers);
    fprintf(out, "stages           %s\n", stages);
    free(stages);
}

static void print_layout(const struct mtlm_dry_run_job *job, FILE *out)
{
    const struct mtlm_options *o = job->options;
    const int workers = job->wish->config.layout.workers;
    char replicas[32] = "";

    if (job->choice->dp > 1)
        snprintf(replicas, sizeof(replicas), "%d x ", job->choice->dp);
    fprintf(out,
            "layout           tensor %d x pipeline %d x data %d = %d "
            "rank%s%s, %d worker%s each\n",
            job->choice->tp, job->choice->pp, job->choice->dp,
            mtlm_layout_ranks(&job->outline->layout),
            mtlm_layout_ranks(&job->outline->layout) > 1 ? "s" : "",
            job->wish->layout_free ? " (chosen)" : "", workers,
            workers > 1 ? "s" : "");
    print_stages(job, out);
    if (o->bf16 || o->fp16)
        fprintf(out,
                "precision        %s weights and activations; fp32 gradients, "
                "moments and masters\n",
                o->bf16 ? "bf16" : "fp16");
    fprintf(out,
            "iteration        %" PRId64 " sample%s = %s%" PRId64
            " microbatch%s of %" PRId64 " x %" PRId64 " tokens\n",
            o->global_batch_size, mtlm_plural(o->global_batch_size), replicas,
            job->microbatches, mtlm_plural_es(job->microbatches),
            job->choice->micro_batch, o->model.seq_length);
}

static void print_work(const struct mtlm_dry_run_job *job, FILE *out)
{
    const struct mtlm_options *o = job->options;
    const double flops = mtlm_model_flops(&o->model, o->global_batch_size);
    double nodes = 0, again = 0, tasks = 0;

    for (int i = 0; i < job->choice->pp; i++) {
        const double ranks = (double) job->choice->tp * job->choice->dp;

        nodes += ranks * job->outline->plan[i].flops;
        again += ranks * job->outline->plan[i].recompute_flops;
        tasks = fmax(tasks, job->outline->plan[i].tasks);
    }
    if (o->eval_only) {
        fprintf(out,
                "nodes            %.0f per batch on the busiest rank; all "
                "ranks' are %.4g FLOPs\n",
                tasks, nodes);
        return;
    }
    fprintf(out, "model FLOPs      %.4g per iteration, %s%s\n", flops,
            o->model.ffn_hidden_size == 4 * o->model.hidden_size
                ? "72 B s l h^2 (1 + s/6h + V/12lh)"
                : "6 B s h (l (4h + 2f + 2s) + V)",
            o->model.family == MTLM_BERT ? " + 6 B s h^2" : "");
    fprintf(out, "hardware FLOPs   %.4g per iteration: ", flops + again);
    if (again > 0)
        fprintf(out, "%.4g of them again, by recomputation\n", again);
    else
        fprintf(out, "nothing is computed twice\n");
    fprintf(out,
            "nodes            %.0f per iteration on the busiest rank; all "
            "ranks' are %.4g FLOPs,\n"
            "                 elementwise operations and padding included\n",
            tasks, nodes);
}

void mtlm_dry_run_job(const struct mtlm_dry_run_job *job, FILE *out)
{
    print_model(job, out);
    print_layout(job, out);
    print_work(job, out);
}
