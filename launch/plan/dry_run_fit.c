/* Whether a planned job fits. */

#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "launch/plan/advice.h"
#include "launch/plan/dry_run_fit.h"
#include "launch/plan/step.h"
#include "runtime/base/units.h"

/* Returns the bytes of host memory that ranks with GPUs take on a machine; 0
 * where none of their state is offloaded. */
static double host_need(const struct mtlm_dry_run_fit *fit)
{
    return fit->on_gpus && fit->outline->plan[0].file_bytes > 0
               ? mtlm_outline_beside_bytes(fit->outline, fit->hosts->per_host)
               : 0;
}

/* Returns the number of machines like this one that hold the ranks in order of
 * their numbers.  0: a rank does not fit on a machine. */
static int count_machines(const struct mtlm_dry_run_fit *fit)
{
    const int ranks = mtlm_layout_ranks(&fit->outline->layout);
    int n = 1;
    double used = 0;

    if (fit->hosts->gpus)
        return fit->choice->need > fit->hosts->available
                       || host_need(fit) > fit->hosts->disk
                   ? 0
                   : (ranks + fit->hosts->gpus - 1) / fit->hosts->gpus;
    for (int r = 0; r < ranks; r++) {
        const double more =
            mtlm_plan_more_bytes(mtlm_outline_plan(fit->outline, r));

        if (more > fit->hosts->available)
            return 0;
        if (used + more > fit->hosts->available) {
            n++;
            used = 0;
        }
        used += more;
    }
    return n;
}

/* Returns whether the machines have the memory of all ranks. */
static bool has_memory(const struct mtlm_dry_run_fit *fit)
{
    const struct mtlm_hosts *hosts = fit->hosts;

    if (!fit->described && (hosts->gpus || hosts->elsewhere))
        return count_machines(fit) > 0;
    return fit->choice->need <= hosts->available
           && host_need(fit) <= hosts->disk;
}

static void print_advice(const struct mtlm_dry_run_fit *fit, FILE *out)
{
    char *advice;

    mtlm_step_show("looking for layouts that fit");
    advice = mtlm_advice(fit->options, fit->wish, fit->hosts, fit->launched);
    mtlm_step_clear();
    fprintf(out, "%s\n", advice);
    free(advice);
}

/* Prints whether the job fits on machines with GPUs: each rank has a GPU, or a
 * part of a GPU. */
static void print_fit_on_gpus(const struct mtlm_dry_run_fit *fit, FILE *out)
{
    const int n = count_machines(fit);

    fprintf(out,
            "GPUs             %d of this machine, a rank can have %.2f GiB of "
            "each; %.2f GiB are needed\n",
            fit->hosts->gpus, fit->hosts->available / MTLM_GIB,
            fit->choice->need / MTLM_GIB);
    if (host_need(fit) > 0)
        fprintf(out,
                "host memory      %.2f GiB available; %.2f GiB are needed\n",
                fit->hosts->disk / MTLM_GIB, host_need(fit) / MTLM_GIB);
    fputc('\n', out);
    if (n) {
        fprintf(out, "It fits on %d machine%s like this one.\n", n,
                n > 1 ? "s" : "");
        return;
    }
    fprintf(out, "It does not fit%s.\n",
            fit->choice->need > fit->hosts->available
                    && fit->choice->need <= fit->hosts->unshared
                ? ": another process holds part of a GPU"
                : "");
    print_advice(fit, out);
}

/* Prints whether the offloaded state fits into a host's memory. */
static void print_host_as_described(const struct mtlm_dry_run_fit *fit,
                                    FILE *out)
{
    const double need = host_need(fit) / MTLM_GIB;
    const char *file = fit->options->cluster_file;

    if (need > 0 && isinf(fit->hosts->disk))
        fprintf(out,
                "%.2f GiB are needed on a host; [host] of %s gives no "
                "memory_gb.\n",
                need, file);
    else if (need > 0)
        fprintf(
            out,
            "%.2f GiB are needed on a host, and %s gives a host %.2f GiB%s\n",
            need, file, fit->hosts->disk / MTLM_GIB,
            host_need(fit) > fit->hosts->disk ? ": too little." : ".");
}

/* Prints whether the fullest rank fits on a device of the cluster file. */
static void print_fit_as_described(const struct mtlm_dry_run_fit *fit,
                                   FILE *out)
{
    const double need = fit->choice->need / MTLM_GIB;
    const char *file = fit->options->cluster_file;

    if (isinf(fit->hosts->available))
        fprintf(out,
                "%.2f GiB are needed on a device; %s gives no memory_gb.\n",
                need, file);
    else
        fprintf(out,
                "It %s: %.2f GiB are needed on a device, and %s gives a device "
                "%.2f GiB.\n",
                fit->choice->need <= fit->hosts->available ? "fits"
                                                           : "does not fit",
                need, file, fit->hosts->available / MTLM_GIB);
    print_host_as_described(fit, out);
}

void mtlm_dry_run_fit(const struct mtlm_dry_run_fit *fit, FILE *out)
{
    const double have = fit->hosts->available / MTLM_GIB;
    const int n = count_machines(fit);
    struct mtlm_error err;

    fputc('\n', out);
    /* A run checks the counts after the memory. */
    if (has_memory(fit) && mtlm_outline_check_counts(fit->outline, &err) < 0)
        fprintf(out, "It does not run: %s.\n", err.text);
    else if (fit->described)
        print_fit_as_described(fit, out);
    else if (fit->hosts->gpus)
        print_fit_on_gpus(fit, out);
    else if (!fit->hosts->elsewhere
             && fit->choice->need <= fit->hosts->available) {
        fprintf(out,
                "It fits: %.2f GiB are needed, this machine has %.2f GiB "
                "available.\n",
                fit->choice->need / MTLM_GIB, have);
    } else if (!fit->hosts->elsewhere) {
        fprintf(out,
                "It does not fit: %.2f GiB are needed, this machine has %.2f "
                "GiB available.\n",
                fit->choice->need / MTLM_GIB, have);
        print_advice(fit, out);
    } else if (n) {
        fprintf(out,
                "The %d ranks fit on %d machine%s like this one, which "
                "has %.2f GiB available.\n",
                fit->hosts->ranks, n, n > 1 ? "s" : "", have);
    } else {
        fprintf(out,
                "A machine like this one, with %.2f GiB available, cannot hold "
                "the fullest rank.\n",
                have);
        print_advice(fit, out);
    }
}
