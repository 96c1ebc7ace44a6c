/* The zero-bubble paper's measured settings (tests/graph/zero_bubble.h), as a
 * table: published bubble rates and what the windows found by evaluation make
 * of the same times with the same memory. */

#include "config.h"

#include <stdio.h>

#include "tests/graph/zero_bubble.h"

static void print_best(const struct zero_bubble_best *best, double published)
{
    printf(" %.4f | **%.4f** | %s, alpha %.2f |", published, best->rate,
           best->virtual_stages == 1                ? "1 stage"
           : best->placement == MTLM_PLACEMENT_LOOP ? "2, loop"
                                                    : "2, v",
           best->alpha);
}

int main(void)
{
    printf("| model, p, m | 1F1B published | ours | ZB-1p published | ours, "
           "memory p | by | ZB-2p published | ours, memory 2p | by |\n"
           "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (int i = 0; i < zero_bubble_n_settings; i++) {
        const struct zero_bubble_setting *s = &zero_bubble_settings[i];
        const struct zero_bubble_best once = zero_bubble_best(s, s->p);
        const struct zero_bubble_best twice = zero_bubble_best(s, 2 * s->p);

        printf("| %s, %d, %d | %.4f | %.4f |", s->model, s->p, s->m,
               s->one_f_one_b, zero_bubble_of_1f1b(s));
        print_best(&once, s->zb_1p);
        print_best(&twice, s->zb_2p);
        putchar('\n');
        fflush(stdout);
    }
    return 0;
}
