/* mtlm-report: prints the table of a traced run from its summary.json, several
 * runs side by side, and draws their schedules under one time axis.  With
 * --loss it prints and draws the losses of runs. */
#include "config.h"

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "launch/report/loss_picture.h"
#include "launch/report/losses.h"
#include "launch/report/traced_order.h"
#include "launch/tools/tool.h"
#include "launch/trace/export/export.h"
#include "launch/trace/read/compare.h"
#include "launch/trace/read/read.h"
#include "launch/trace/read/table.h"
#include "runtime/base/error.h"
#include "runtime/base/memory.h"
#include "runtime/base/standard_output.h"

const char *argp_program_version = "mtlm-report " PACKAGE_VERSION;

struct report_options {
    char **path; /* [n] directories of traces, or files of metrics */
    int n;
    bool loss;
    const char *svg;
    const char *order; /* file of --schedule-out, or NULL */
    bool detail;       /* --svg-detail was given */
    bool svg_ops;
};

enum { SVG = 256, SVG_DETAIL, LOSS, SCHEDULE_OUT };

static const struct argp_option option_list[] = {
    {"loss", LOSS, NULL, 0,
     "Print the losses of runs instead, a line for each METRICS, which "
     "mtlm-dag --metrics METRICS wrote",
     1},
    {"svg", SVG, "FILE", 0,
     "Draw the schedules of all DIRs to FILE, one above the other and under "
     "one time axis; with --loss the losses of all METRICS, over iterations",
     1},
    {"svg-detail", SVG_DETAIL, "box|op", 0,
     "Draw one box per class, microbatch and virtual stage (box, the default) "
     "or per operation (op)",
     1},
    {"schedule-out", SCHEDULE_OUT, "FILE", 0,
     "Write the order of F, B and W that the run of the one DIR had to FILE, "
     "in the CSV of torch.distributed.pipelining, as mtlm-dag --schedule-file "
     "reads it; a row per lane where ranks had several workers",
     1},
    {NULL, 0, NULL, 0, "Other:", -1},
    {NULL, 0, NULL, 0, NULL, 0},
};

static void set_detail(struct report_options *options, const char *arg,
                       struct argp_state *state)
{
    options->detail = true;
    options->svg_ops = strcmp(arg, "op") == 0;
    if (!options->svg_ops && strcmp(arg, "box"))
        argp_error(state, "--svg-detail takes box or op, not \"%s\"", arg);
}

static const char no_dir[] = "DIR is missing: the DIR of mtlm-dag --trace DIR";
static const char no_metrics[] =
    "METRICS is missing: the FILE of mtlm-dag --metrics FILE";

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct report_options *options = state->input;

    switch (key) {
    case LOSS:
        options->loss = true;
        break;
    case SVG:
        options->svg = arg;
        break;
    case SVG_DETAIL:
        set_detail(options, arg, state);
        break;
    case SCHEDULE_OUT:
        options->order = arg;
        break;
    case ARGP_KEY_ARGS:
        options->path = state->argv + state->next;
        options->n = state->argc - state->next;
        break;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "%s", options->loss ? no_metrics : no_dir);
        break;
    case ARGP_KEY_END:
        if (options->detail && (options->loss || !options->svg))
            argp_error(state, "--svg-detail is for the picture of --svg FILE "
                              "without --loss");
        if (options->order && (options->loss || options->n > 1))
            argp_error(state, "--schedule-out is for one DIR without --loss");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp parser = {
    .options = option_list,
    .parser = parse_option,
    .args_doc = "DIR...\n--loss METRICS...",
    .doc =
        "Reads traces that mtlm-dag --trace DIR wrote.  For one DIR it prints "
        "the table that ended the run: bubble, critical path, lower bound, "
        "time by class of operations, and what the workers of each rank "
        "waited for.  Several DIRs stand side by side, to compare schedules, "
        "policies or layouts.\n"
        "With --loss it reads files that mtlm-dag --metrics wrote, and prints "
        "the last losses of each run and its least validation loss.\v"
        "The numbers come from summary.json, the picture and the order from "
        "schedule.csv.\n\n"
        "Example, two policies on the same pipeline:\n\n"
        "  mtlm-run -n 4 mtlm-dag --model gpt-tiny \\\n"
        "    --pipeline-model-parallel-size 4 --trace prio\n"
        "  STARPU_SCHED=lws mtlm-run -n 4 mtlm-dag --model gpt-tiny \\\n"
        "    --pipeline-model-parallel-size 4 --trace lws\n"
        "  mtlm-report prio lws --svg both.svg\n\n"
        "The losses of two runs in one picture:\n\n"
        "  mtlm-report --loss small.jsonl large.jsonl --svg loss.svg\n\n"
        "Exit status: 0 done, 2 wrong option, 3 no trace, no metrics, or "
        "damaged ones, 4 the picture, the order or the table cannot be "
        "written, 6 not enough memory.",
};

static int draw_runs(const struct report_options *options,
                     struct mtlm_trace_run *run, struct mtlm_error *err)
{
    if (!options->svg)
        return 0;
    for (int i = 0; i < options->n; i++) {
        run[i].info.svg_ops = options->svg_ops;
        run[i].trace.next = i + 1 < options->n ? &run[i + 1].trace : NULL;
    }
    return mtlm_trace_export_pictures(options->svg, &run[0].trace, err);
}

