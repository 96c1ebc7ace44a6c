/* Writes metrics as JSON lines and TensorBoard events from one table of
 * fields. */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "launch/log/append_file.h"
#include "launch/log/metrics.h"
#include "launch/log/tfevents.h"
#include "launch/options/option_value.h"
#include "runtime/base/memory.h"

struct mtlm_metrics {
    struct mtlm_append_file *lines; /* or NULL */
    struct mtlm_tfevents *events;   /* or NULL */
    bool trained;                   /* a step came */
};

/* A number of a step.  name: in the JSON line.  tag: in TensorBoard,
 * Megatron-LM's if there is one.  NULL: not written there.  A negative value is
 * not written. */
struct field {
    const char *name, *tag;
    double value;
};

enum { MAX_FIELDS = 24 };

/* Sets field[] to the fields of a step; returns their number. */
static int fields_of(const struct mtlm_log_iteration *s,
                     struct field field[MAX_FIELDS])
{
    const struct field all[] = {
        {"consumed_samples", NULL, s->samples},
        {"iteration_ms", NULL, s->iteration_ms},
        {NULL, "iteration-time", 1e-3 * s->iteration_ms},
        {"tflops_per_rank", "throughput", s->tflops},
        {"learning_rate", "learning-rate", s->lr},
        {"global_batch_size", "batch-size", s->global_batch},
        {"lm_loss", "lm loss", s->loss},
        {"sop_loss", "sop loss", s->sop_loss},
        {"sop_accuracy", "sop accuracy", s->sop_accuracy},
        {"loss_scale", "loss-scale", s->loss_scale},
        {"grad_norm", "grad-norm", s->grad_norm},
        {"zeros_in_gradients", "num-zeros", s->zeros},
        {"params_norm", "params-norm", s->params_norm},
        {"skipped", NULL, s->skipped},
        {"nan", NULL, s->nan},
        {"tokens_per_second", "tokens per second", s->tokens_per_second},
        {"bubble", "bubble", s->bubble},
        {"overlap", "overlap", s->overlap},
    };
    int n = 0;

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (!(all[i].value < 0)) /* keeps NaN */
            field[n++] = all[i];
    return n;
}

/* null: infinite or NaN, which JSON does not have. */
static json_t *number_or_null(double value)
{
    if (!isfinite(value))
        return json_null();
    return value == rint(value) && fabs(value) < 1e15
               ? json_integer((json_int_t) value)
               : json_real(value);
}

static double wall_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* Writes and frees object. */
static void put_line(struct mtlm_metrics *metrics, json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(13));
    char *line;

    if (!text)
        mtlm_fatal(__FILE__, __LINE__, "out of memory for a line of metrics");
    line = mtlm_sprintf("%s\n", text);
    mtlm_append_file_put(metrics->lines, line, strlen(line));
    free(line);
    free(text);
    json_decref(object);
}

static int make_events(struct mtlm_metrics *metrics, const char *dir,
                       struct mtlm_error *err)
{
    if (dir)
        metrics->events = mtlm_tfevents_open(dir, err);
    return dir && !metrics->events ? -1 : 0;
}

/* A simulation writes one line and then ends. */
static int make_lines(struct mtlm_metrics *metrics,
                      const struct mtlm_options *options,
                      struct mtlm_error *err)
{
    const char *path = options->metrics;

    if (!path)
        return 0;
    metrics->lines = mtlm_append_file_open(path, err);
    if (!metrics->lines)
        return -1;
    if (options->request == MTLM_REQUEST_SIMULATE)
        mtlm_append_file_quiet(metrics->lines);
    mtlm_append_file_end_line(metrics->lines);
    return 0;
}

int mtlm_metrics_open(const struct mtlm_options *options,
                      struct mtlm_metrics **metrics, struct mtlm_error *err)
{
    *metrics = NULL;
    if (!options->metrics && !options->tensorboard_dir)
        return 0;
    *metrics = mtlm_calloc(1, sizeof(**metrics));
    if (make_lines(*metrics, options, err) == 0
        && make_events(*metrics, options->tensorboard_dir, err) == 0)
        return 0;
    mtlm_metrics_close(*metrics);
    *metrics = NULL;
    return -1;
}

int mtlm_metrics_close(struct mtlm_metrics *metrics)
{
    int rc;

    if (!metrics)
        return 0;
    rc = mtlm_append_file_close(metrics->lines);
    if (mtlm_tfevents_close(metrics->events) < 0)
        rc = -1;
    free(metrics);
    return rc;
}

/* Returns the option as number, boolean or text; null: no value. */
static json_t *option_value(const struct mtlm_options *options, int option)
{
    const enum mtlm_option_type type = mtlm_option_table[option].type;
    json_t *value = NULL;
    char *text;

    if (mtlm_option_value_absent(options, option))
        return json_null();
    text = mtlm_option_value_text(options, option);
    if (type == MTLM_OPTION_INT)
        value = json_integer(strtoll(text, NULL, 10));
    else if (type == MTLM_OPTION_REAL)
        value = json_real(strtod(text, NULL));
    else if (type == MTLM_OPTION_FLAG)
        value = json_boolean(strcmp(text, "yes") == 0);
    else
        value = json_string(text);
    free(text);
    return value ? value : json_null();
}

