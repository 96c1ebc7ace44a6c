/* Windows from times, memory or a list; see window.h for the formulas. */

#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "graph/order/rounding.h"
#include "graph/schedule/window.h"
#include "runtime/base/memory.h"

/* Of quotients that are whole numbers but for rounding. */
#define ROUNDING 1e-9

/* Ranks with this share of the busiest rank's work are among the busiest. */
#define BUSY 0.95

static int stage_on(const struct mtlm_layout *layout, int pp_rank, int chunk)
{
    struct mtlm_layout there = *layout;

    there.pp_rank = pp_rank;
    return mtlm_layout_stage(&there, chunk);
}

/* Returns the time of a microbatch on a rank. */
static double rank_work(const struct mtlm_window_model *model, int pp_rank)
{
    double work = 0;

    for (int c = 0; c < model->layout->virtual_stages; c++) {
        const int k = stage_on(model->layout, pp_rank, c);

        work += model->forward[k] + model->backward[k] + model->weight[k];
    }
    return work / model->layout->workers;
}

/* Returns T. */
static double busiest_period(const struct mtlm_window_model *model)
{
    double busiest = 0;

    for (int r = 0; r < model->layout->pp; r++)
        busiest = fmax(busiest, rank_work(model, r));
    return busiest;
}

/* Returns T / L_k of every virtual stage: the growth of alpha that adds one to
 * w_k.  The caller frees it. */
static double *alpha_steps(const struct mtlm_window_model *model)
{
    const struct mtlm_layout *layout = model->layout;
    const int stages = mtlm_layout_stages(layout);
    const double t = busiest_period(model);
    double *step = mtlm_calloc(stages, sizeof(*step)), residence = 0;

    for (int k = stages - 1; k >= 0; k--) {
        residence += model->forward[k] + model->backward[k];
        if (k + 1 < stages && !mtlm_layout_same_rank(layout, k, k + 1))
            residence += 2 * model->hop;
        step[k] = t / residence;
    }
    return step;
}

int mtlm_window_clamp(const struct mtlm_window_model *model, double slots)
{
    return fmax(fmin(slots, model->microbatches), model->layout->workers);
}

static void set_slots(const struct mtlm_window_model *model, const double *step,
                      double alpha, struct mtlm_window *window)
{
    const int stages = mtlm_layout_stages(model->layout);

    for (int k = 0; k < stages; k++)
        window[k] = (struct mtlm_window){
            mtlm_window_clamp(model, ceil(alpha / step[k] - ROUNDING)), 0, 0};
}

void mtlm_window_set_alpha(const struct mtlm_window_model *model, double alpha,
                           struct mtlm_window *window)
{
    double *step = alpha_steps(model);

    set_slots(model, step, alpha, window);
    free(step);
}

/* Returns the slots of g_k that take no memory. */
static int free_gradients(const struct mtlm_window_model *model,
                          const struct mtlm_window *window)
{
    const struct mtlm_layout *layout = model->layout;
    double g = fmax(2, layout->workers);

    if (layout->placement == MTLM_PLACEMENT_V)
        g = fmax(g, fmin(layout->pp / 2, window->w + window->q));
    return g;
}

/* Returns g_k of w_k and q_k alone. */
static int least_gradients(const struct mtlm_window_model *model,
                           const struct mtlm_window *window)
{
    return fmax(window->q + 1, free_gradients(model, window));
}

/* Returns the memory of the slots of a stage.  g_k counts once it is set. */
static double stage_memory(const struct mtlm_window_model *model, int stage,
                           const struct mtlm_window *window)
{
    const double share = model->weight_share > 0 ? model->weight_share : 1;
    const double g = fmax(window->g, least_gradients(model, window));

    return model->memory[stage]
           * (window->w + window->q * (share - model->gradient_share)
              + (g - free_gradients(model, window)) * model->gradient_share);
}

double mtlm_window_rank_memory(const struct mtlm_window_model *model,
                               const struct mtlm_window *window, int pp_rank)
{
    double memory = 0;

    for (int c = 0; c < model->layout->virtual_stages; c++) {
        const int k = stage_on(model->layout, pp_rank, c);

        memory += stage_memory(model, k, &window[k]);
    }
    return memory;
}

double mtlm_window_memory(const struct mtlm_window_model *model,
                          const struct mtlm_window *window)
{
    double fullest = 0;

    for (int r = 0; r < model->layout->pp; r++)
        fullest = fmax(fullest, mtlm_window_rank_memory(model, window, r));
    return fullest;
}

double mtlm_window_least_memory(const struct mtlm_window_model *model)
{
    double fullest = 0;

    for (int r = 0; r < model->layout->pp; r++) {
        double memory = 0;

        for (int c = 0; c < model->layout->virtual_stages; c++)
            memory += mtlm_window_clamp(model, 1)
                      * model->memory[stage_on(model->layout, r, c)];
        fullest = fmax(fullest, memory);
    }
    return fullest;
}

/* Returns the smallest n T / L_k above alpha, where a window grows: there, w_k
 * is still n.  INFINITY: no window can grow. */