static void print_runs(const struct report_options *options,
                       const struct mtlm_trace_run *run)
{
    if (options->n > 1) {
        mtlm_trace_print_comparison(stdout, run, options->n);
    } else {
        mtlm_trace_print_runs(stdout, run, 1);
        mtlm_trace_print_table(stdout, run[0].summary, &run[0].info);
    }
}

/* Whether both paths are names of one file. */
static bool is_same(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev
           && x.st_ino == y.st_ino;
}

/* Refuses an output that is one of the inputs. */
static int check_output(const struct report_options *options, const char *name,
                        const char *output, struct mtlm_error *err)
{
    static const char *const file[] = {"", "/schedule.csv", "/summary.json"};

    for (int i = 0; i < options->n && output; i++)
        for (int k = 0; k < 3; k++) {
            char *input = mtlm_sprintf("%s%s", options->path[i], file[k]);
            const bool same = is_same(input, output);

            free(input);
            if (same)
                return mtlm_error_set(err, MTLM_EXIT_USAGE,
                                      "--%s %s: the report reads this file; "
                                      "name another one",
                                      name, output);
        }
    return 0;
}

/* Refuses an order that would replace a file of the trace. */
static int check_order(const struct report_options *options,
                       struct mtlm_error *err)
{
    const char *name;

    for (size_t i = 0; (name = mtlm_trace_export_name(i)); i++) {
        char *file = mtlm_sprintf("%s/%s", options->path[0], name);
        const bool same = is_same(file, options->order);

        free(file);
        if (same)
            return mtlm_error_set(err, MTLM_EXIT_USAGE,
                                  "--schedule-out %s: this file is part of "
                                  "the trace; name another one",
                                  options->order);
    }
    if (options->svg
        && (strcmp(options->svg, options->order) == 0
            || is_same(options->svg, options->order)))
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--schedule-out %s: --svg names this file; name "
                              "another one",
                              options->order);
    return 0;
}

/* Refuses to replace what is no picture: FILE may have been forgotten. */
static int check_picture(const char *path, struct mtlm_error *err)
{
    struct stat there;
    FILE *file = NULL;
    int first = EOF;

    if (stat(path, &there) == 0 && S_ISREG(there.st_mode))
        file = fopen(path, "re");
    if (file) {
        first = getc(file);
        fclose(file);
    }
    if (first == EOF || first == '<')
        return 0;
    return mtlm_error_set(
        err, MTLM_EXIT_USAGE,
        "--svg %s: the file is there, and is no picture; name "
        "another one",
        path);
}

static int check_outputs(const struct report_options *options,
                         struct mtlm_error *err)
{
    if (check_output(options, "svg", options->svg, err) < 0
        || check_output(options, "schedule-out", options->order, err) < 0
        || (options->order && check_order(options, err) < 0))
        return -1;
    return options->svg ? check_picture(options->svg, err) : 0;
}

static int report_runs(const struct report_options *options,
                       struct mtlm_error *err)
{
    struct mtlm_trace_run *run = mtlm_calloc(options->n, sizeof(*run));
    int rc = 0;

    for (int i = 0; i < options->n && rc == 0; i++)
        rc = mtlm_trace_read(&run[i], options->path[i], err);
    for (int i = 0;
         i < options->n && rc == 0 && (options->svg || options->order); i++)
        rc = mtlm_trace_read_records(&run[i], err);
    if (rc == 0)
        rc = draw_runs(options, run, err);
    if (rc == 0 && options->order)
        rc = mtlm_traced_order_write(options->order, &run[0].info,
                                     run[0].record, run[0].n, err);
    if (rc == 0)
        print_runs(options, run);
    for (int i = 0; i < options->n; i++)
        mtlm_trace_run_free(&run[i]);
    free(run);
    return rc;
}

static int report_losses(const struct report_options *options,
                         struct mtlm_error *err)
{
    struct mtlm_losses *run = mtlm_calloc(options->n, sizeof(*run));
    int rc = 0;

    for (int i = 0; i < options->n && rc == 0; i++)
        rc = mtlm_losses_read(&run[i], options->path[i], err);
    if (rc == 0 && options->svg)
        rc = mtlm_loss_picture_write(options->svg, run, options->n, err);
    if (rc == 0)
        mtlm_losses_print(stdout, run, options->n);
    for (int i = 0; i < options->n; i++)
        mtlm_losses_free(&run[i]);
    free(run);
    return rc;
}

int main(int argc, char **argv)
{
    struct report_options options = {0};
    struct mtlm_error err;
    int rc;

    mtlm_standard_output_start();
    argp_err_exit_status = MTLM_EXIT_USAGE;
    argp_parse(&parser, argc, argv, 0, NULL, &options);
    mtlm_tool_start();
    rc = check_outputs(&options, &err);
    if (rc == 0)
        rc = (options.loss ? report_losses : report_runs)(&options, &err);
    return mtlm_tool_end(rc, &err);
}
