/* Prints the assumptions of a prediction: a name in a column, and a sentence.
 */

#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/predict/profile.h"
#include "launch/options/options_simulate.h"
#include "launch/simulate/assumed_keys.h"
#include "launch/simulate/assumptions.h"
#include "runtime/base/plural.h"
#include "runtime/base/text.h"
#include "runtime/machine/machine.h"

/* Columns of names and of sentences. */
enum { INDENT = 2, COLUMN = 17 };

static void print_folding(const struct mtlm_prediction *p, FILE *out)
{
    fprintf(out,
            "  folding        %d of %d rank%s %s evaluated: the first of each "
            "tensor-parallel group, in one replica%s\n",
            p->folded, p->ranks, mtlm_plural(p->ranks),
            p->folded == 1 ? "is" : "are",
            p->exact ? "" : "; the others lie unlike on the hosts");
}

/* Says on how many hosts the ranks are where the file does not. */
static void print_hosts(const struct mtlm_prediction *p, FILE *out)
{
    if (p->ranks == 1 || p->hosts > 0)
        return;
    if (p->devices == 0)
        fprintf(out,
                "  hosts          one: the file has no section [network]\n");
    else if (p->ranks > p->devices)
        fprintf(out,
                "  hosts          %" PRId64 ", which the ranks fill: the file "
                "does not say how many there are\n",
                (p->ranks + p->devices - 1) / p->devices);
}

static void print_order(const struct mtlm_prediction *p,
                        const struct mtlm_options *options, FILE *out)
{
    const bool mtlm = strcmp(p->policy, "mtlm") == 0;

    if (options->profile)
        fprintf(out, "  code           %s: %s%s%s\n", options->profile->source,
                p->timed ? "the times of the file instead of its kernels"
                         : "its kernels",
                options->ours & MTLM_OURS_RECOMPUTE ? ", our recomputation"
                                                    : "",
                options->ours & MTLM_OURS_OVERLAP
                    ? ", our order"
                    : ", and one thing after another in the order of its "
                      "schedule");
    if (mtlm_options_published_order(options))
        return;
    if (p->evaluated_s > 0)
        fprintf(out,
                "  policy         %s of StarPU, which also orders a rank's "
                "messages: one at a time of each kind\n",
                p->policy);
    else if (mtlm)
        fprintf(out,
                "  policy         mtlm: workers wait up to %g of a task for "
                "one of higher priority\n",
                p->hold);
    else if (strcmp(p->policy, MTLM_DEFAULT_POLICY) == 0)
        fprintf(out, "  policy         prio: the ready node of highest "
                     "priority starts\n");
    else
        fprintf(out,
                "  policy         prio stands for STARPU_SCHED=%s; "
                "--simulate-engine starpu runs it\n",
                p->policy);
}

/* Says which noise counts: of draws, and of a file. */
static void print_noise(const struct mtlm_options *options, FILE *out)
{
    struct mtlm_noise drawn = options->jitter;
    const bool table = drawn.table != NULL;

    if (!mtlm_noise_is_any(&options->jitter))
        return;
    drawn.table = NULL;
    fputs("  noise          ", out);
    if (mtlm_noise_is_any(&drawn))
        fprintf(out, "one draw, by --seed %" PRId64 "%s", options->seed,
                table ? ", and " : "");
    if (table)
        fprintf(out, "iteration 0 of %s", options->jitter_file);
    fputs("; a pass takes as long as on its slowest tensor-parallel rank, the "
          "iteration as in its slowest replica; a search for a layout has no "
          "noise\n",
          out);
}

/* Says which attention counts. */
static void print_attention(const struct mtlm_prediction *p,
                            const struct mtlm_options *options, FILE *out)
{
    const bool writes = options->attention_backend == MTLM_ATTENTION_UNFUSED
                        || options->attention_backend == MTLM_ATTENTION_LOCAL;

    if (!options->profile && !p->timed)
        fprintf(out, "  attention      %s\n",
                writes ? "scores are written and read (--attention-backend); "
                         "the memory has none of them"
                       : "kernels that keep no scores; --attention-backend "
                         "unfused counts their traffic");
}

