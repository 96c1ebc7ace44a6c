/* Evaluates the order of a plan in each mode, and the schedule without it. */

#include "config.h"

#include <stdio.h>

#include "graph/build/ring.h"
#include "graph/predict/hold.h"
#include "graph/predict/work.h"
#include "launch/plan/plan_modes.h"
#include "runtime/machine/plugin.h"

/* Whether a run refuses the program. */
static bool is_refused(const struct mtlm_program_config *config)
{
    const struct mtlm_boxes boxes = mtlm_program_boxes(config);
    struct mtlm_error err;

    if (mtlm_program_is_chained(config)
        && (!mtlm_order_ascends(config->order, &boxes)
            || mtlm_order_most_lanes(config->order) > config->layout.workers))
        return true;
    return mtlm_ring_check(config, &err) < 0;
}

/* Appends a mode, unless a run refuses the mode. */
static void add_mode(struct mtlm_plan_mode *mode, int *n, const char *name,
                     const struct mtlm_program_config *config)
{
    if (is_refused(config))
        return;
    mode[*n] = (struct mtlm_plan_mode){.config = *config};
    snprintf(mode[*n].name, sizeof(mode[*n].name), "%s", name);
    ++*n;
}

int mtlm_plan_modes_list(const struct mtlm_program_config *config,
                         const char *without,
                         struct mtlm_plan_mode mode[MTLM_PLAN_MODES])
{
    static const char *const names[] = {[MTLM_FOLLOW_STRICT] = "strict",
                                        [MTLM_FOLLOW_HINT] = "hint",
                                        [MTLM_FOLLOW_WINDOWS] = "windows"};
    struct mtlm_program_config one = *config;
    int n = 0, ordered;

    for (int follow = 0; config->order && follow <= MTLM_FOLLOW_WINDOWS;
         follow++) {
        one.follow = follow;
        add_mode(mode, &n, names[follow], &one);
    }
    ordered = n;
    one.order = NULL;
    if (!config->order)
        add_mode(mode, &n, config->schedule->name, config);
    else if (without) {
        char name[40];

        snprintf(name, sizeof(name), "without %s", without);
        add_mode(mode, &n, name, &one);
    }
    if (n > ordered)
        mode[ordered].without = true;
    return n;
}

double mtlm_plan_modes_hold(const struct mtlm_program_config *config,
                            const struct mtlm_work *work)
{
    return mtlm_plugin_holds() && config->times
                   && !mtlm_program_is_chained(config)
               ? mtlm_hold_choose(&work->pipeline, NULL)
               : 0;
}

static double evaluate(const struct mtlm_program_config *config)
{
    struct mtlm_work work = mtlm_work_create(config);
    double seconds;

    work.pipeline.hold = mtlm_plan_modes_hold(config, &work);
    seconds = mtlm_work_seconds(&work, config);
    mtlm_work_free(&work);
    return seconds;
}

void mtlm_plan_modes_print(const struct mtlm_program_config *config,
                           const char *without, double work_s, FILE *out)
{
    struct mtlm_plan_mode mode[MTLM_PLAN_MODES];
    const int n = mtlm_plan_modes_list(config, without, mode);

    fprintf(out, "modes            ");
    for (int i = 0; i < n; i++) {
        const double seconds = evaluate(&mode[i].config);

        fprintf(out, "%s%s ",
                i == 0            ? ""
                : mode[i].without ? "; "
                                  : ", ",
                mode[i].name);
        if (work_s > 0)
            fprintf(out, "%.4f x", seconds / work_s);
        else
            fprintf(out, "%.6g s", seconds);
    }
    fprintf(out, "\n");
}
