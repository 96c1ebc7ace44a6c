/* Evaluates the modes of a plan under noise, over seeds. */

#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "graph/predict/hold.h"
#include "graph/predict/work.h"
#include "launch/plan/plan_noise.h"
#include "runtime/base/memory.h"
#include "runtime/base/plural.h"
#include "runtime/file/output_file.h"
#include "runtime/machine/plugin.h"

enum { SEEDS = 20 };

static struct mtlm_plan_draws draws_of(const struct mtlm_noise *noise,
                                       int64_t seed)
{
    const struct mtlm_noise_table *table = noise ? noise->table : NULL;

    if (table)
        return (struct mtlm_plan_draws){noise, seed, table->iterations,
                                        table->replicas};
    return (struct mtlm_plan_draws){noise, seed, noise ? SEEDS : 1, 1};
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

/* Returns iteration i of the draws. */
static struct mtlm_noise_draws draw_of(const struct mtlm_plan_draws *draws,
                                       int i)
{
    const bool measured = draws->noise && draws->noise->table;

    return (struct mtlm_noise_draws){.noise = draws->noise,
                                     .seed = draws->seed + (measured ? 0 : i),
                                     .iteration = measured ? i : 0};
}

/* Returns the iteration of the slowest replica: replicas meet at its end. */
static double slowest_replica(struct mtlm_work *work,
                              const struct mtlm_program_config *config,
                              struct mtlm_noise_draws *draws, int replicas)
{
    double most = 0;

    for (int r = 0; r < replicas; r++) {
        draws->replica = r;
        most = fmax(most, mtlm_work_seconds(work, config));
    }
    return most;
}

/* Sets seconds[of->n] to the iterations of the program. */
static void evaluate(const struct mtlm_program_config *config,
                     const struct mtlm_plan_draws *of, double *seconds)
{
    const bool waits = mtlm_plugin_holds() && !mtlm_program_is_chained(config);
    struct mtlm_work work = mtlm_work_create(config);

    if (waits)
        work.pipeline.hold = mtlm_hold_choose(&work.pipeline, NULL);
    for (int i = 0; i < of->n; i++) {
        struct mtlm_noise_draws draws = draw_of(of, i);

        work.pipeline.noise = of->noise ? &draws : NULL;
        seconds[i] = slowest_replica(&work, config, &draws, of->replicas);
    }
    work.pipeline.noise = NULL;
    mtlm_work_free(&work);
}

struct mtlm_plan_noise mtlm_plan_noise_evaluate(
    const struct mtlm_program_config *config, const struct mtlm_noise *noise,
    int64_t seed, const char *without)
{
    struct mtlm_plan_noise plan = {.draws = draws_of(noise, seed)};
    const int n = plan.draws.n;

    plan.modes = mtlm_plan_modes_list(config, without, plan.mode);
    plan.seconds =
        mtlm_calloc((size_t) (plan.modes + 1) * n, sizeof(*plan.seconds));
    for (int i = 0; i < plan.modes; i++)
        evaluate(&plan.mode[i].config, &plan.draws,
                 plan.seconds + (size_t) i * n);
    return plan;
}

void mtlm_plan_noise_free(struct mtlm_plan_noise *plan)
{
    free(plan->seconds);
    plan->seconds = NULL;
}

/* ---- in words ---- */

/* Prints which draws the plan has. */
static void print_draws(const struct mtlm_plan_draws *draws, FILE *out)
{
    if (draws->noise->table)
        fprintf(out,
                "jitter           %d iterations of %d replica%s: ", draws->n,
                draws->replicas, mtlm_plural(draws->replicas));
    else
        fprintf(out, "jitter           seeds %" PRId64 " to %" PRId64 ": ",
                draws->seed, draws->seed + draws->n - 1);
}

/* Prints a mode beside the first one. */
static void print_beside(const char *name, const double *first,
                         const double *seconds, int n, FILE *out)
{
    double *more = mtlm_calloc(n, sizeof(*more));
    struct plan_interval found;

    for (int i = 0; i < n; i++)
        more[i] = 100 * (seconds[i] / first[i] - 1);
    found = interval_of(more, n);
    fprintf(out, "%s %+.2f +- %.2f %%", name, found.mean, found.half);
    free(more);
}

void mtlm_plan_noise_print(const struct mtlm_plan_noise *plan, double work_s,
                           FILE *out)
{
    const int n = plan->draws.n;
    const double *first = plan->seconds;
    const struct plan_interval found = interval_of(first, n);

    if (plan->modes == 0)
        return;
    print_draws(&plan->draws, out);
    fprintf(out, "%s %.6g%s +- %.2f %%", plan->mode[0].name,
            work_s > 0 ? found.mean / work_s : found.mean,
            work_s > 0 ? " x" : " s", 100 * found.half / found.mean);
    for (int i = 1; i < plan->modes; i++) {
        fprintf(out, i == 1 ? ";\n                 beside it " : ", ");
        print_beside(plan->mode[i].name, first, first + (size_t) i * n, n, out);
    }
    fprintf(out, "\n");
}

/* ---- as a file ---- */

static int write_mode(struct mtlm_output_file *file,
                      const struct mtlm_plan_noise *plan, int mode,
                      struct mtlm_error *err)
{
    const struct mtlm_plan_mode *m = &plan->mode[mode];
    const int n = plan->draws.n;
    int rc = 0;

    for (int i = 0; rc == 0 && i < n; i++) {
        const struct mtlm_noise_draws draws = draw_of(&plan->draws, i);

        rc = mtlm_output_file_print(
            file, err, "%s,%" PRId64 ",%" PRId64 ",%.17g\n",
            m->without ? "emergent" : m->name, (int64_t) draws.seed,
            draws.iteration, plan->seconds[(size_t) mode * n + i]);
    }
    return rc;
}

int mtlm_plan_noise_write(const struct mtlm_plan_noise *plan, const char *path,
                          struct mtlm_error *err)
{
    struct mtlm_output_file *file = mtlm_output_file_create_in_place(path, err);
    int rc;

    if (!file)
        return -1;
    rc = mtlm_output_file_print(file, err, "mode,seed,iteration,seconds\n");
    for (int i = 0; rc == 0 && i < plan->modes; i++)
        rc = write_mode(file, plan, i, err);
    return mtlm_output_file_end(file, rc, err);
}
