#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codelets/control_slots.h"
#include "runtime/base/philox.h"
#include "tests/graph/weights.h"
#include "tests/worse.h"

enum { NOISE_SEED = 4711 };
#define ROUNDING 1e-14 /* of a gradient that is 0, over all gradients' norm */

bool weight_exists(const struct mtlm_program_config *config, int64_t number)
{
    const struct weight w = weight_number(config, number);

    return mtlm_param_place(&config->model, w.kind) != MTLM_PLACE_NONE;
}

struct weight weight_number(const struct mtlm_program_config *config,
                            int64_t number)
{
    const struct mtlm_model *model = &config->model;
    const int64_t layers = MTLM_PARAM_PER_LAYER * model->num_layers;
    struct weight w = {.kind = number % MTLM_PARAM_PER_LAYER,
                       .layer = number / MTLM_PARAM_PER_LAYER};

    if (number >= layers)
        w = (struct weight){.kind = MTLM_PARAM_PER_LAYER + number - layers,
                            .layer = -1};
    w.info = mtlm_param_info(model, w.kind, config->layout.tp);
    w.n = (w.kind == MTLM_PARAM_WORD || w.kind == MTLM_PARAM_LM_BIAS
               ? model->vocab_size
               : w.info.rows)
          * w.info.cols;
    snprintf(w.name, sizeof(w.name), "%s of layer %d", w.info.name,
             (int) w.layer);
    return w;
}

void normal_numbers(mtlm_real *x, int64_t n, uint64_t seed, uint64_t stream)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t word[4];

        mtlm_philox(seed, stream, i, word);
        x[i] = sqrt(-2 * log((word[0] + 1.0) / 4294967296.0))
               * cos(6.283185307179586 / 4294967296.0 * word[1]);
    }
}

static int ranks(const struct interpreter *in)
{
    return mtlm_layout_ranks(&interpreter_program(in, 0)->config.layout);
}

/* Copies between a shard and its place in the whole. */
static void move_shard(const struct mtlm_parameter *p, mtlm_real *whole,
                       mtlm_real *part, bool to_part)
{
    const int64_t cols =
        p->info.cols == 1 ? 1 : mtlm_shape_cols(&p->weight->shape);
    const int64_t rows = mtlm_shape_elems(&p->weight->shape) / cols;

    for (int64_t i = 0; i < rows; i++) {
        mtlm_real *at =
            whole + (p->first_row + i) * p->info.cols + p->first_col;

        if (to_part)
            memcpy(part + i * cols, at, cols * sizeof(*at));
        else
            memcpy(at, part + i * cols, cols * sizeof(*at));
    }
}

/* This rank's shard of the gradient, of which it has a piece alone. */
static void move_piece(struct interpreter *in, int rank,
                       const struct mtlm_parameter *p, mtlm_real *whole)
{
    const int64_t cols =
        p->info.cols == 1 ? 1 : mtlm_shape_cols(&p->weight->shape);
    const mtlm_real *piece = interpreter_data(in, rank, p->reduced);

    for (int64_t i = 0; i < mtlm_shape_elems(&p->reduced->shape); i++) {
        const int64_t row = (p->first + i) / cols, col = (p->first + i) % cols;

        whole[(p->first_row + row) * p->info.cols + p->first_col + col] =
            piece[i];
    }
}

mtlm_real *weight_whole(struct interpreter *in, enum mtlm_param kind,
                        int64_t layer, int which)
{
    const struct mtlm_param_info info =
        mtlm_param_info(&interpreter_program(in, 0)->config.model, kind,
                        interpreter_program(in, 0)->config.layout.tp);
    mtlm_real *whole = mtlm_calloc(info.rows * info.cols, sizeof(*whole));

    for (int r = 0; r < ranks(in); r++) {
        const struct mtlm_parameter *p =
            mtlm_program_param(interpreter_program(in, r), kind, layer, false);

        if (p && which && p->reduced)
            move_piece(in, r,
                       mtlm_program_summed(interpreter_program(in, r), p),
                       whole);
        else if (p && !which)
            move_shard(p, whole, interpreter_data(in, r, p->weight), false);
    }
    return whole;
}

void weight_put(struct interpreter *in, enum mtlm_param kind, int64_t layer,
                mtlm_real *whole)
{
    for (int r = 0; r < ranks(in); r++)
        for (int head = 0; head < 2; head++) {
            const struct mtlm_parameter *p = mtlm_program_param(
                interpreter_program(in, r), kind, layer, head == 1);

            for (int s = 0; p && s < p->weight->slots; s++)
                move_shard(p, whole, interpreter_data_of(in, r, p->weight, s),
                           true);
        }
}

