/* The zero-bubble paper's measured settings (tests/graph/zero_bubble.h), as a
 * table: published bubble rates and what the windows found by evaluation make
 * of the same times with the same memory.  Then these windows, as mtlm-dag
 * takes them.  With an argument: settings of no more ranks than that. */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/standard_output.h"
#include "tests/graph/zero_bubble.h"

enum { MOST_SETTINGS = 16 };

static void print_best(const struct zero_bubble_best *best, double published)
{
    printf(" %.4f | **%.4f** | %s", published, best->rate,
           best->virtual_stages == 1                ? "1 stage"
           : best->placement == MTLM_PLACEMENT_LOOP ? "2, loop"
                                                    : "2, v");
    if (best->alpha > 0)
        printf(", alpha %.2f", best->alpha);
    printf(" |");
}

static void print_options(const struct zero_bubble_setting *s,
                          const struct zero_bubble_best *best, int memory)
{
    printf("    %s, %d, %d, memory %s:", s->model, s->p, s->m,
           memory == 2 ? "2p" : "p");
    if (best->virtual_stages > 1)
        printf(" --num-virtual-stages-per-pipeline-rank %d --placement %s",
               best->virtual_stages,
               best->placement == MTLM_PLACEMENT_V ? "v" : "loop");
    printf(" --stage-windows ");
    for (int k = 0; k < best->virtual_stages * s->p; k++) {
        printf("%s%d", k ? "," : "", best->window[k].w);
        if (best->window[k].q)
            printf("+%d", best->window[k].q);
    }
    putchar('\n');
}

int main(int argc, char **argv)
{
    const int most = argc > 1 ? atoi(argv[1]) : ZERO_BUBBLE_MOST;
    struct zero_bubble_best best[MOST_SETTINGS][2];

    if (most < 1) {
        fprintf(stderr, "zero_bubble: '%s' is no number of ranks\n", argv[1]);
        return 2;
    }
    mtlm_standard_output_start();
    printf("| model, p, m | 1F1B published | ours | ZB-1p published | ours, "
           "memory p | by | ZB-2p published | ours, memory 2p | by |\n"
           "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (int i = 0; i < zero_bubble_n_settings; i++) {
        const struct zero_bubble_setting *s = &zero_bubble_settings[i];

        if (s->p > most)
            continue;
        for (int twice = 0; twice < 2; twice++)
            best[i][twice] = zero_bubble_best(s, (1 + twice) * s->p);
        printf("| %s, %d, %d | %.4f | %.4f |", s->model, s->p, s->m,
               s->one_f_one_b, zero_bubble_of_1f1b(s));
        print_best(&best[i][0], s->zb_1p);
        print_best(&best[i][1], s->zb_2p);
        putchar('\n');
        mtlm_standard_output_flush();
    }
    putchar('\n');
    for (int i = 0; i < zero_bubble_n_settings; i++)
        for (int twice = 0; twice < 2; twice++)
            if (zero_bubble_settings[i].p <= most)
                print_options(&zero_bubble_settings[i], &best[i][twice],
                              1 + twice);
    return 0;
}
