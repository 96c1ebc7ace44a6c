#include "config.h"

#include <math.h>
#include <string.h>

#include "graph/predict/search.h"
#include "tests/graph/peak.h"
#include "tests/graph/zero_bubble.h"

enum { MOST = ZERO_BUBBLE_MOST, SEQUENCE = 1024, PIECES = 8, TRIES = 32 };

const struct zero_bubble_setting zero_bubble_settings[] = {
    {"1.5B", 8, 24, 18.522, 18.086, 9.337, .601, 2304, 24, .2431, .1055, .1585,
     .1083, .1585, .0433},
    {"1.5B", 8, 32, 18.513, 18.086, 9.331, .626, 2304, 24, .1985, .0818, .1242,
     .0837, .1242, .0039},
    {"1.5B", 8, 64, 18.546, 18.097, 9.321, .762, 2304, 24, .1240, .0443, .0674,
     .0444, .0674, .0026},
    {"6.2B", 8, 24, 29.718, 29.444, 19.927, .527, 4096, 32, .2347, .0808, .1323,
     .0698, .1323, .0029},
    {"6.2B", 8, 32, 29.802, 29.428, 19.530, .577, 4096, 32, .1898, .0628, .1045,
     .0559, .1045, .0022},
    {"6.2B", 8, 64, 29.935, 29.621, 19.388, .535, 4096, 32, .1091, .0320, .0554,
     .0294, .0554, .0010},
    {"14.6B", 16, 48, 11.347, 11.248, 8.132, .377, 5120, 40, .2552, .1104,
     .1397, .0672, .1397, .0066},
    {"14.6B", 16, 64, 11.307, 11.254, 8.101, .379, 5120, 40, .2082, .0852,
     .1088, .0516, .1088, .0054},
    {"14.6B", 16, 128, 11.325, 11.308, 8.109, .378, 5120, 40, .1251, .0445,
     .0576, .0266, .0576, .0028},
    {"28.3B", 32, 96, 10.419, 10.207, 7.715, .408, 6144, 48, .2646, .1493,
     .1421, .0641, .1421, .0038},
    {"28.3B", 32, 128, 10.408, 10.204, 7.703, .408, 6144, 48, .2168, .1164,
     .1106, .0490, .1106, .0029},
    {"28.3B", 32, 256, 10.402, 10.248, 7.698, .460, 6144, 48, .1352, .0624,
     .0594, .0257, .0594, .0018}};
const int zero_bubble_n_settings =
    sizeof(zero_bubble_settings) / sizeof(zero_bubble_settings[0]);

/* A setting with its stages cut into v each. */
struct scene {
    struct mtlm_layout layout;
    double forward[MOST], backward[MOST], weight[MOST], memory[MOST];
    struct mtlm_window window[MOST];
    struct mtlm_search search;
};

static void create(struct scene *s, const struct zero_bubble_setting *setting,
                   int v, enum mtlm_placement placement)
{
    const double w = 32 * setting->hidden;
    const double all = 34 * setting->hidden + 5 * setting->heads * SEQUENCE;

    s->layout = (struct mtlm_layout){.tp = 1,
                                     .pp = setting->p,
                                     .dp = 1,
                                     .virtual_stages = v,
                                     .placement = placement,
                                     .workers = 1};
    for (int k = 0; k < setting->p * v; k++) {
        s->forward[k] = 1e-3 * setting->forward_ms / v;
        s->backward[k] = 1e-3 * setting->backward_ms / v;
        s->weight[k] = 1e-3 * setting->weight_ms / v;
        s->memory[k] = 1.0 / v;
    }
    s->search = (struct mtlm_search){
        .pipeline = {.layout = &s->layout,
                     .schedule = mtlm_schedule_find("window"),
                     .microbatches = setting->m,
                     .forward = s->forward,
                     .backward = s->backward,
                     .weight = s->weight,
                     .hop = 1e-3 * setting->hop_ms,
                     .pieces = PIECES / v,
                     .window = s->window},
        .windows = {.layout = &s->layout,
                    .microbatches = setting->m,
                    .forward = s->forward,
                    .backward = s->backward,
                    .weight = s->weight,
                    .memory = s->memory,
                    .weight_share = w / all,
                    .hop = 1e-3 * setting->hop_ms},
        .tries = TRIES,
        .by_span = true};
}

