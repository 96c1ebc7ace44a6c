#ifndef MTLM_TESTS_WEIGHTS_H
#define MTLM_TESTS_WEIGHTS_H

#include "tests/graph/interpreter.h"

/* Weights and gradients of a whole model, whatever its layout. */

/* One parameter of the model. */
struct weight {
    enum mtlm_param kind;
    int64_t layer; /* -1 outside the layers */
    struct mtlm_param_info info;
    int64_t n; /* elements, without the padding of the vocabulary */
    char name[80];
};

struct weight weight_number(const struct mtlm_program_config *config,
                            int64_t number);

/* Whether the model has a parameter of that number. */
bool weight_exists(const struct mtlm_program_config *config, int64_t number);

/* Standard normal numbers, the same for the same seed and stream. */
void normal_numbers(mtlm_real *x, int64_t n, uint64_t seed, uint64_t stream);

/* Copies of a parameter's shards, put together as the whole [rows, cols];
 * which: 0 weight, 1 gradient. The caller frees it. */
mtlm_real *weight_whole(struct interpreter *in, enum mtlm_param kind,
                        int64_t layer, int which);

/* Gives every shard, copy and version of a weight its part of the whole. */
void weight_put(struct interpreter *in, enum mtlm_param kind, int64_t layer,
                mtlm_real *whole);

/* An interpreter whose weights are initial ones plus noise, so that no gain
 * is 1 and no bias is 0.  The same in every layout. */
struct interpreter *weights_start(const struct mtlm_program_config *config,
                                  double noise);

/* Gradients of iteration 0, or weights, by parameter number, NULL where there
 * is none; the caller frees them with weights_free(). */
mtlm_real **weights_read(struct interpreter *in, int which);
void weights_free(struct interpreter *in, mtlm_real **whole);

/* A value of the control tensor (MTLM_CONTROL_...) of rank. */
double weights_control(struct interpreter *in, int rank, int slot);

/* What came of some iterations. */
struct result {
    struct interpreter *in;
    mtlm_real **whole;      /* by parameter number, NULL where there is none */
    double loss, sop, norm; /* of the last one; sop 0: there is none */
    double hits;            /* share of right answers of a head */
};

/* Of weights_start(): gradients if there is one iteration, else weights. */
struct result result_of(const struct mtlm_program_config *config, double noise,
                        int iterations);
void result_free(struct result *result);

/* Fails unless losses, hits, norm and each parameter of a and b differ by no
 * more than bound, relatively; 0: by nothing.  Gradients that are rounding
 * alone do not count. */
void assert_close(const struct result *a, const struct result *b, double bound);

/* |a - b| / |b| */
double relative_distance(const mtlm_real *a, const mtlm_real *b, int64_t n);

#endif /* MTLM_TESTS_WEIGHTS_H */
