#ifndef MTLM_LOG_LINE_H
#define MTLM_LOG_LINE_H

#include <stdint.h>
#include <time.h>

/* The lines of Megatron-LM core_v0.12.0, character for character: scripts
 * match them.  Our own fields follow in the same form. */

struct mtlm_log_iteration {
    time_t time;                   /* written as local time */
    int64_t iteration, iterations; /* done, and in all */
    int64_t samples;               /* consumed since the first iteration */
    double iteration_ms;
    double tflops; /* per second and GPU or rank; negative: field left out */
    double lr;
    int global_batch;
    double loss; /* mean of the iterations since the last line; as in Megatron
                    the field is left out unless it is positive */
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

/* Without newline; the caller frees it. */
char *mtlm_log_iteration_line(const struct mtlm_log_iteration *log);

/* The validation line between its two rules of dashes, three lines without
 * the last newline; the caller frees it.  where: "iteration 100".  sop_loss
 * and our own field sop_accuracy: left out when negative. */
char *mtlm_log_validation_lines(const char *where, double loss, double sop_loss,
                                double sop_accuracy);

/* A span of time in a few characters, such as "42 s", "12 min", "5.2 h" or
 * "3.4 d"; returns text. */
char *mtlm_log_time_text(double seconds, char text[16]);

#endif /* MTLM_LOG_LINE_H */
