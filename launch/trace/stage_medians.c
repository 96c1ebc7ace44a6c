/* Times of F, B and W of every stage, and of their layers, from records. */
#include "config.h"

#include <stdbool.h>
#include <stdlib.h>

#include "codelets/op_list.h"
#include "launch/trace/stage_medians.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"

/* A pass, F, B or W, of a microbatch on a rank; or a node of the pass. */
enum { STAGE, PHASE, RANK, ITERATION, MICROBATCH, KEYS };

struct timed_pass {
    int key[KEYS];
    int64_t ns;
};

static int compare_keys(const struct timed_pass *a, const struct timed_pass *b,
                        int keys)
{
    int c = 0;

    for (int i = 0; i < keys && !c; i++)
        c = mtlm_compare(a->key[i], b->key[i]);
    return c;
}

static int by_key(const void *a, const void *b)
{
    return compare_keys(a, b, KEYS);
}

/* First passes of equal stage, phase and rank, then by time. */
static int by_time(const void *pa, const void *pb)
{
    const struct timed_pass *a = pa, *b = pb;
    const int c = compare_keys(a, b, ITERATION);

    return c ? c : mtlm_compare(a->ns, b->ns);
}

/* Lists the nodes of all passes, or those in layers.  Returns their number. */
static size_t list_nodes(const struct mtlm_trace_records *records,
                         bool in_layers, struct timed_pass *node)
{
    size_t n = 0;

    for (size_t i = 0; i < records->n; i++) {
        const struct mtlm_record *r = &records->record[i];

        if (r->phase > MTLM_PHASE_WEIGHT || r->stage < 0 || r->microbatch < 0
            || (r->lane != MTLM_LANE_COMPUTE && r->lane != MTLM_LANE_TP)
            || (in_layers && r->layer < 0))
            continue;
        node[n++] = (struct timed_pass){
            {r->stage, r->phase, r->rank, r->iteration, r->microbatch},
            r->end_ns - records->met_ns[i]};
    }
    return n;
}

/* Adds up the nodes of each pass in place.  Returns the number of passes. */
static size_t sum_passes(struct timed_pass *pass, size_t n)
{
    size_t passes = 0;

    qsort(pass, n, sizeof(*pass), by_key);
    for (size_t i = 0; i < n; i++)
        if (passes > 0 && by_key(&pass[passes - 1], &pass[i]) == 0)
            pass[passes - 1].ns += pass[i].ns;
        else
            pass[passes++] = pass[i];
    return passes;
}

/* Sets each time to the median of its passes, of the slowest rank. */
static void take_medians(struct timed_pass *pass, size_t n,
                         struct mtlm_stage_times *times)
{
    double *const of_phase[] = {[MTLM_PHASE_FORWARD] = times->forward,
                                [MTLM_PHASE_BACKWARD] = times->backward,
                                [MTLM_PHASE_WEIGHT] = times->weight};
    size_t next;

    qsort(pass, n, sizeof(*pass), by_time);
    for (size_t i = 0; i < n; i = next) {
        double *seconds = &of_phase[pass[i].key[PHASE]][pass[i].key[STAGE]];
        double median;

        for (next = i;
             next < n && compare_keys(&pass[i], &pass[next], ITERATION) == 0;)
            next++;
        median = 1e-9 * pass[(i + next) / 2].ns;
        *seconds = median > *seconds ? median : *seconds;
    }
}

/* Returns the median of the receives between stages in seconds; 0: none.  The
 * wait of a receive without a number is unknown. */
static double median_hop(const struct mtlm_trace_records *records)
{
    int64_t *ns = mtlm_calloc(records->n, sizeof(*ns));
    size_t n = 0;
    double median;

    for (size_t i = 0; i < records->n; i++) {
        const struct mtlm_record *r = &records->record[i];

        if (r->op == MTLM_OP_RECV && r->match >= 0
            && r->phase <= MTLM_PHASE_BACKWARD)
            ns[n++] = r->end_ns - records->met_ns[i];
    }
    if (n)
        qsort(ns, n, sizeof(*ns), mtlm_compare_int64);
    median = n ? 1e-9 * ns[n / 2] : 0;
    free(ns);
    return median;
}

/* Returns the medians of all passes, or of their nodes in layers. */
static struct mtlm_stage_times pass_medians(
    const struct mtlm_trace_records *records, int stages, bool in_layers)
{
    struct mtlm_stage_times times = mtlm_stage_times_create(stages);
    struct timed_pass *pass = mtlm_calloc(records->n, sizeof(*pass));
    const size_t n = list_nodes(records, in_layers, pass);

    take_medians(pass, sum_passes(pass, n), &times);
    free(pass);
    return times;
}

struct mtlm_stage_times mtlm_trace_stage_medians(
    const struct mtlm_trace_records *records, int stages)
{
    struct mtlm_stage_times times = pass_medians(records, stages, false);

    times.hop = median_hop(records);
    return times;
}

struct mtlm_stage_times mtlm_trace_layer_medians(
    const struct mtlm_trace_records *records, int stages)
{
    return pass_medians(records, stages, true);
}

int mtlm_trace_stage_medians_check(const struct mtlm_stage_times *times,
                                   struct mtlm_error *err)
{
    static const char *const name[] = {"F", "B"};

    for (int k = 0; k < times->stages; k++)
        for (int i = 0; i < 2; i++)
            if (times->forward[i * times->stages + k] <= 0)
                return mtlm_error_set(
                    err, MTLM_EXIT_INPUT,
                    "%s of stage %d takes 0 s in all recorded "
                    "iterations; the last stage is %d",
                    name[i], k, times->stages - 1);
    return 0;
}
