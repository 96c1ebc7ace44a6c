#ifndef MTLM_LOG_LINE_H
#define MTLM_LOG_LINE_H

/* Log lines of Megatron-LM core_v0.12.0, character for character: scripts match
 * them.  Our own fields follow in the same form. */

#include <stdint.h>
#include <time.h>

struct mtlm_log_iteration {
    time_t time;                   /* written as local time */
    int64_t iteration, iterations; /* done; of the whole run */
    int64_t samples;               /* consumed since the first iteration */
    double iteration_ms;
    double tflops; /* per second and GPU or rank; negative: field left out */
    double lr;
    int global_batch;
    double loss; /* mean since the last line; field left out unless positive, as
                    in Megatron */
    double sop_loss; /* likewise */
    double loss_scale, grad_norm;
    double zeros, params_norm; /* negative: field left out */
    int skipped, nan;          /* iterations since the last line */

    /* Ours, negative: field left out. */
    double sop_accuracy; /* fraction */
    double tokens_per_second;
    double seconds_left;    /* of the whole run */
    double bubble, overlap; /* fractions */
};

/* Returns the line without newline; the caller frees it. */
char *mtlm_log_iteration_line(const struct mtlm_log_iteration *log);

/* Returns the validation line between two rules of dashes, without the last
 * newline; the caller frees it.  where: "iteration 100".  Negative sop_loss and
 * sop_accuracy are left out. */
char *mtlm_log_validation_lines(const char *where, double loss, double sop_loss,
                                double sop_accuracy);

/* Returns the perplexity of a loss, at most exp(20); NaN: the loss is NaN. */
double mtlm_log_perplexity(double loss);

/* Writes a duration such as "42 s", "12 min", "5.2 h" or "3.4 d"; returns
 * text. */
char *mtlm_log_time_text(double seconds, char text[16]);

#endif /* MTLM_LOG_LINE_H */
