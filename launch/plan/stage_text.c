/* Times, layers and windows of stages in words. */

#include "config.h"

#include <inttypes.h>

#include "launch/plan/stage_text.h"

/* More stages are not written. */
enum { MANY_STAGES = 32 };

void mtlm_stage_text_pass(const char *name, const double *seconds, int stages,
                          FILE *out)
{
    fprintf(out, "%s", name);
    for (int k = 0; k < stages && k < MANY_STAGES; k++)
        fprintf(out, " %.4g", 1e3 * seconds[k]);
    fprintf(out, "%s ms", stages > MANY_STAGES ? " ..." : "");
}

void mtlm_stage_text_layers(const struct mtlm_layout *layout,
                            int64_t num_layers, FILE *out)
{
    const int stages = mtlm_layout_stages(layout);

    for (int k = 0; k < stages && k < MANY_STAGES; k++)
        fprintf(out, " %" PRId64,
                mtlm_layout_layer_count(layout, num_layers, k));
    if (stages > MANY_STAGES)
        fputs(" ...", out);
}

void mtlm_stage_text_windows(const struct mtlm_window *window, int stages,
                             FILE *out)
{
    for (int k = 0; k < stages && k < MANY_STAGES; k++) {
        fprintf(out, " %d", window[k].w);
        if (window[k].q > 0)
            fprintf(out, "+%d", window[k].q);
    }
    if (stages > MANY_STAGES)
        fputs(" ...", out);
}
