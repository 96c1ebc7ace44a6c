/* Prints the host memory of a plan for GPUs: state there, bytes of an
 * iteration. */

#include "config.h"

#include <math.h>

#include "launch/plan/plan_host.h"
#include "runtime/base/plural.h"
#include "runtime/base/units.h"

/* Bytes per second of a link to a GPU, each way (PCIe 4.0 x16), as an
 * example. */
#define LINK_RATE 25e9

void mtlm_plan_host(const struct mtlm_outline *outline, FILE *out)
{
    const struct mtlm_layout *l = &outline->layout;
    const int ranks = mtlm_layout_ranks(l);
    double all = 0, busiest = 0;

    for (int i = 0; i < l->pp; i++) {
        const struct mtlm_plan *p = &outline->plan[i];

        all += l->tp * l->dp * p->file_bytes;
        busiest = fmax(busiest, fmax(p->loaded_bytes, p->stored_bytes));
    }
    if (all == 0)
        return;
    fprintf(out,
            "\nHost memory of a rank in MiB: state of its GPU, and per "
            "iteration to the GPU and from it\n%-9s %10s %10s %10s\n",
            "stage", "state", "to GPU", "from GPU");
    for (int i = 0; i < l->pp; i++) {
        const struct mtlm_plan *p = &outline->plan[i];

        fprintf(out, "%-9d %10.1f %10.1f %10.1f\n", i, p->file_bytes / MTLM_MIB,
                p->loaded_bytes / MTLM_MIB, p->stored_bytes / MTLM_MIB);
    }
    fprintf(out,
            "%d rank%s: %.2f GiB in host memory; a link of 25 GB/s each way "
            "moves the fullest rank's bytes of an iteration in %.3g s\n",
            ranks, mtlm_plural(ranks), all / MTLM_GIB, busiest / LINK_RATE);
}