static double rate(const struct zero_bubble_setting *setting, double span_s)
{
    const double work =
        1e-3 * setting->m
        * (setting->forward_ms + setting->backward_ms + setting->weight_ms);

    return (span_s - work) / span_s;
}

/* p - k microbatches, whatever the times. */
double zero_bubble_of_1f1b(const struct zero_bubble_setting *setting)
{
    struct mtlm_evaluation e;
    struct scene s;
    double span;

    create(&s, setting, 1, MTLM_PLACEMENT_LOOP);
    for (int k = 0; k < setting->p; k++)
        s.window[k] = (struct mtlm_window){setting->p - k, 0, 2};
    s.search.pipeline.schedule = mtlm_schedule_find("1f1b");
    e = mtlm_evaluate(&s.search.pipeline);
    span = e.span_s;
    mtlm_evaluation_free(&e);
    return rate(setting, span);
}

/* The windows of the scene, if they are better than the best ones so far. */
static void compare(struct scene *s, const struct zero_bubble_setting *setting,
                    double alpha, struct zero_bubble_best *best)
{
    struct mtlm_evaluation e = mtlm_evaluate(&s->search.pipeline);

    if (rate(setting, e.span_s) < best->rate) {
        const struct mtlm_evaluate *p = &s->search.pipeline;

        *best = (struct zero_bubble_best){
            .rate = rate(setting, e.span_s),
            .virtual_stages = s->layout.virtual_stages,
            .placement = s->layout.placement,
            .alpha = alpha,
            .memory = peak_of(p, &e, s->memory, s->search.windows.weight_share)
                          .memory};
        memcpy(best->window, s->window, sizeof(best->window));
    }
    mtlm_evaluation_free(&e);
}

static void search(const struct zero_bubble_setting *setting, double memory,
                   int v, enum mtlm_placement placement,
                   struct zero_bubble_best *best)
{
    struct scene s;
    double alpha;

    create(&s, setting, v, placement);
    s.search.windows.most_memory = memory;
    if (!isinf(mtlm_search(&s.search, s.window, &alpha)))
        compare(&s, setting, alpha, best);
}

/* Until its first B comes back a rank has nothing to do but F: 2 (p - k) - 1 of
 * them take as long as the way there and back where F = B, but for the hops,
 * for which rank 0 waits longest.  With one microbatch more on the ranks of the
 * first half these begin afresh with waiting: memory 2p allows that once.  The
 * rest is for W that wait. */
static void twice(const struct zero_bubble_setting *setting,
                  struct zero_bubble_best *best)
{
    const int p = setting->p;
    struct mtlm_window given[MOST];
    struct scene s;

    create(&s, setting, 1, MTLM_PLACEMENT_LOOP);
    for (int k = 0; k < p; k++) {
        const int w = 2 * (p - k) - (k >= p / 2);

        given[k] = (struct mtlm_window){
            w, floor((2 * p - w) / s.search.windows.weight_share), 0};
    }
    s.search.windows.given = given;
    mtlm_schedule_windows(s.search.pipeline.schedule, &s.search.windows,
                          s.window);
    compare(&s, setting, 0, best);
}

struct zero_bubble_best zero_bubble_best(
    const struct zero_bubble_setting *setting, double memory)
{
    struct zero_bubble_best best = {.rate = INFINITY};

    search(setting, memory, 1, MTLM_PLACEMENT_LOOP, &best);
    search(setting, memory, 2, MTLM_PLACEMENT_V, &best);
    search(setting, memory, 2, MTLM_PLACEMENT_LOOP, &best);
    if (memory >= 2 * setting->p)
        twice(setting, &best);
    return best;
}
