/* Evaluates the order of a plan in each mode, and the schedule without it. */

#include "config.h"

#include <math.h>

#include "graph/build/ring.h"
#include "graph/predict/work.h"
#include "launch/plan/plan_modes.h"

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

/* Returns the seconds of an iteration; NAN if a run refuses the program. */
static double evaluate(const struct mtlm_program_config *config)
{
    struct mtlm_evaluation e;
    struct mtlm_work work;

    if (is_refused(config))
        return NAN;
    work = mtlm_work_create(config);
    e = mtlm_work_evaluate(&work, config);
    mtlm_evaluation_free(&e);
    mtlm_work_free(&work);
    return e.makespan_s;
}

/* Prints an evaluation behind the text before; NAN: prints nothing. */
static void print_one(const char *before, const char *name, double seconds,
                      double work_s, FILE *out)
{
    if (isnan(seconds))
        return;
    fprintf(out, "%s%s ", before, name);
    if (work_s > 0)
        fprintf(out, "%.4f x", seconds / work_s);
    else
        fprintf(out, "%.6g s", seconds);
}

void mtlm_plan_modes_print(const struct mtlm_program_config *config,
                           const char *without, double work_s, FILE *out)
{
    static const char *const names[] = {[MTLM_FOLLOW_STRICT] = "strict",
                                        [MTLM_FOLLOW_HINT] = "hint",
                                        [MTLM_FOLLOW_WINDOWS] = "windows"};
    struct mtlm_program_config one = *config;
    const char *before = "modes            ";

    for (int mode = 0; mode <= MTLM_FOLLOW_WINDOWS; mode++) {
        double seconds;

        one.follow = mode;
        seconds = evaluate(&one);
        print_one(before, names[mode], seconds, work_s, out);
        before = isnan(seconds) ? before : ", ";
    }
    one.order = NULL;
    if (without) {
        char name[40];

        snprintf(name, sizeof(name), "without %s", without);
        print_one(before[0] == ',' ? "; " : before, name, evaluate(&one),
                  work_s, out);
    }
    fprintf(out, "\n");
}
