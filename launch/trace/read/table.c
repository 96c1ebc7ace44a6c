/* Prints the summary as a table on the terminal. */
#include "config.h"

#include <stdlib.h>

#include "launch/trace/read/table.h"
#include "runtime/base/memory.h"

enum {
    CAUSES = 3,     /* causes of idle time to print */
    ALL_RANKS = 16, /* ranks up to which each has a line */
    LEAST = 4,      /* of more ranks: this many with the smallest bubbles */
    MOST = 8        /* and this many with the largest */
};

static void print_headline(FILE *out, const struct mtlm_trace_summary *s,
                           const struct mtlm_trace_info *info)
{
    fprintf(out,
            "\nSchedule of iterations %d to %d: %.1f ms an iteration, bubble "
            "%.1f %%",
            s->first_iteration + 1, s->last_iteration + 1, s->makespan_ns / 1e6,
            100 * s->bubble);
    if (info->stages > 1)
        fprintf(out, " (%s1F1B with equal stages: %.1f %%)",
                info->virtual_stages > 1 ? "interleaved " : "",
                100 * s->ideal_1f1b);
    if (s->overlap >= 0)
        fprintf(out, ", %.0f %% of the communication under computation",
                100 * s->overlap);
    putc('\n', out);
}

static void print_causes(FILE *out, const struct mtlm_trace_summary *s)
{
    for (size_t i = 0, shown = 0; i < s->n_waits && shown < CAUSES; i++) {
        if (s->wait[i].share < 0.001)
            continue;
        fprintf(out, "  %s\n", s->wait[i].text);
        shown++;
    }
}

static void print_bubbles(FILE *out, const struct mtlm_trace_summary *s,
                          const struct mtlm_trace_info *info)
{
    const int v = mtlm_trace_chunks(info);

    fprintf(out,
            "  bubble         %.1f %% of the iteration; %.1f %% of the ideal "
            "time",
            100 * s->bubble, 100 * s->bubble_of_ideal);
    if (info->stages > 1 && info->microbatches > 0)
        fprintf(out, " (%s: %.1f %%)", v > 1 ? "(p-1)/(v m)" : "(p-1)/m",
                100. * (info->stages - 1) / ((double) v * info->microbatches));
    if (s->span_ns)
        fprintf(out,
                ";\n                 %.1f %% of the longest stage's span "
                "of %.1f ms, optimizer left out",
                100 * s->span_bubble, s->span_ns / 1e6);
    putc('\n', out);
}

static void print_bounds(FILE *out, const struct mtlm_trace_summary *s)
{
    if (s->path_ns >= 0)
        fprintf(out, "  critical path  %.1f ms, %.1f of them messages\n",
                s->path_ns / 1e6, s->path_comm_ns / 1e6);
    if (s->bound_ns > 0)
        fprintf(out,
                "  lower bound    %.1f ms (most work of a rank: %.1f ms a "
                "worker); the iteration took %.2f times that\n",
                s->bound_ns / 1e6, s->work_ns / 1e6,
                (double) s->makespan_ns / s->bound_ns);
    else
        fprintf(out, "  most work      %.1f ms a worker of a rank\n",
                s->work_ns / 1e6);
}

static void print_classes(FILE *out, const struct mtlm_trace_summary *s)
{
    static const char *const meaning[] = {
        [MTLM_TRACE_F] = "F forward",
        [MTLM_TRACE_B] = "B gradients of activations",
        [MTLM_TRACE_W] = "W gradients of weights",
        [MTLM_TRACE_OPT] = "optimizer",
        [MTLM_TRACE_INIT] = "initialization",
        [MTLM_TRACE_EVAL] = "validation",
        [MTLM_TRACE_SAVE] = "copies for checkpoints",
        [MTLM_TRACE_AR] = "TP collectives",
        [MTLM_TRACE_SEND] = "PP sends",
        [MTLM_TRACE_RECV] = "PP receives",
        [MTLM_TRACE_DP] = "DP collectives",
        [MTLM_TRACE_LOAD] = "loads from the disk",
        [MTLM_TRACE_STORE] = "stores to the disk",
    };
    const double windows = s->windows ? s->windows : 1;
    double room = 0;

    for (int r = 0; r < s->ranks; r++)
        room += (double) s->rank[r].workers * s->rank[r].window_ns;
    fprintf(out, "\n  %-28s %9s %12s %9s %9s\n", "of all ranks, an iteration",
            "ms", "of workers", "GFLOP/s", "GB/s");
    for (int class = 0; class < MTLM_TRACE_CLASSES; class ++) {
        const struct mtlm_trace_class_time *c = &s->class[class];

        if (!c->count)
            continue;
        fprintf(out, "  %-28s %9.1f", meaning[class], c->ns / windows / 1e6);
        if (class >= MTLM_TRACE_AR)
            fprintf(out, " %12s %9s %9.2f\n", "", "",
                    c->total_ns ? c->bytes / c->total_ns : 0.);
        else
            fprintf(out, " %10.1f %% %9.1f\n",
                    room > 0 ? 100 * c->ns / room : 0,
                    c->total_ns ? c->flops / c->total_ns : 0.);
    }
    /* Messages of one rank may run at the same time: the lines above count all
     * of them, this line counts the time once. */
    if (s->comm_ns)
        fprintf(out, "  %-28s %9.1f  at the same time count once\n",
                "messages under way", s->comm_ns / windows / 1e6);
}

