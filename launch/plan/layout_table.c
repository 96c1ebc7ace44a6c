/* Tables of layouts: of a simulation, and of a choice by forecasts. */

#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "launch/plan/layout_table.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"
#include "runtime/base/units.h"

enum { PRINTED = 10 };

void mtlm_layout_table_print(const struct mtlm_layout_row *rows, int n,
                             FILE *out)
{
    static const char *const names[] = {[MTLM_RECOMPUTE_NONE] = "none",
                                        [MTLM_RECOMPUTE_SELECTIVE] =
                                            "selective",
                                        [MTLM_RECOMPUTE_FULL] = "full"};

    fprintf(out, "%6s %8s %5s %3s %3s  %-9s %14s %11s %9s\n", "tensor",
            "pipeline", "data", "v", "b", "recompute", "s an iteration",
            "samples/s", "GiB");
    for (int i = 0; i < n && i < PRINTED; i++) {
        const struct mtlm_layout_row *r = &rows[i];

        fprintf(out, "%6d %8d %5d %3d %3" PRId64 "  %-9s %14.6g %11.5g %9.2f\n",
                r->tp, r->pp, r->dp, r->virtual_stages, r->micro_batch,
                names[r->granularity], r->seconds, r->samples / r->seconds,
                r->memory_bytes / MTLM_GIB);
    }
}

/* Batch and virtual stages of the wish may since be those of the chosen layout,
 * so the row has what the layout was compared with. */
static struct mtlm_layout_row row_of(const struct mtlm_wish *wish,
                                     const struct mtlm_choice *c)
{
    return (struct mtlm_layout_row){.tp = c->tp,
                                    .pp = c->pp,
                                    .dp = c->dp,
                                    .virtual_stages = c->virtual_stages,
                                    .micro_batch = c->micro_batch,
                                    .granularity =
                                        wish->config.recompute.granularity,
                                    .seconds = c->seconds,
                                    .samples = c->samples,
                                    .memory_bytes = c->need};
}

static int by_time_of_a_sample(const void *a, const void *b)
{
    const struct mtlm_layout_row *x = a, *y = b;

    return mtlm_compare_real(x->seconds / x->samples, y->seconds / y->samples);
}

void mtlm_layout_table_print_compared(const struct mtlm_wish *wish,
                                      const struct mtlm_choices *compared,
                                      FILE *out)
{
    struct mtlm_layout_row *rows = mtlm_calloc(compared->n, sizeof(*rows));

    for (int i = 0; i < compared->n; i++)
        rows[i] = row_of(wish, &compared->list[i]);
    qsort(rows, compared->n, sizeof(*rows), by_time_of_a_sample);
    fprintf(out,
            "\nLayouts of shortest forecast, of %d that fit; v: virtual stages "
            "of a rank, b: micro batch,\nGiB: of the fullest machine or GPU\n",
            compared->n);
    mtlm_layout_table_print(rows, compared->n, out);
    fputs(
        "The forecast has default rates: cores of an AMD EPYC, 10 Gb/s between "
        "machines. For up to 2 % of time the plan\nprefers fewer ranks for a "
        "model, and smaller tensor-parallel sizes. --synthetic CLUSTER.ini has "
        "rates of your own.\n",
        out);
    free(rows);
}
