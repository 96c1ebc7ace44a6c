/* Prints tables of memory and messages.  Similar stages share a line. */

#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "launch/plan/plan_table.h"
#include "runtime/base/units.h"

/* With more stages, stages share a line if they are similar; with fewer, if
 * equal. */
enum { MANY_STAGES = 16 };

struct table {
    const struct mtlm_outline *outline;
    FILE *out;
};

/* Returns whether two values are equal or, with many stages, within 1 %. */
static bool near(const struct table *t, double a, double b)
{
    return fabs(a - b) <= (t->outline->layout.pp > MANY_STAGES ? 0.01 : 0) * b;
}

static bool alike(const struct table *t, const struct mtlm_plan *a,
                  const struct mtlm_plan *b)
{
    return a->layers == b->layers && a->parameters == b->parameters
           && near(t, a->total_bytes, b->total_bytes)
           && near(t, a->activation_bytes, b->activation_bytes)
           && memcmp(a->traffic, b->traffic, sizeof(a->traffic)) == 0;
}

/* Returns the last of the consecutive stages that share a line with stage i. */
static int last_alike(const struct table *t, int i)
{
    int last = i;

    while (last + 1 < t->outline->layout.pp
           && alike(t, &t->outline->plan[i], &t->outline->plan[last + 1]))
        last++;
    return last;
}

static void print_range(const struct table *t, int64_t first, int64_t last,
                        int width)
{
    char text[48];

    if (first == last)
        snprintf(text, sizeof(text), "%" PRId64, first);
    else
        snprintf(text, sizeof(text), "%" PRId64 "-%" PRId64, first, last);
    fprintf(t->out, "%-*s ", width, text);
}

/* Stages and ranks first .. last. */
static void print_place(const struct table *t, int first, int last)
{
    const int of_stage = t->outline->layout.tp * t->outline->layout.dp;

    print_range(t, first, last, 9);
    print_range(t, (int64_t) first * of_stage,
                ((int64_t) last + 1) * of_stage - 1, 9);
}

static void print_memory_of(const struct table *t, int first, int last)
{
    const struct mtlm_plan *p = &t->outline->plan[first];

    print_place(t, first, last);
    fprintf(t->out,
            "%6" PRId64 " %14.0f %9.1f %9.1f %9.1f %11.1f %8.1f %10.1f  ",
            p->layers, p->parameters, p->weight_bytes / MTLM_MIB,
            p->gradient_bytes / MTLM_MIB, p->moment_bytes / MTLM_MIB,
            p->activation_bytes / MTLM_MIB, p->runtime_bytes / MTLM_MIB,
            p->total_bytes / MTLM_MIB);
    print_range(t, p->window.w, t->outline->plan[last].window.w, 7);
    fprintf(t->out, "%d\n", p->window.w + p->window.q);
}

void mtlm_plan_table_memory(const struct mtlm_outline *outline, FILE *out)
{
    const struct table table = {outline, out}, *t = &table;

    fprintf(t->out,
            "\nMemory of each rank in MiB; windows: microbatches whose "
            "activations are kept until\n"
            "their input gradients (B) and their weight gradients (W) are "
            "there%s%s\n"
            "%-9s %-9s %6s %14s %9s %9s %9s %11s %8s %10s  %-7s %s\n",
            t->outline->layout.virtual_stages > 1 ? ", of a rank's first stage"
                                                  : "",
            t->outline->layout.pp > MANY_STAGES
                ? "; stages within 1 % are folded"
                : "",
            "stage", "ranks", "layers", "parameters", "weights", "gradients",
            "moments", "activations", "runtime", "total", "B", "W");
    for (int i = 0; i < t->outline->layout.pp; i = last_alike(t, i) + 1)
        print_memory_of(t, i, last_alike(t, i));
}

static void print_traffic_of(const struct table *t, int first, int last)
{
    const struct mtlm_traffic *traffic = t->outline->plan[first].traffic;

    print_place(t, first, last);
    for (int k = 0; k < MTLM_TRAFFIC_COUNT; k++)
        fprintf(t->out, " %10.2f %7" PRId64, traffic[k].bytes / MTLM_MIB,
                traffic[k].messages);
    fputc('\n', t->out);
}

void mtlm_plan_table_traffic(const struct mtlm_outline *outline, FILE *out)
{
    const struct table table = {outline, out}, *t = &table;

    fprintf(t->out,
            "\nWhat each rank sends per iteration, MiB and messages\n"
            "%-9s %-9s  %18s %18s %18s %18s %18s\n",
            "stage", "ranks", "tensor-parallel", "pipeline", "data-parallel",
            "tied embedding", "norm and flags");
    for (int i = 0; i < t->outline->layout.pp; i = last_alike(t, i) + 1)
        print_traffic_of(t, i, last_alike(t, i));
}
