/* Fits the efficiency of a cluster file to measured iterations: the golden
 * section of the mean error. */

#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "launch/options/options_parse.h"
#include "launch/plan/cluster.h"
#include "launch/plan/step.h"
#include "launch/simulate/fit.h"
#include "launch/simulate/fit_rows.h"
#include "launch/simulate/simulate.h"
#include "runtime/base/memory.h"
#include "runtime/base/plural.h"

enum { STEPS = 30 };             /* efficiency to 1 in 10^5 */
static const double near = 1e-3; /* of a bound, relative */
static const double wide = 4;    /* the bounds: over this, and times this */
static const double golden = 0.6180339887498949;

struct fit {
    const char *file, *csv; /* the cluster's, the rows' */
    struct mtlm_fit_rows rows;
    struct mtlm_cluster cluster;
    double low, high; /* bounds */
};

/* ---- predictions ---- */

static int refuse_option(const char *option, struct mtlm_error *err)
{
    return mtlm_error_set(err, MTLM_EXIT_INPUT,
                          "a row has the options of a job; leave out --%s",
                          option);
}

/* Refuses a row that is no training to simulate, that names another machine
 * than the file, or that writes files. */
static int check_job(const struct mtlm_options *o, const char *file,
                     int request, struct mtlm_error *err)
{
    if (request != MTLM_REQUEST_SIMULATE)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "the row has no job for --simulate");
    if (strcmp(o->simulate_file, file) != 0)
        return refuse_option("simulate", err);
    if (o->metrics)
        return refuse_option("metrics", err);
    if (o->trace_dir)
        return refuse_option("trace", err);
    if (o->graph_out)
        return refuse_option("graph-out", err);
    if (o->simulate_engine != MTLM_ENGINE_EVALUATOR)
        return refuse_option("simulate-engine", err);
    return 0;
}

/* Reads the options of a row, for the cluster of file.  The caller frees the
 * options. */
static int read_job(const struct mtlm_fit_row *row, const char *file,
                    struct mtlm_options *options, struct mtlm_error *err)
{
    char **word = mtlm_calloc(row->n + 4, sizeof(*word));
    bool fits = false;
    int n = 0, rc;

    word[n++] = "mtlm-dag";
    word[n++] = "--simulate";
    word[n++] = (char *) file;
    for (int i = 0; i < row->n; i++) {
        fits |= strcmp(row->word[i], "--fit") == 0
                || strncmp(row->word[i], "--fit=", strlen("--fit=")) == 0;
        word[n++] = row->word[i];
    }
    rc = mtlm_options_parse(options, n, word, err);
    if (fits)
        rc = refuse_option("fit", err);
    else if (rc >= 0)
        rc = check_job(options, file, rc, err);
    free(word);
    return rc;
}

/* Sets *seconds to the prediction for a row.  Options are read anew each time:
 * a simulation settles them. */
static int predict(const struct fit *f, const struct mtlm_fit_row *row,
                   double *seconds, struct mtlm_error *err)
{
    struct mtlm_options options;
    int rc = read_job(row, f->file, &options, err);

    if (rc == 0)
        rc = mtlm_simulate_seconds(&options, &f->cluster, seconds, err);
    mtlm_options_free(&options);
    return rc < 0 ? mtlm_error_prefix(err, "%s:%d", f->csv, row->line) : 0;
}

/* Sets *error to the mean of predicted over measured seconds, less 1, with that
 * efficiency. */
static int mean_error(struct fit *f, double efficiency, double *error,
                      struct mtlm_error *err)
{
    double sum = 0;

    f->cluster.efficiency = efficiency;
    for (int i = 0; i < f->rows.n; i++) {
        double seconds;

        if (predict(f, &f->rows.row[i], &seconds, err) < 0)
            return -1;
        sum += fabs(seconds / f->rows.row[i].seconds - 1);
    }
    *error = sum / f->rows.n;
    return 0;
}

/* Sets *has to whether any row depends on the efficiency. */
static int has_effect(struct fit *f, bool *has, struct mtlm_error *err)
{
    *has = false;
    for (int i = 0; i < f->rows.n && !*has; i++) {
        double slow, fast;

        f->cluster.efficiency = f->low;
        if (predict(f, &f->rows.row[i], &slow, err) < 0)
            return -1;
        f->cluster.efficiency = f->high;
        if (predict(f, &f->rows.row[i], &fast, err) < 0)
            return -1;
        *has = slow != fast;
    }
    return 0;
}

/* ---- the search ---- */

/* Sets *found to the efficiency of the least mean error.  Distances count on a
 * scale of logarithms. */
static int search(struct fit *f, double *found, struct mtlm_error *err)
{
    double low = log(f->low), high = log(f->high);
    double left = high - golden * (high - low);
    double right = low + golden * (high - low), of_left, of_right;

    if (mean_error(f, exp(left), &of_left, err) < 0
        || mean_error(f, exp(right), &of_right, err) < 0)
        return -1;
    for (int i = 0; i < STEPS; i++) {
        const bool lower = of_left < of_right;

        if (lower) {
            high = right;
            right = left;
            of_right = of_left;
            left = high - golden * (high - low);
        } else {
            low = left;
            left = right;
            of_left = of_right;
            right = low + golden * (high - low);
        }
        if (mean_error(f, exp(lower ? left : right),
                       lower ? &of_left : &of_right, err)
            < 0)
            return -1;
    }
    *found = exp((low + high) / 2);
    return 0;
}

static bool is_near(double value, double bound)
{
    return fabs(value / bound - 1) < near;
}

/* Refuses a file without an efficiency, or one that no row depends on. */
static int check_effect(struct fit *f, struct mtlm_error *err)
{
    bool has = false;

    if (!f->cluster.timed && has_effect(f, &has, err) < 0)
        return -1;
    return has ? 0
               : mtlm_error_set(err, MTLM_EXIT_INPUT,
                                "--fit: efficiency of section [device] of %s "
                                "changes no iteration of %s",
                                f->file, f->csv);
}

static int fit(struct fit *f, FILE *out, struct mtlm_error *err)
{
    const double begin = f->cluster.efficiency;
    double found, before, after;

    f->low = begin / wide;
    f->high = fmin(wide * begin, 1);
    if (check_effect(f, err) < 0 || mean_error(f, begin, &before, err) < 0
        || search(f, &found, err) < 0 || mean_error(f, found, &after, err) < 0)
        return -1;
    if (is_near(found, f->low) || is_near(found, f->high))
        return mtlm_error_set(
            err, MTLM_EXIT_INPUT,
            "--fit: efficiency = %.4g is a bound of the search, %.4g to %.4g, "
            "and no fit: mean error %.1f %%, %.1f %% with %g",
            found, f->low, f->high, 100 * after, 100 * before, begin);
    fprintf(out,
            "efficiency = %.4g   ; fitted: %s\n"
            "mean error of %d iteration%s: %.1f %% with %g, %.1f %% fitted\n",
            found, f->csv, f->rows.n, mtlm_plural(f->rows.n), 100 * before,
            begin, 100 * after);
    return 0;
}

int mtlm_fit(const struct mtlm_options *options, FILE *out,
             struct mtlm_error *err)
{
    struct fit f = {.file = options->simulate_file, .csv = options->fit_file};
    int rc = mtlm_cluster_read(&f.cluster, f.file, "--simulate", err);

    if (rc == 0)
        rc = mtlm_fit_rows_read(&f.rows, f.csv, err);
    if (rc == 0)
        rc = fit(&f, out, err);
    mtlm_step_clear();
    mtlm_fit_rows_free(&f.rows);
    return rc;
}