static int print_numbers(const struct mtlm_options *options, FILE *out,
                         struct mtlm_error *err)
{
    static const char *const words[] = {"assumed", "fitted"};

    for (int i = 0; i < 2; i++) {
        char *keys = mtlm_assumed_keys(options->simulate_file, words[i], err);

        if (!keys)
            return -1;
        if (i == 0 || *keys)
            fprintf(out, "  %-14s in %s: %s\n", words[i],
                    options->simulate_file, *keys ? keys : "no number");
        free(keys);
    }
    return 0;
}

/* Says the formulas of published code. */
static void print_memory(const struct mtlm_prediction *p,
                         const struct mtlm_options *options, FILE *out)
{
    const struct mtlm_recompute *r = &options->recompute;
    const bool full = r->granularity == MTLM_RECOMPUTE_FULL;
    const bool block = full && r->method == MTLM_RECOMPUTE_BLOCK;
    const bool groups = full && !block && r->num_layers > 1;

    if (!p->kept)
        return;
    fprintf(out,
            "  memory         the code's: %g bytes a parameter, and %s bytes "
            "of ",
            p->parameter_bytes, p->kept);
    if (block)
        fprintf(out,
                "a recomputed layer (the first %" PRId64
                " of each virtual stage) and %s of another",
                r->num_layers, p->kept_whole);
    else if (groups)
        fprintf(out, "each group of %" PRId64 " layers", r->num_layers);
    else
        fputs("a layer", out);
    fprintf(out, " for each microbatch in flight, by arXiv 2205.05198%s\n",
            r->granularity == MTLM_RECOMPUTE_SELECTIVE
                ? "; the scores of one layer are made again"
            : groups ? "; one group is made again"
            : full   ? "; one layer is made again"
                     : "");
}

static int print_lines(const struct mtlm_prediction *prediction,
                       const struct mtlm_options *options, FILE *out,
                       struct mtlm_error *err)
{
    print_folding(prediction, out);
    print_hosts(prediction, out);
    print_order(prediction, options, out);
    print_noise(options, out);
    print_attention(prediction, options, out);
    if (print_numbers(options, out, err) < 0)
        return -1;
    print_memory(prediction, options, out);
    if (prediction->narrow_bytes > 0)
        fprintf(out,
                "  precision      fp32, but the file counts elements of %g "
                "bytes, at its rates for them; --fp16 or --bf16 says so\n",
                prediction->narrow_bytes);
    fprintf(out,
            "  iteration      the first one, from an idle machine to the last "
            "optimizer node\n"
            "  messages       at the rates of the file; collectives of a %s "
            "take turns, no others slow each other; overlap_tax slows kernels "
            "beside them\n"
            "%s"
            "  not modelled   the runtime's own time, data input, validation, "
            "checkpoints, %sfaults\n",
            options->transport == MTLM_USE_SERIAL ? "rank" : "kind",
            mtlm_prediction_uses_disk(prediction)
                ? "  disk           one load or store of a host at a time, at "
                  "the rates of the file; checksums and the cores that the "
                  "disk's threads take are left out\n"
                : "",
            mtlm_noise_is_any(&options->jitter) ? "" : "jitter, ");
    return 0;
}

int mtlm_assumptions_print(const struct mtlm_prediction *prediction,
                           const struct mtlm_options *options, FILE *out,
                           struct mtlm_error *err)
{
    fprintf(out, "\nAssumptions\n");
    return print_lines(prediction, options, out, err);
}

json_t *mtlm_assumptions_json(const struct mtlm_prediction *prediction,
                              const struct mtlm_options *options)
{
    json_t *all = json_object();
    struct mtlm_error ignored;
    struct mtlm_text lines;
    char *text, *rest;

    print_lines(prediction, options, mtlm_text_open(&lines), &ignored);
    text = rest = mtlm_text_close(&lines);
    for (char *line; (line = strsep(&rest, "\n")) && *line;) {
        char *name = line + INDENT, *what = line + COLUMN;

        while (what > name && what[-1] == ' ')
            *--what = '\0';
        json_object_set_new(all, name, json_string(line + COLUMN));
    }
    free(text);
    return all;
}