static json_t *all_options(const struct mtlm_options *options)
{
    json_t *object = json_object();

    for (int i = 0; i < MTLM_OPTION_COUNT; i++)
        if (mtlm_option_in_file(i))
            json_object_set_new(object, mtlm_option_table[i].name,
                                option_value(options, i));
    return object;
}

void mtlm_metrics_begin(struct mtlm_metrics *metrics,
                        const struct mtlm_options *options,
                        const struct mtlm_metrics_about *about)
{
    json_t *object;

    if (!metrics || !metrics->lines) {
        json_decref(about->simulation);
        return;
    }
    object = json_pack(
        "{s:s, s:s, s:f, s:i, s:i, s:i, s:i, s:o, s:s?, s:s?,"
        " s:s?, s:s?, s:o}",
        "program", "mtlm-dag", "version", PACKAGE_VERSION, "time",
        wall_seconds(), "ranks", about->ranks, "tensor", about->tensor,
        "pipeline", about->pipeline, "data", about->data, "parameters",
        number_or_null(about->parameters), "policy", about->policy,
        "starpu_version", about->starpu_version, "gpu", about->gpu, "transport",
        about->transport, "options", all_options(options));
    if (about->simulation)
        json_object_set_new(object, "simulation", about->simulation);
    put_line(metrics, object);
}

static void put_step(struct mtlm_metrics *metrics, int64_t iteration,
                     double time, const struct field *field, int n)
{
    json_t *object = json_pack("{s:I, s:f}", "iteration",
                               (json_int_t) iteration, "time", time);

    for (int i = 0; i < n; i++)
        if (field[i].name)
            json_object_set_new(object, field[i].name,
                                number_or_null(field[i].value));
    put_line(metrics, object);
}

static void put_event(struct mtlm_metrics *metrics, int64_t iteration,
                      double time, const struct field *field, int n)
{
    struct mtlm_scalar scalar[MAX_FIELDS];
    size_t count = 0;

    for (int i = 0; i < n; i++)
        if (field[i].tag)
            scalar[count++] =
                (struct mtlm_scalar){field[i].tag, field[i].value};
    mtlm_tfevents_add(metrics->events, time, iteration, scalar, count);
}

void mtlm_metrics_step(struct mtlm_metrics *metrics,
                       const struct mtlm_log_iteration *step)
{
    struct field field[MAX_FIELDS];
    int n;

    if (!metrics)
        return;
    n = fields_of(step, field);
    if (metrics->lines)
        put_step(metrics, step->iteration, wall_seconds(), field, n);
    if (metrics->events && !metrics->trained)
        mtlm_tfevents_start(metrics->events, wall_seconds(), step->iteration);
    metrics->trained = true;
    if (metrics->events)
        put_event(metrics, step->iteration, wall_seconds(), field, n);
}

static void put_losses(struct mtlm_metrics *metrics, int64_t iteration,
                       const char *set, double loss, double sop_loss,
                       double sop_accuracy)
{
    json_t *losses = json_pack("{s:o}", "lm_loss", number_or_null(loss));

    if (!(sop_loss < 0)) /* keeps NaN */
        json_object_set_new(losses, "sop_loss", number_or_null(sop_loss));
    if (!(sop_accuracy < 0))
        json_object_set_new(losses, "sop_accuracy",
                            number_or_null(sop_accuracy));
    put_line(metrics,
             json_pack("{s:I, s:f, s:o}", "iteration", (json_int_t) iteration,
                       "time", wall_seconds(), set, losses));
}

void mtlm_metrics_validation(struct mtlm_metrics *metrics, int64_t iteration,
                             const char *set, double loss, double sop_loss,
                             double sop_accuracy)
{
    char tag[4][48];
    const struct mtlm_scalar scalar[] = {
        {tag[0], loss},
        {tag[1], mtlm_log_perplexity(loss)},
        {tag[2], sop_loss},
        {tag[3], sop_accuracy},
    };

    if (!metrics)
        return;
    if (metrics->lines)
        put_losses(metrics, iteration, set, loss, sop_loss, sop_accuracy);
    snprintf(tag[0], sizeof(tag[0]), "lm loss %s", set);
    snprintf(tag[1], sizeof(tag[1]), "lm loss %s ppl", set);
    snprintf(tag[2], sizeof(tag[2]), "sop loss %s", set);
    snprintf(tag[3], sizeof(tag[3]), "sop accuracy %s", set);
    if (metrics->events)
        mtlm_tfevents_add(metrics->events, wall_seconds(), iteration, scalar,
                          sop_loss < 0 ? 2 : 4);
}
