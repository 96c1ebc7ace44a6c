/* Megatron's iteration and validation lines. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/log/log_line.h"
#include "runtime/base/memory.h"
#include "runtime/base/text.h"

char *mtlm_log_iteration_line(const struct mtlm_log_iteration *log)
{
    struct mtlm_text line;
    FILE *f = mtlm_text_open(&line);
    char when[32], left[16];
    struct tm tm;

    localtime_r(&log->time, &tm);
    strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
    fprintf(f, " [%s] iteration %8lld/%8lld |", when,
            (long long) log->iteration, (long long) log->iterations);
    fprintf(f, " consumed samples: %12lld |", (long long) log->samples);
    fprintf(f, " elapsed time per iteration (ms): %.1f |", log->iteration_ms);
    if (log->tflops >= 0)
        fprintf(f, " throughput per GPU (TFLOP/s/GPU): %.1f |", log->tflops);
    fprintf(f, " learning rate: %.6E |", log->lr);
    fprintf(f, " global batch size: %5d |", log->global_batch);
    if (log->loss > 0)
        fprintf(f, " lm loss: %.6E |", log->loss);
    if (log->sop_loss > 0)
        fprintf(f, " sop loss: %.6E |", log->sop_loss);
    fprintf(f, " loss scale: %.1f |", log->loss_scale);
    fprintf(f, " grad norm: %.3f |", log->grad_norm);
    if (log->zeros >= 0)
        fprintf(f, " num zeros: %.1f |", log->zeros);
    if (log->params_norm >= 0)
        fprintf(f, " params norm: %.3f |", log->params_norm);
    fprintf(f, " number of skipped iterations: %3d |", log->skipped);
    fprintf(f, " number of nan iterations: %3d |", log->nan);
    if (log->sop_accuracy >= 0)
        fprintf(f, " sop accuracy: %.4f |", log->sop_accuracy);
    if (log->tokens_per_second >= 0)
        fprintf(f, " tokens per second: %.1f |", log->tokens_per_second);
    if (log->seconds_left >= 0)
        fprintf(f, " time left: %s |",
                mtlm_log_time_text(log->seconds_left, left));
    if (log->bubble >= 0)
        fprintf(f, " bubble: %.4f |", log->bubble);
    if (log->overlap >= 0)
        fprintf(f, " overlap: %.4f |", log->overlap);
    return mtlm_text_close(&line);
}

char *mtlm_log_time_text(double seconds, char text[16])
{
    static const struct {
        double length; /* seconds */
        const char *name;
    } units[] = {{1, "s"}, {60, "min"}, {3600, "h"}, {86400, "d"}};
    int i = 0;
    double n;

    /* Takes the smallest unit that gives a number below 99.5. */
    while (i < 3 && seconds >= 99.5 * units[i].length)
        i++;
    n = fmin(seconds / units[i].length, 1e6);
    snprintf(text, 16, "%.*f %s", i > 0 && n < 9.95, n, units[i].name);
    return text;
}

double mtlm_log_perplexity(double loss)
{
    /* Megatron caps the exponent: an untrained model's perplexity would be
     * infinite. */
    return exp(loss > 20 ? 20 : loss);
}

char *mtlm_log_validation_lines(const char *where, double loss, double sop_loss,
                                double sop_accuracy)
{
    /* Megatron's least of 20 and NaN is 20. */
    char *lm = mtlm_sprintf(" validation loss at %s | lm loss value: %.6E |"
                            " lm loss PPL: %.6E | ",
                            where, loss, exp(fmin(20, loss)));
    char *sop = sop_loss < 0
                    ? mtlm_strdup("")
                    : mtlm_sprintf("sop loss value: %.6E | sop loss PPL: %.6E"
                                   " | ",
                                   sop_loss, exp(fmin(20, sop_loss)));
    char *hits = sop_accuracy < 0
                     ? mtlm_strdup("")
                     : mtlm_sprintf("sop accuracy: %.4f | ", sop_accuracy);
    char *line = mtlm_sprintf("%s%s%s", lm, sop, hits);
    const size_t length = strlen(line) + 1;
    char *rule = mtlm_calloc(length + 1, 1);
    char *lines;

    memset(rule, '-', length);
    lines = mtlm_sprintf("%s\n%s\n%s", rule, line, rule);
    free(rule);
    free(line);
    free(hits);
    free(sop);
    free(lm);
    return lines;
}