struct interpreter *weights_start(const struct mtlm_program_config *config,
                                  double noise)
{
    struct interpreter *in = interpreter_create(config);
    const int64_t numbers = mtlm_param_numbers(&config->model);

    interpreter_init(in);
    for (int64_t i = 0; i < numbers; i++) {
        const struct weight w = weight_number(config, i);
        mtlm_real *whole, *random;

        if (!weight_exists(config, i))
            continue;
        whole = weight_whole(in, w.kind, w.layer, 0);
        random = mtlm_calloc(w.n, sizeof(*random));
        normal_numbers(random, w.n, NOISE_SEED, i);
        for (int64_t e = 0; e < w.n; e++)
            whole[e] += noise * random[e];
        weight_put(in, w.kind, w.layer, whole);
        free(random);
        free(whole);
    }
    return in;
}

mtlm_real **weights_read(struct interpreter *in, int which)
{
    const struct mtlm_program_config *config =
        &interpreter_program(in, 0)->config;
    const int64_t numbers = mtlm_param_numbers(&config->model);
    mtlm_real **whole = mtlm_calloc(numbers, sizeof(*whole));

    for (int64_t i = 0; i < numbers; i++) {
        const struct weight w = weight_number(config, i);

        if (weight_exists(config, i))
            whole[i] = weight_whole(in, w.kind, w.layer, which);
    }
    return whole;
}

void weights_free(struct interpreter *in, mtlm_real **whole)
{
    const struct mtlm_model *model = &interpreter_program(in, 0)->config.model;

    for (int64_t i = 0; i < mtlm_param_numbers(model); i++)
        free(whole[i]);
    free(whole);
}

double weights_control(struct interpreter *in, int rank, int slot)
{
    const double *control =
        interpreter_data(in, rank, interpreter_program(in, rank)->control);

    return control[slot];
}

double relative_distance(const mtlm_real *a, const mtlm_real *b, int64_t n)
{
    double difference = 0, size = 0;

    for (int64_t i = 0; i < n; i++) {
        difference += ((double) a[i] - b[i]) * ((double) a[i] - b[i]);
        size += (double) b[i] * b[i];
    }
    return sqrt(difference / size);
}

struct result result_of(const struct mtlm_program_config *config, double noise,
                        int iterations)
{
    struct result r = {.in = weights_start(config, noise)};

    for (int e = 0; e < iterations; e++)
        interpreter_iteration(r.in, e, iterations == 1);
    r.whole = weights_read(r.in, iterations == 1);
    r.loss = weights_control(r.in, 0, MTLM_CONTROL_LOSS);
    r.sop = weights_control(r.in, 0, MTLM_CONTROL_SOP);
    r.norm = weights_control(r.in, 0, MTLM_CONTROL_NORM);
    r.hits = weights_control(r.in, 0, MTLM_CONTROL_SOP_HITS);
    return r;
}

void result_free(struct result *result)
{
    weights_free(result->in, result->whole);
    interpreter_destroy(result->in);
}

static double size_of(const mtlm_real *x, int64_t n)
{
    double square = 0;

    for (int64_t i = 0; i < n; i++)
        square += (double) x[i] * x[i];
    return sqrt(square);
}

/* Whether both gradients are rounding alone. */
static bool is_rounding(const mtlm_real *a, const mtlm_real *b, int64_t n,
                        double norm)
{
    return size_of(a, n) < ROUNDING * norm && size_of(b, n) < ROUNDING * norm;
}

void assert_close(const struct result *a, const struct result *b, double bound)
{
    const struct mtlm_program_config *config =
        &interpreter_program(a->in, 0)->config;
    double worst =
        worse(fabs(a->loss / b->loss - 1), fabs(a->norm / b->norm - 1));

    if (b->sop != 0)
        worst = worse(worst, fabs(a->sop / b->sop - 1));
    worst = worse(worst, fabs(a->hits - b->hits));
    for (int64_t i = 0; i < mtlm_param_numbers(&config->model); i++) {
        const struct weight w = weight_number(config, i);
        double distance;

        if (!a->whole[i] || is_rounding(a->whole[i], b->whole[i], w.n, b->norm))
            continue;
        distance = relative_distance(a->whole[i], b->whole[i], w.n);
        if (!(distance <= bound))
            print_message("# %s differs by %g\n", w.name, distance);
        worst = worse(worst, distance);
    }
    if (bound > 0)
        print_message("# differs by %.2g at most\n", worst);
    assert_true(worst <= bound);
}
