/* Evaluates a pipeline without a flush between iterations. */

#include "config.h"

#include <math.h>

#include "graph/predict/steady.h"

/* Microbatches of the two evaluations, for each rank of the pipeline.  Passes
 * of more than LARGE ranks are not cut. */
enum { FILL = 4, MORE = 8, LARGE = 16 };

static double makespan_of(struct mtlm_evaluate *pipeline, int microbatches)
{
    pipeline->microbatches = microbatches;
    return mtlm_evaluate_seconds(pipeline);
}

/* Sets the bubbles from the work of a microbatch. */
static void find_bubbles(const struct mtlm_evaluate *p,
                         struct mtlm_steady *steady)
{
    const struct mtlm_layout *layout = p->layout;
    const double room = layout->workers * steady->microbatch_s;
    double all = 0, busiest = 0;

    for (int r = 0; r < layout->pp; r++) {
        struct mtlm_layout at = *layout;
        double work = 0;

        at.pp_rank = r;
        for (int c = 0; c < layout->virtual_stages; c++) {
            const int k = mtlm_layout_stage(&at, c);

            work += p->forward[k] + p->backward[k] + p->weight[k];
        }
        all += work;
        busiest = fmax(busiest, work);
    }
    steady->bubble = fmax(0, 1 - busiest / room);
    steady->all_bubble = fmax(0, 1 - all / (layout->pp * room));
}

struct mtlm_steady mtlm_steady_evaluate(const struct mtlm_work *work)
{
    struct mtlm_evaluate p = work->pipeline;
    struct mtlm_steady steady = {0};
    const int stages = mtlm_layout_stages(p.layout);
    const int fill = FILL * p.layout->pp, more = MORE * p.layout->pp;

    if (p.layout->pp > LARGE)
        p.pieces = p.steps = 1;
    steady.microbatch_s =
        (makespan_of(&p, fill + more) - makespan_of(&p, fill)) / more;
    for (int k = 0; k < stages; k++)
        steady.held = (int) fmax(steady.held, p.window[k].w + p.window[k].q);
    find_bubbles(&work->pipeline, &steady);
    return steady;
}
