/* Running means of training losses, and a table of the last losses. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "launch/report/losses.h"
#include "runtime/base/memory.h"

/* Losses in a mean: 1 of so many.  Fewer than twice as many losses have no
 * mean. */
enum { MEANS = 50 };

/* Finite losses come in blocks of `width`.  A window has the last losses of the
 * block before, and those of the block so far.  No loss is subtracted: after a
 * huge one the difference would lack the others. */
static void compute_means(struct mtlm_losses *losses)
{
    const struct mtlm_curve *c = &losses->curves.of[MTLM_CURVE_TRAINING];
    const int64_t width = c->n >= 2 * MEANS ? c->n / MEANS : 1;
    double *block = mtlm_calloc(width, sizeof(*block));
    /* [i]: sum of the block before from loss i on. */
    double *before = mtlm_calloc(width + 1, sizeof(*before));
    double sum = 0; /* of the block so far */
    int64_t n = 0, in_mean = 0;

    losses->width = width;
    losses->mean = mtlm_calloc(c->n ? c->n : 1, sizeof(*losses->mean));
    for (int64_t i = 0; i < c->n; i++) {
        if (!isfinite(c->value[i])) {
            losses->mean[i] = NAN;
            continue;
        }
        sum += block[n++] = c->value[i];
        in_mean += in_mean < width;
        losses->mean[i] = (before[n] + sum) / in_mean;
        if (n < width)
            continue;
        for (; n > 0; n--)
            before[n - 1] = before[n] + block[n - 1];
        sum = 0;
    }
    free(block);
    free(before);
}

int mtlm_losses_read(struct mtlm_losses *losses, const char *name,
                     struct mtlm_error *err)
{
    *losses = (struct mtlm_losses){.name = name};
    if (mtlm_read_metrics(&losses->curves, name, err) < 0)
        return -1;
    compute_means(losses);
    return 0;
}

void mtlm_losses_free(struct mtlm_losses *losses)
{
    mtlm_curves_free(&losses->curves);
    free(losses->mean);
    losses->mean = NULL;
}

/* Prints the value at index i of n; "-": there is none. */
static void print_value(FILE *out, const double *value, int64_t i, int64_t n,
                        int columns)
{
    if (n == 0)
        fprintf(out, "  %*s", columns, "-");
    else if (isfinite(value[i]))
        fprintf(out, "  %*.4f", columns, value[i]);
    else
        fprintf(out, "  %*s", columns, "NaN");
}

static int64_t index_of_least(const struct mtlm_curve *curve)
{
    int64_t least = 0;

    for (int64_t i = 1; i < curve->n; i++)
        if (curve->value[i] < curve->value[least] || isnan(curve->value[least]))
            least = i;
    return least;
}

static int64_t last_iteration(const struct mtlm_curves *curves)
{
    int64_t last = 0;

    for (int kind = 0; kind < MTLM_CURVE_COUNT; kind++) {
        const struct mtlm_curve *c = &curves->of[kind];

        if (c->n > 0 && c->iteration[c->n - 1] > last)
            last = c->iteration[c->n - 1];
    }
    return last;
}

static void print_run(FILE *out, const struct mtlm_losses *run, int columns)
{
    const struct mtlm_curve *of = run->curves.of;
    const struct mtlm_curve *valid = &of[MTLM_CURVE_VALIDATION];
    const struct mtlm_curve *test = &of[MTLM_CURVE_TEST];
    const int64_t trained = of[MTLM_CURVE_TRAINING].n;
    const int64_t least = index_of_least(valid);

    fprintf(out, "%-*s  %10" PRId64, columns, run->name,
            last_iteration(&run->curves));
    print_value(out, run->mean, trained - 1, trained, 13);
    fprintf(out, "  %7" PRId64, run->width);
    print_value(out, valid->value, valid->n - 1, valid->n, 15);
    print_value(out, valid->value, least, valid->n, 10);
    if (valid->n)
        fprintf(out, "  %12" PRId64, valid->iteration[least]);
    else
        fprintf(out, "  %12s", "-");
    print_value(out, test->value, test->n - 1, test->n, 9);
    putc('\n', out);
}

void mtlm_losses_print(FILE *out, const struct mtlm_losses *run, int n)
{
    size_t columns = 4;

    for (int i = 0; i < n; i++)
        if (columns < strlen(run[i].name))
            columns = strlen(run[i].name);
    fprintf(out, "%-*s  %10s  %13s  %7s  %15s  %10s  %12s  %9s\n",
            (int) columns, "file", "iterations", "training loss", "mean of",
            "validation loss", "least", "at iteration", "test loss");
    for (int i = 0; i < n; i++)
        print_run(out, &run[i], columns);
}
