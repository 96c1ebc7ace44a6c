#ifndef MTLM_READ_METRICS_H
#define MTLM_READ_METRICS_H

/* Reads the losses and learning rates of a run from its file of --metrics
 * (launch/log/metrics.h). */

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/error.h"

/* The curves of a run. */
enum mtlm_curve_kind {
    MTLM_CURVE_TRAINING,   /* loss of each iteration with an optimizer step */
    MTLM_CURVE_VALIDATION, /* loss on the validation samples */
    MTLM_CURVE_TEST,       /* loss on the test samples */
    MTLM_CURVE_RATE,       /* learning rate */
    MTLM_CURVE_COUNT
};

/* Values by iteration. */
struct mtlm_curve {
    int64_t *iteration; /* [n] ascending */
    double *value;      /* [n] NaN: the loss was not finite */
    int64_t n, capacity;
};

struct mtlm_curves {
    struct mtlm_curve of[MTLM_CURVE_COUNT];
    bool of_task; /* of --task: losses are not of tokens */
};

/* Reads the file into *curves; the caller frees them.  A file may hold several
 * runs, each with its header: training that starts at iteration i replaces what
 * earlier runs wrote of i and later.  A last line without its end is left out:
 * the run may still be writing.  Returns -1 and sets *err: MTLM_EXIT_INPUT with
 * the line for a file of another kind or without losses, else as
 * mtlm_mapped_file_open(). */
int mtlm_read_metrics(struct mtlm_curves *curves, const char *path,
                      struct mtlm_error *err);

/* Frees the values.  Does nothing for zeroed or freed curves. */
void mtlm_curves_free(struct mtlm_curves *curves);

#endif /* MTLM_READ_METRICS_H */
