#ifndef MTLM_SUMMARY_TEXT_H
#define MTLM_SUMMARY_TEXT_H

/* --summary-text: the result of a run in sentences for newcomers. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct mtlm_job;

struct mtlm_summary_text {
    int64_t iterations;
    bool has_validation;
    double first_validation, last_validation; /* nats per token, or of a task */
    double last_hits;         /* share of correct answers of the binary head */
    double tokens_per_second; /* validation time included */
    double bubble; /* fraction of the recorded iterations; negative: none */
};

/* Prints the sentences. */
void mtlm_summary_text_print(const struct mtlm_summary_text *text,
                             const struct mtlm_job *job, FILE *out);

#endif /* MTLM_SUMMARY_TEXT_H */
