#ifndef MTLM_TESTS_ZERO_BUBBLE_H
#define MTLM_TESTS_ZERO_BUBBLE_H

#include "graph/schedule/window.h"

/* The twelve measured settings of the zero-bubble paper (arXiv 2401.10241,
 * tables 5 and 6; A100, sequences of 1024, no tensor parallelism), and what our
 * schedules make of its times.
 *
 * Rate: (cost - m (F + B + W)) / cost, where cost is the longest time from the
 * first start to the last end on one rank; no optimizer.  Memory: of a
 * microbatch on a stage 34 s b h + 5 a s^2 b bytes, 32 s b h until W ends. */
struct zero_bubble_setting {
    const char *model;
    int p, m;
    double forward_ms, backward_ms, weight_ms, hop_ms;
    double hidden, heads;
    /* Published rates. */
    double one_f_one_b, interleaved, h1, h2, zb_1p, zb_2p;
};

extern const struct zero_bubble_setting zero_bubble_settings[];
extern const int zero_bubble_n_settings;

double zero_bubble_of_1f1b(const struct zero_bubble_setting *setting);

enum { ZERO_BUBBLE_MOST = 64 };

/* The lowest rate with the memory of so many microbatches on a rank. */
struct zero_bubble_best {
    double rate;
    int virtual_stages;
    enum mtlm_placement placement;
    double alpha;  /* 0: no alpha has these windows */
    double memory; /* the peak */
    struct mtlm_window window[ZERO_BUBBLE_MOST]; /* of each virtual stage */
};

struct zero_bubble_best zero_bubble_best(
    const struct zero_bubble_setting *setting, double memory);

#endif /* MTLM_TESTS_ZERO_BUBBLE_H */
