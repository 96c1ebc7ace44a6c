/* Makes and frees the times of the passes of a pipeline. */

#include "config.h"

#include <stdlib.h>

#include "graph/schedule/stage_times.h"
#include "runtime/base/memory.h"

struct mtlm_stage_times mtlm_stage_times_create(int stages)
{
    double *forward = mtlm_calloc(3 * stages, sizeof(*forward));

    return (struct mtlm_stage_times){.stages = stages,
                                     .forward = forward,
                                     .backward = forward + stages,
                                     .weight = forward + 2 * stages};
}

void mtlm_stage_times_free(struct mtlm_stage_times *times)
{
    free(times->forward);
    *times = (struct mtlm_stage_times){0};
}
