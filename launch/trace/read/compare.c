/* Prints several runs side by side: a table of lines, each with a function for
 * its number. */
#include "config.h"

#include <stddef.h>

#include "launch/trace/read/compare.h"
#include "runtime/base/plural.h"

enum { A_LINE = 5 /* runs side by side in a table */, CAUSES = 3 };

static double windows(const struct mtlm_trace_summary *s)
{
    return s->windows ? s->windows : 1;
}

/* ---- numbers; negative: unknown ---- */

typedef double number(const struct mtlm_trace_summary *s);

static double iteration(const struct mtlm_trace_summary *s)
{
    return s->makespan_ns / 1e6;
}

static double bubble(const struct mtlm_trace_summary *s)
{
    return 100 * s->bubble;
}

static double bubble_of_ideal(const struct mtlm_trace_summary *s)
{
    return 100 * s->bubble_of_ideal;
}

static double bubble_of_span(const struct mtlm_trace_summary *s)
{
    return s->span_ns ? 100 * s->span_bubble : -1;
}

static double overlap(const struct mtlm_trace_summary *s)
{
    return s->overlap < 0 ? -1 : 100 * s->overlap;
}

static double path(const struct mtlm_trace_summary *s)
{
    return s->path_ns < 0 ? -1 : s->path_ns / 1e6;
}

static double path_messages(const struct mtlm_trace_summary *s)
{
    return s->path_comm_ns < 0 ? -1 : s->path_comm_ns / 1e6;
}

static double work(const struct mtlm_trace_summary *s)
{
    return s->work_ns / 1e6;
}

static double bound(const struct mtlm_trace_summary *s)
{
    return s->bound_ns < 0 ? -1 : s->bound_ns / 1e6;
}

static double over_bound(const struct mtlm_trace_summary *s)
{
    return s->bound_ns > 0 ? (double) s->makespan_ns / s->bound_ns : -1;
}

/* Returns ms per iteration, over all ranks. */
static double class_ms(const struct mtlm_trace_summary *s,
                       enum mtlm_trace_class class)
{
    return s->class[class].ns / windows(s) / 1e6;
}

static double forward(const struct mtlm_trace_summary *s)
{
    return class_ms(s, MTLM_TRACE_F);
}

static double backward(const struct mtlm_trace_summary *s)
{
    return class_ms(s, MTLM_TRACE_B);
}

static double weight(const struct mtlm_trace_summary *s)
{
    return class_ms(s, MTLM_TRACE_W);
}

static double optimizer(const struct mtlm_trace_summary *s)
{
    return class_ms(s, MTLM_TRACE_OPT);
}

static double communication(const struct mtlm_trace_summary *s)
{
    return s->comm_ns / windows(s) / 1e6;
}

/* Returns the member's share of the workers' time. */
static double share(const struct mtlm_trace_summary *s, size_t member)
{
    double ns = 0, room = 0;

    for (size_t i = 0; i < s->n_accounts; i++) {
        ns += *(const int64_t *) ((const char *) &s->account[i] + member);
        room += s->account[i].window_ns;
    }
    return room > 0 ? 100 * ns / room : -1;
}

static double wait_data(const struct mtlm_trace_summary *s)
{
    return share(s, offsetof(struct mtlm_trace_account, data_ns));
}

static double wait_communication(const struct mtlm_trace_summary *s)
{
    return share(s, offsetof(struct mtlm_trace_account, comm_ns));
}

static double wait_runtime(const struct mtlm_trace_summary *s)
{
    return share(s, offsetof(struct mtlm_trace_account, runtime_ns));
}

static double wait_nothing(const struct mtlm_trace_summary *s)
{
    return share(s, offsetof(struct mtlm_trace_account, end_ns));
}

static const struct {
    const char *what, *unit;
    int decimals;
    number *of;
} lines[] = {
    {"iteration", "ms", 1, iteration},
    {"bubble, of the iteration", "%", 1, bubble},
    {"  of the ideal time", "%", 1, bubble_of_ideal},
    {"  of the stage's span", "%", 1, bubble_of_span},
    {"communication overlapped", "%", 0, overlap},
    {"critical path", "ms", 1, path},
    {"  of it messages", "ms", 1, path_messages},
    {"most work of a rank", "ms", 1, work},
    {"lower bound", "ms", 1, bound},
    {"iteration / lower bound", "", 3, over_bound},
    {"all ranks: F", "ms", 1, forward},
    {"           B", "ms", 1, backward},
    {"           W", "ms", 1, weight},
    {"           optimizer", "ms", 1, optimizer},
    {"           messages under way", "ms", 1, communication},
    {"workers waited for data", "%", 1, wait_data},
    {"  for communication", "%", 1, wait_communication},
    {"  for the runtime", "%", 1, wait_runtime},
    {"  had nothing left to do", "%", 1, wait_nothing},
};

/* ---- text ---- */

static const char *or_unknown(const char *text)
{
    return text ? text : "unknown";
}

void mtlm_trace_print_runs(FILE *out, const struct mtlm_trace_run *run, int n)
{
    for (int i = 0; i < n; i++) {
        const struct mtlm_trace_info *info = &run[i].info;

        fprintf(out,
                "[%d] %s: %s, %s, schedule %s, policy %s, %d microbatch%s, "
                "iterations %d to %d\n",
                i + 1, run[i].dir, or_unknown(info->model),
                or_unknown(info->layout), or_unknown(info->schedule),
                or_unknown(info->policy), info->microbatches,
                mtlm_plural_es(info->microbatches),
                run[i].summary->first_iteration + 1,
                run[i].summary->last_iteration + 1);
    }
}

static void print_lines(FILE *out, const struct mtlm_trace_run *run, int first,
                        int end)
{
    fprintf(out, "\n%-32s", "");
    for (int i = first; i < end; i++)
        fprintf(out, " %9s[%d]", "", i + 1);
    putc('\n', out);
    for (size_t k = 0; k < sizeof(lines) / sizeof(lines[0]); k++) {
        fprintf(out, "%-29s %2s", lines[k].what, lines[k].unit);
        for (int i = first; i < end; i++) {
            const double value = lines[k].of(run[i].summary);

            if (value < 0)
                fprintf(out, " %12s", "-");
            else
                fprintf(out, " %12.*f", lines[k].decimals, value);
        }
        putc('\n', out);
    }
}

static void print_causes(FILE *out, const struct mtlm_trace_run *run, int n)
{
    fprintf(out, "\nMost of the waiting:\n");
    for (int i = 0; i < n; i++)
        for (size_t k = 0; k < run[i].summary->n_waits && k < CAUSES; k++)
            fprintf(out, "[%d] %s\n", i + 1, run[i].summary->wait[k].text);
}

void mtlm_trace_print_comparison(FILE *out, const struct mtlm_trace_run *run,
                                 int n)
{
    mtlm_trace_print_runs(out, run, n);
    for (int first = 0; first < n; first += A_LINE)
        print_lines(out, run, first, n < first + A_LINE ? n : first + A_LINE);
    print_causes(out, run, n);
}