/* Sums the rank's accounts as shares of its workers' time. */
static void print_rank(FILE *out, const struct mtlm_trace_summary *s, int rank)
{
    const struct mtlm_trace_rank *r = &s->rank[rank];
    const double room = (double) r->workers * r->window_ns;
    struct mtlm_trace_account all = {0};

    for (size_t i = 0; i < s->n_accounts; i++) {
        const struct mtlm_trace_account *a = &s->account[i];

        if (a->rank != rank)
            continue;
        all.data_ns += a->data_ns;
        all.comm_ns += a->comm_ns;
        all.runtime_ns += a->runtime_ns;
        all.end_ns += a->end_ns;
    }
    if (room <= 0)
        return;
    fprintf(out,
            "  %4d %7d %7.1f %6.1f%% %6.1f%% %6.1f%% %7.1f%% %6.1f%% %6.1f%%",
            rank, r->workers, 1e-6 * r->work_ns, 100 * r->busy_ns / room,
            100 * r->bubble, 100 * all.data_ns / room, 100 * all.comm_ns / room,
            100 * all.runtime_ns / room, 100 * all.end_ns / room);
    if (r->comm_ns)
        fprintf(out, " %6.0f%%", 100. * r->overlap_ns / r->comm_ns);
    putc('\n', out);
}

struct ranked {
    double bubble;
    int rank;
};

static int by_bubble(const void *pa, const void *pb)
{
    const struct ranked *a = pa, *b = pb;

    if (a->bubble != b->bubble)
        return a->bubble < b->bubble ? -1 : 1;
    return a->rank - b->rank;
}

/* The ranks with the smallest and largest bubbles, in that order. */
static void print_some_ranks(FILE *out, const struct mtlm_trace_summary *s)
{
    struct ranked *list = mtlm_calloc(s->ranks, sizeof(*list));

    for (int r = 0; r < s->ranks; r++)
        list[r] = (struct ranked){s->rank[r].bubble, r};
    qsort(list, s->ranks, sizeof(*list), by_bubble);
    for (int r = 0; r < s->ranks; r++)
        if (r < LEAST || r >= s->ranks - MOST)
            print_rank(out, s, list[r].rank);
        else if (r == LEAST)
            fprintf(out, "   ...\n");
    fprintf(out,
            "  Of %d ranks, the %d with the smallest and the %d with the "
            "largest bubbles; summary.json has all.\n",
            s->ranks, LEAST, MOST);
    free(list);
}

static void print_ranks(FILE *out, const struct mtlm_trace_summary *s)
{
    fprintf(out,
            "\n  %4s %7s %7s %7s %7s %s\n"
            "  %4s %7s %7s %7s %7s %7s %8s %7s %7s %7s\n",
            "", "", "", "", "", "of it waiting for ...", "rank", "workers",
            "work ms", "busy", "bubble", "data", "messages", "runtime",
            "nothing", "overlap");
    if (s->ranks > ALL_RANKS) {
        print_some_ranks(out, s);
        return;
    }
    for (int r = 0; r < s->ranks; r++)
        print_rank(out, s, r);
}

void mtlm_trace_print_table(FILE *out, const struct mtlm_trace_summary *s,
                            const struct mtlm_trace_info *info)
{
    print_headline(out, s, info);
    print_causes(out, s);
    print_bubbles(out, s, info);
    print_bounds(out, s);
    print_classes(out, s);
    print_ranks(out, s);
}
