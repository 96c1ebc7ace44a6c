/* Megatron's iteration and validation lines. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/log_line.h"
#include "runtime/memory.h"

char *mtlm_log_iteration_line(const struct mtlm_log_iteration *log)
{
    char *line;
    size_t size;
    FILE *f = open_memstream(&line, &size);
    char when[32];
    struct tm tm;

    if (!f)
        abort();
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
    fprintf(f, " loss scale: %.1f |", log->loss_scale);
    fprintf(f, " grad norm: %.3f |", log->grad_norm);
    fprintf(f, " number of skipped iterations: %3d |", log->skipped);
    fprintf(f, " number of nan iterations: %3d |", log->nan);
    if (log->tokens_per_second >= 0)
        fprintf(f, " tokens per second: %.1f |", log->tokens_per_second);
    if (log->bubble >= 0)
        fprintf(f, " bubble: %.4f |", log->bubble);
    if (log->overlap >= 0)
        fprintf(f, " overlap: %.4f |", log->overlap);
    if (fclose(f))
        abort();
    return line;
}

char *mtlm_log_validation_lines(const char *where, double loss)
{
    /* Megatron caps the exponent, lest an untrained model's be infinite. */
    char *line = mtlm_sprintf(" validation loss at %s | lm loss value: %.6E |"
                              " lm loss PPL: %.6E | ",
                              where, loss, exp(fmin(20, loss)));
    const size_t length = strlen(line) + 1;
    char *rule = mtlm_calloc(length + 1, 1);
    char *lines;

    memset(rule, '-', length);
    lines = mtlm_sprintf("%s\n%s\n%s", rule, line, rule);
    free(rule);
    free(line);
    return lines;
}