static double next_alpha(const struct mtlm_window_model *model,
                         const double *step, double alpha)
{
    const int stages = mtlm_layout_stages(model->layout);
    double next = INFINITY;

    for (int k = 0; k < stages; k++) {
        double n = floor(alpha / step[k] + ROUNDING) + 1;

        /* The quotient of millions of slots may err by more than ROUNDING. */
        if (n * step[k] <= alpha)
            n++;
        if (n <= model->microbatches)
            next = fmin(next, n * step[k]);
    }
    return next;
}

/* Sets windows of alpha.  Returns whether these fit into the memory. */
static bool alpha_fits(const struct mtlm_window_model *model,
                       const double *step, double alpha, double most,
                       struct mtlm_window *window)
{
    set_slots(model, step, alpha, window);
    return mtlm_window_memory(model, window)
           <= most * (1 + MTLM_MEMORY_ROUNDING);
}

/* Returns an alpha, at most `all`, whose windows fit.  The least alpha whose
 * windows do not fit is less than `near` above.  Returns 0 if nothing fits.
 * window[] is for work. */
static double bisect_alpha(const struct mtlm_window_model *model,
                           const double *step, double all, double near,
                           double most, struct mtlm_window *window)
{
    double low = 0, high = all;

    if (alpha_fits(model, step, all, most, window))
        return all;
    while (high - low >= near) {
        const double middle = low + (high - low) / 2;

        if (middle <= low || middle >= high)
            break;
        if (alpha_fits(model, step, middle, most, window))
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Returns an alpha below the largest one that fits, but for few steps; or 0.
 * Windows and their memory grow with alpha.  window[] is for work. */
static double start_alpha(const struct mtlm_window_model *model,
                          const double *step, double most,
                          struct mtlm_window *window)
{
    const int stages = mtlm_layout_stages(model->layout);
    double least = INFINITY, largest = 0, fit, grown = 0;

    for (int k = 0; k < stages; k++)
        if (isfinite(step[k]) && step[k] > 0) {
            least = fmin(least, step[k]);
            largest = fmax(largest, step[k]);
        }
    if (largest == 0 || !isfinite(model->microbatches * largest))
        return 0;
    fit = bisect_alpha(model, step, model->microbatches * largest, least / 2,
                       most, window);
    for (int k = 0; k < stages; k++)
        if (isfinite(step[k]) && step[k] > 0)
            grown =
                fmax(grown,
                     step[k] * fmin(floor(fit / step[k]), model->microbatches));
    return fmax(0, grown - least / 2);
}

double mtlm_window_set_memory(const struct mtlm_window_model *model,
                              double most, struct mtlm_window *window)
{
    double *step = alpha_steps(model), next;
    double alpha = start_alpha(model, step, most, window);

    set_slots(model, step, alpha, window);
    while (isfinite(next = next_alpha(model, step, alpha))) {
        if (!alpha_fits(model, step, next, most, window)) {
            set_slots(model, step, alpha, window);
            break;
        }
        alpha = next;
    }
    free(step);
    return alpha;
}

static int largest_window(const struct mtlm_window_model *model,
                          const struct mtlm_window *window)
{
    const int stages = mtlm_layout_stages(model->layout);
    int w = 0;

    for (int k = 0; k < stages; k++)
        w = window[k].w > w ? window[k].w : w;
    return w;
}

/* Makes a window larger if *left suffices, and takes the memory from *left. */
static bool take_slot(const struct mtlm_window_model *model, int stage,
                      const struct mtlm_window *larger,
                      struct mtlm_window *window, double *left)
{
    const double more =
        stage_memory(model, stage, larger) - stage_memory(model, stage, window);

    if (more > *left)
        return false;
    *left -= more;
    *window = *larger;
    return true;
}

/* Returns the window of a stage with n more slots, or as many as `slots`
 * allows.  A stage without memory gets none. */
static struct mtlm_window with_more(const struct mtlm_window_model *model,
                                    int stage, int n, int slots,
                                    struct mtlm_window window)
{
    const int room = slots - window.w - window.q;

    if (model->memory[stage] > 0 && room > 0)
        window.q += n < room ? n : room;
    return window;
}

/* Returns whether each stage of a rank can have n more slots within `most`. */
static bool rounds_fit(const struct mtlm_window_model *model, double most,
                       int pp_rank, int n, int slots,
                       const struct mtlm_window *window)
{
    double memory = 0;

    for (int c = 0; c < model->layout->virtual_stages; c++) {
        const int k = stage_on(model->layout, pp_rank, c);
        const struct mtlm_window more =
            with_more(model, k, n, slots, window[k]);

        memory += stage_memory(model, k, &more);
    }
    return memory <= most;
}

/* Adds slots to all stages of a rank alike, as many as fit: one by one, those
 * of millions of microbatches would take long.  Memory grows with slots. */
static void add_rounds(const struct mtlm_window_model *model, double most,
                       int pp_rank, int slots, struct mtlm_window *window)
{
    for (int n = 1 << 30; n > 0; n /= 2) {
        if (!rounds_fit(model, most, pp_rank, n, slots, window))
            continue;
        for (int c = 0; c < model->layout->virtual_stages; c++) {
            const int k = stage_on(model->layout, pp_rank, c);

            window[k] = with_more(model, k, n, slots, window[k]);
        }
    }
}

static void deal_out_slots(const struct mtlm_window_model *model, double memory,
                           int slots, struct mtlm_window *window)
{
    const struct mtlm_layout *layout = model->layout;
    const double most = memory * (1 + MTLM_MEMORY_ROUNDING);

    for (int r = 0; r < layout->pp; r++) {
        double left;
        bool dealt = true;

        add_rounds(model, most, r, slots, window);
        left = most - mtlm_window_rank_memory(model, window, r);
        while (dealt) {
            dealt = false;
            for (int c = layout->virtual_stages - 1; c >= 0; c--) {
                const int k = stage_on(layout, r, c);
                const struct mtlm_window larger =
                    with_more(model, k, 1, slots, window[k]);

                if (larger.q > window[k].q)
                    dealt |= take_slot(model, k, &larger, &window[k], &left);
            }
        }
    }
}

void mtlm_window_fill(const struct mtlm_window_model *model, double most,
                      struct mtlm_window *window)
{
    deal_out_slots(model, most, model->microbatches, window);
}

void mtlm_window_fill_evenly(const struct mtlm_window_model *model,
                             struct mtlm_window *window)
{
    deal_out_slots(model, mtlm_window_memory(model, window),
                   largest_window(model, window), window);
}

double mtlm_window_microbatch_memory(const struct mtlm_window_model *model)
{
    double most = 0;

    for (int r = 0; r < model->layout->pp; r++) {
        double memory = 0;

        for (int c = 0; c < model->layout->virtual_stages; c++)
            memory += model->memory[stage_on(model->layout, r, c)];
        most = fmax(most, memory);
    }
    return most;
}

/* Returns the most microbatches that chunk c of rank r has between F and B in
 * Megatron-LM's interleaved order (arXiv 2104.04473, 2.2.2).  That order takes
 * groups of p microbatches through the chunks in turn.  After 2 (p - r - 1) +
 * (v - 1) p forward passes, a backward and a forward pass alternate. */
static int in_flight(int p, int v, int r, int c)
{
    const int group = v * p, ahead = 2 * (p - r - 1) + (v - 1) * p;
    int most = 0;

    for (int j = 0; j < p;
         j++) { /* place in its group, one far from the ends */
        const int i = (v + 2) * p + j;
        /* The forward pass before its backward pass, less those before c's. */
        const int f = ahead + i / p * group + (v - 1 - c) * p + j - c * p;
        const int done = f / group * p + (int) fmin(p, f % group + 1);

        most = fmax(most, done - i);
    }
    return most;
}

/* One more where the next forward pass comes from another rank: it then waits
 * for no backward pass. */
void mtlm_window_set_interleaved(const struct mtlm_window_model *model,
                                 struct mtlm_window *window)
{
    const struct mtlm_layout *layout = model->layout;
    const int stages = mtlm_layout_stages(layout);

    for (int k = 0; k < stages; k++) {
        const int r = mtlm_layout_pp_rank(layout, k);
        const int n = in_flight(layout->pp, layout->virtual_stages, r,
                                mtlm_layout_chunk(layout, k))
                      + (r > 0);

        window[k] = (struct mtlm_window){
            mtlm_window_clamp(model, layout->workers * n), 0, 0};
    }
}

/* Deals out more_gradients on a rank. */
static void add_more_gradients(const struct mtlm_window_model *model,
                               int pp_rank, struct mtlm_window *window)
{
    double left = model->most_memory * (1 + MTLM_MEMORY_ROUNDING)
                  - mtlm_window_rank_memory(model, window, pp_rank);

    for (int i = 0; i < model->more_gradients; i++)
        for (int c = model->layout->virtual_stages - 1; c >= 0; c--) {
            const int k = stage_on(model->layout, pp_rank, c);
            struct mtlm_window larger = window[k];

            if (++larger.g <= larger.w + larger.q)
                take_slot(model, k, &larger, &window[k], &left);
        }
}

void mtlm_window_add_gradients(const struct mtlm_window_model *model,
                               struct mtlm_window *window)
{
    const int stages = mtlm_layout_stages(model->layout);
    const double busy = BUSY * busiest_period(model);

    for (int k = 0; k < stages; k++)
        window[k].g = least_gradients(model, &window[k]);
    for (int r = 0; r < model->layout->pp; r++)
        if (model->more_gradients > 0 && rank_work(model, r) >= busy)
            add_more_gradients(model, r, window);
}

void mtlm_window_set_given(const struct mtlm_window_model *model,
                           struct mtlm_window *window)
{
    const int stages = mtlm_layout_stages(model->layout);

    for (int k = 0; k < stages; k++) {
        const struct mtlm_window *given = &model->given[k];
        const int w = mtlm_window_clamp(model, given->w);

        window[k] = (struct mtlm_window){
            w, mtlm_window_clamp(model, (double) given->w + given->q) - w, 0};
    }
}
