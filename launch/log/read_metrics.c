/* Reads the JSON lines of --metrics back into curves. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "launch/log/read_metrics.h"
#include "runtime/base/memory.h"
#include "runtime/file/mapped_file.h"

/* A larger number is none of an iteration. */
#define MOST_ITERATIONS INT64_C(1000000000000000)

/* The file while it is read. */
struct metrics_reader {
    const char *path;
    int64_t line; /* from 1 */
    bool begun;   /* a header came */
    bool trained; /* an iteration came since the header */
    int64_t cut;  /* a line that is no JSON: a crash cut it, if a header follows
                   * or nothing; 0: none */
    struct mtlm_curves *curves;
};

static int refuse_line(const struct metrics_reader *reader, int64_t line,
                       struct mtlm_error *err, const char *why)
{
    return mtlm_error_set(err, MTLM_EXIT_INPUT, "%s: line %" PRId64 ": %s",
                          reader->path, line, why);
}

static int refuse(const struct metrics_reader *reader, struct mtlm_error *err,
                  const char *why)
{
    return refuse_line(reader, reader->line, err, why);
}

/* Sets the value at this iteration; keeps the iterations ascending. */
static void set_value(struct mtlm_curve *curve, int64_t iteration, double value)
{
    int64_t i = curve->n;

    while (i > 0 && curve->iteration[i - 1] >= iteration)
        i--;
    if (i < curve->n && curve->iteration[i] == iteration) {
        curve->value[i] = value;
        return;
    }
    if (curve->n == curve->capacity) {
        curve->capacity = 2 * curve->capacity + 64;
        curve->iteration = mtlm_realloc(curve->iteration, curve->capacity,
                                        sizeof(*curve->iteration));
        curve->value =
            mtlm_realloc(curve->value, curve->capacity, sizeof(*curve->value));
    }
    memmove(curve->iteration + i + 1, curve->iteration + i,
            (curve->n - i) * sizeof(*curve->iteration));
    memmove(curve->value + i + 1, curve->value + i,
            (curve->n - i) * sizeof(*curve->value));
    curve->iteration[i] = iteration;
    curve->value[i] = value;
    curve->n++;
}

/* Drops what earlier runs wrote of this iteration and later. */
static void drop_from(struct mtlm_curves *curves, int64_t iteration)
{
    for (int kind = 0; kind < MTLM_CURVE_COUNT; kind++) {
        struct mtlm_curve *curve = &curves->of[kind];

        while (curve->n > 0 && curve->iteration[curve->n - 1] >= iteration)
            curve->n--;
    }
}

/* Adds a number of the object to the curve: null is NaN, a number that is not
 * there adds nothing. */
static int add_number(const struct metrics_reader *reader,
                      enum mtlm_curve_kind kind, int64_t iteration,
                      const json_t *object, const char *name,
                      struct mtlm_error *err)
{
    const json_t *number = json_object_get(object, name);
    char why[64];

    if (number && !json_is_number(number) && !json_is_null(number)) {
        snprintf(why, sizeof(why), "%s is no number", name);
        return refuse(reader, err, why);
    }
    if (number)
        set_value(&reader->curves->of[kind], iteration,
                  json_is_null(number) ? NAN : json_number_value(number));
    return 0;
}

/* Adds a line of an iteration, a validation or a test. */
static int add_line(struct metrics_reader *reader, const json_t *object,
                    struct mtlm_error *err)
{
    const json_t *number = json_object_get(object, "iteration");
    const json_t *validation = json_object_get(object, "validation");
    const json_t *test = json_object_get(object, "test");
    const int64_t iteration = json_integer_value(number);

    if (!json_is_integer(number) || iteration < 0
        || iteration > MOST_ITERATIONS)
        return refuse(reader, err, "iteration is no number of an iteration");
    if (validation)
        return add_number(reader, MTLM_CURVE_VALIDATION, iteration, validation,
                          "lm_loss", err);
    if (test)
        return add_number(reader, MTLM_CURVE_TEST, iteration, test, "lm_loss",
                          err);
    if (!reader->trained)
        drop_from(reader->curves, iteration);
    reader->trained = true;
    if (add_number(reader, MTLM_CURVE_TRAINING, iteration, object, "lm_loss",
                   err)
        < 0)
        return -1;
    return add_number(reader, MTLM_CURVE_RATE, iteration, object,
                      "learning_rate", err);
}

static int read_object(struct metrics_reader *reader, const json_t *object,
                       struct mtlm_error *err)
{
    const char *program = json_string_value(json_object_get(object, "program"));
    const bool header = program && strcmp(program, "mtlm-dag") == 0;

    if (!header && !reader->begun)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s is no file of mtlm-dag --metrics: its first "
                              "line is no header",
                              reader->path);
    if (!header && reader->cut)
        return refuse_line(reader, reader->cut, err, "no JSON");
    if (!header)
        return add_line(reader, object, err);
    reader->cut = 0;
    if (json_is_string(
            json_object_get(json_object_get(object, "options"), "task")))
        reader->curves->of_task = true;
    reader->begun = true;
    reader->trained = false;
    return 0;
}

/* whole: the line has its end. */
static int read_line(struct metrics_reader *reader, const char *text,
                     size_t bytes, bool whole, struct mtlm_error *err)
{
    json_error_t error;
    json_t *object = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    int rc;

    if (!object && !whole && reader->begun)
        return 0;
    if (!object && reader->begun && reader->cut)
        return refuse(reader, err, error.text);
    if (!object && reader->begun) {
        reader->cut = reader->line;
        return 0;
    }
    rc = read_object(reader, object, err);
    json_decref(object);
    return rc;
}

static int read_lines(struct metrics_reader *reader,
                      const struct mtlm_mapped_file *file,
                      struct mtlm_error *err)
{
    int64_t at = 0;
    int rc = 0;

    while (at < file->bytes && rc == 0) {
        const char *line = (const char *) file->data + at;
        const char *end = memchr(line, '\n', file->bytes - at);
        const int64_t bytes = end ? end - line : file->bytes - at;

        reader->line++;
        rc = read_line(reader, line, bytes, end != NULL, err);
        at += bytes + 1;
    }
    return rc;
}

static int check_losses(const struct mtlm_curves *curves, const char *path,
                        struct mtlm_error *err)
{
    for (int kind = 0; kind < MTLM_CURVE_RATE; kind++)
        for (int64_t i = 0; i < curves->of[kind].n; i++)
            if (isfinite(curves->of[kind].value[i]))
                return 0;
    return mtlm_error_set(err, MTLM_EXIT_INPUT, "%s has no losses", path);
}

int mtlm_read_metrics(struct mtlm_curves *curves, const char *path,
                      struct mtlm_error *err)
{
    struct metrics_reader reader = {.path = path, .curves = curves};
    struct mtlm_mapped_file file;
    int rc;

    *curves = (struct mtlm_curves){0};
    if (mtlm_mapped_file_open(&file, path, err) < 0)
        return -1;
    rc = read_lines(&reader, &file, err);
    mtlm_mapped_file_close(&file);
    if (rc == 0)
        rc = check_losses(curves, path, err);
    if (rc < 0)
        mtlm_curves_free(curves);
    return rc;
}

void mtlm_curves_free(struct mtlm_curves *curves)
{
    for (int kind = 0; kind < MTLM_CURVE_COUNT; kind++) {
        free(curves->of[kind].iteration);
        free(curves->of[kind].value);
    }
    *curves = (struct mtlm_curves){0};
}
