/* Evaluates the modes of a plan under noise, over seeds. */

#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/predict/hold.h"
#include "graph/predict/work.h"
#include "launch/plan/plan_modes.h"
#include "launch/plan/plan_noise.h"
#include "runtime/base/memory.h"
#include "runtime/base/plural.h"
#include "runtime/machine/plugin.h"

enum { SEEDS = 20 };

/* The draws of a plan. */
struct plan_draws {
    const struct mtlm_noise *noise;
    int64_t seed;
    int n, replicas; /* iterations, each with so many replicas */
};

static struct plan_draws draws_of(const struct mtlm_noise *noise, int64_t seed)
{
    const struct mtlm_noise_table *table = noise->table;

    if (table)
        return (struct plan_draws){noise, seed, table->iterations,
                                   table->replicas};
    return (struct plan_draws){noise, seed, SEEDS, 1};
}

/* A mean and half of its 95 % interval. */
struct plan_interval {
    double mean, half;
};

/* Returns 97.5 % of Student's distribution with so many degrees of freedom.
 * From 6 on: Abramowitz, Stegun, "Handbook of mathematical functions", 26.7.5.
 */
static double student(int freedom)
{
    static const double few[] = {INFINITY, 12.7062, 4.3027,
                                 3.1824,   2.7764,  2.5706};
    const double z = 1.959964, f = freedom, z2 = z * z;

    if (freedom < 6)
        return few[freedom];
    return z + z * (z2 + 1) / (4 * f)
           + z * ((5 * z2 + 16) * z2 + 3) / (96 * f * f)
           + z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / (384 * f * f * f);
}

static struct plan_interval interval_of(const double *value, int n)
{
    struct plan_interval found = {0};
    double squares = 0;

    for (int i = 0; i < n; i++)
        found.mean += value[i] / n;
    for (int i = 0; i < n; i++)
        squares += pow(value[i] - found.mean, 2);
    found.half =
        n > 1 ? student(n - 1) * sqrt(squares / (n - 1) / n) : INFINITY;
    return found;
}

/* Returns the iteration of the slowest replica: replicas meet at its end. */
static double slowest_replica(struct mtlm_work *work,
                              const struct mtlm_program_config *config,
                              struct mtlm_noise_draws *draws, int replicas)
{
    double most = 0;

    for (int r = 0; r < replicas; r++) {
        struct mtlm_evaluation e;

        draws->replica = r;
        e = mtlm_work_evaluate(work, config);
        most = fmax(most, e.makespan_s);
        mtlm_evaluation_free(&e);
    }
    return most;
}

/* Sets seconds[of->n] to the iterations of the program. */
static void evaluate(const struct mtlm_program_config *config,
                     const struct plan_draws *of, double *seconds)
{
    const bool waits = strcmp(mtlm_plugin_wanted(), "mtlm") == 0
                       && !mtlm_program_is_chained(config);
    struct mtlm_work work = mtlm_work_create(config);
    struct mtlm_noise_draws draws = {.noise = of->noise, .seed = of->seed};

    if (waits)
        work.pipeline.hold = mtlm_hold_choose(&work.pipeline, NULL);
    work.pipeline.noise = &draws;
    for (int i = 0; i < of->n; i++) {
        if (of->noise->table)
            draws.iteration = i;
        else
            draws.seed = of->seed + i;
        seconds[i] = slowest_replica(&work, config, &draws, of->replicas);
    }
    mtlm_work_free(&work);
}

/* Prints which draws the plan has. */
static void print_draws(const struct plan_draws *draws, FILE *out)
{
    if (draws->noise->table)
        fprintf(out,
                "jitter           %d iterations of %d replica%s: ", draws->n,
                draws->replicas, mtlm_plural(draws->replicas));
    else
        fprintf(out, "jitter           seeds %" PRId64 " to %" PRId64 ": ",
                draws->seed, draws->seed + draws->n - 1);
}

/* Prints a mode beside the first one; seconds: overwritten. */
static void print_beside(const char *name, const double *first, double *seconds,
                         int n, FILE *out)
{
    struct plan_interval found;

    for (int i = 0; i < n; i++)
        seconds[i] = 100 * (seconds[i] / first[i] - 1);
    found = interval_of(seconds, n);
    fprintf(out, "%s %+.2f +- %.2f %%", name, found.mean, found.half);
}

void mtlm_plan_noise_print(const struct mtlm_program_config *config,
                           const struct mtlm_noise *noise, int64_t seed,
                           const char *without, double work_s, FILE *out)
{
    const struct plan_draws draws = draws_of(noise, seed);
    struct mtlm_plan_mode mode[MTLM_PLAN_MODES];
    const int n = mtlm_plan_modes_list(config, without, mode);
    double *first = mtlm_calloc(2 * draws.n, sizeof(*first));
    double *seconds = first + draws.n;
    struct plan_interval found;

    for (int i = 0; i < n; i++) {
        evaluate(&mode[i].config, &draws, i == 0 ? first : seconds);
        if (i > 0) {
            fprintf(out, i == 1 ? ";\n                 beside it " : ", ");
            print_beside(mode[i].name, first, seconds, draws.n, out);
            continue;
        }
        found = interval_of(first, draws.n);
        print_draws(&draws, out);
        fprintf(out, "%s %.6g%s +- %.2f %%", mode[0].name,
                work_s > 0 ? found.mean / work_s : found.mean,
                work_s > 0 ? " x" : " s", 100 * found.half / found.mean);
    }
    if (n > 0)
        fprintf(out, "\n");
    free(first);
}
