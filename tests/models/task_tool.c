/* Runs what models/task has, for test_tasks.py:
 *
 *   task_tool samples TASK VOCAB lower|case SEQ train|valid SEED COUNT PIECE
 *       PATH...
 *     writes COUNT samples, a line of JSON each, fields read in pieces of PIECE
 *     values, then a line about the data
 *   task_tool answers VOCAB lower|case SEQ LOGITS THRESHOLD PREDICTIONS
 *       DIFFERENCES PATH
 *     LOGITS: fp32 [windows, 2, SEQ]; writes two files
 *   task_tool score VOCAB PATH PREDICTIONS DIFFERENCES|-
 *     writes the scores, a line of JSON
 *   task_tool predict TASK VOCAB ANSWERS FILE PATH
 *     ANSWERS: a digit for each pair or question; writes the file of
 * predictions task_tool text for each line of standard input, a JSON text, a
 * list: the text cleaned and normalized
 */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/task/clean_text.h"
#include "models/task/glue.h"
#include "models/task/normalize.h"
#include "models/task/predictions.h"
#include "models/task/race.h"
#include "models/task/squad_answer.h"
#include "models/task/squad_data.h"
#include "models/task/squad_score.h"
#include "models/text/wordpiece.h"
#include "runtime/base/memory.h"
#include "runtime/file/json_file.h"

static struct mtlm_error err;

static int fail(void)
{
    fprintf(stderr, "task_tool: %s\n", err.text);
    return err.code;
}

static void print(json_t *value)
{
    json_dumpf(value, stdout, JSON_ENSURE_ASCII);
    printf("\n");
    json_decref(value);
}

static struct mtlm_task_data *open_data(const char *task,
                                        const char *const *path, int paths,
                                        const struct mtlm_task_recipe *recipe)
{
    struct mtlm_squad *squad;

    if (strcmp(task, "mnli") == 0)
        return mtlm_glue_create(MTLM_GLUE_MNLI, path, paths, recipe, &err);
    if (strcmp(task, "qqp") == 0)
        return mtlm_glue_create(MTLM_GLUE_QQP, path, paths, recipe, &err);
    if (strcmp(task, "race") == 0)
        return mtlm_race_create(path, paths, recipe, &err);
    squad = mtlm_squad_data_create(path, paths, recipe, &err);
    return squad ? &squad->data : NULL;
}

/* Returns the values of a field, read in pieces. */
static json_t *read_field(struct mtlm_samples *samples, int64_t sample,
                          enum mtlm_field field, int64_t piece)
{
    const int64_t n = mtlm_field_size(field, samples->seq_length);
    int32_t *values = mtlm_calloc((size_t) n, sizeof(*values));
    json_t *list = json_array();

    for (int64_t at = 0; at < n; at += piece)
        mtlm_samples_read(samples, sample, field, at,
                          piece < n - at ? piece : n - at, values + at);
    for (int64_t i = 0; i < n; i++)
        json_array_append_new(list, json_integer(values[i]));
    free(values);
    return list;
}

static void print_samples(struct mtlm_task_data *data, int64_t count,
                          int64_t piece)
{
    static const struct {
        const char *name;
        enum mtlm_field field;
    } fields[] = {{"tokens", MTLM_FIELD_TOKENS}, {"types", MTLM_FIELD_TYPES},
                  {"length", MTLM_FIELD_LENGTH}, {"class", MTLM_FIELD_CLASS},
                  {"start", MTLM_FIELD_START},   {"end", MTLM_FIELD_END}};

    for (int64_t i = 0; i < count; i++) {
        json_t *line = json_object();

        for (size_t f = 0; f < sizeof(fields) / sizeof(*fields); f++)
            json_object_set_new(
                line, fields[f].name,
                read_field(&data->samples, i, fields[f].field, piece));
        print(line);
    }
    print(json_pack(
        "{s:I, s:I, s:I, s:I, s:b}", "epoch", (json_int_t) data->samples.epoch,
        "items", (json_int_t) data->items, "hash", (json_int_t) data->hash,
        "left_out", (json_int_t) data->left_out, "labelled", data->labelled));
}

static int run_samples(int argc, char *argv[])
{
    struct mtlm_task_recipe recipe = {
        .tokenizer =
            mtlm_wordpiece_open(argv[1], strcmp(argv[2], "lower") == 0, &err),
        .seq_length = atoll(argv[3]),
        .training = strcmp(argv[4], "train") == 0,
        .seed = (uint64_t) atoll(argv[5])};
    struct mtlm_task_data *data;

    if (!recipe.tokenizer)
        return fail();
    data =
        open_data(argv[0], (const char *const *) argv + 8, argc - 8, &recipe);
    if (data)
        print_samples(data, atoll(argv[6]), atoll(argv[7]));
    mtlm_samples_destroy(data ? &data->samples : NULL);
    mtlm_tokenizer_close(recipe.tokenizer);
    return data ? 0 : fail();
}

static struct mtlm_span *read_spans(const struct mtlm_squad *squad,
                                    const char *path)
{
    const int64_t s = squad->data.samples.seq_length;
    struct mtlm_span *span =
        mtlm_calloc((size_t) squad->data.items, sizeof(*span));
    struct mtlm_mapped_file file;

    if (mtlm_mapped_file_open(&file, path, &err) < 0)
        exit(fail());
    for (int64_t i = 0; i < squad->data.items; i++) {
        const float *logits = (const float *) file.data + 2 * s * i;

        span[i] = mtlm_span_find(squad, i, logits, logits + s);
    }
    mtlm_mapped_file_close(&file);
    return span;
}

static int run_answers(char *argv[])
{
    const struct mtlm_task_recipe recipe = {
        .tokenizer =
            mtlm_wordpiece_open(argv[0], strcmp(argv[1], "lower") == 0, &err),
        .seq_length = atoll(argv[2])};
    struct mtlm_squad *squad = mtlm_squad_data_create(
        (const char *const *) argv + 7, 1, &recipe, &err);
    struct mtlm_span *span;
    char **answer;
    double *difference;
    int rc;

    if (!squad)
        return fail();
    span = read_spans(squad, argv[3]);
    answer = mtlm_calloc((size_t) squad->questions, sizeof(*answer));
    difference = mtlm_calloc((size_t) squad->questions, sizeof(*difference));
    for (int64_t i = 0; i < squad->questions; i++)
        answer[i] =
            mtlm_squad_answer(squad, i, span + squad->question[i].window,
                              atof(argv[4]), &difference[i]);
    rc = mtlm_predictions_write(argv[5], squad, answer, &err) < 0
                 || mtlm_predictions_write_differences(argv[6], squad,
                                                       difference, &err)
                        < 0
             ? fail()
             : 0;
    for (int64_t i = 0; i < squad->questions; i++)
        free(answer[i]);
    free(answer);
    free(difference);
    free(span);
    mtlm_samples_destroy(&squad->data.samples);
    mtlm_tokenizer_close(recipe.tokenizer);
    return rc;
}

static json_t *read_json(const char *path)
{
    json_t *json = mtlm_json_file_read(path, &err);

    if (!json)
        exit(fail());
    return json;
}

static void print_scores(const struct mtlm_squad *squad,
                         const json_t *predictions, const json_t *differences)
{
    struct mtlm_squad_scores s;
    char **answer = mtlm_calloc((size_t) squad->questions, sizeof(*answer));
    double *difference =
        mtlm_calloc((size_t) squad->questions, sizeof(*difference));

    for (int64_t i = 0; i < squad->questions; i++) {
        const char *id = squad->question[i].id;

        answer[i] = (char *) mtlm_json_file_text(predictions, id);
        difference[i] = json_number_value(json_object_get(differences, id));
    }
    mtlm_squad_score(squad, answer, differences ? difference : NULL, &s);
    print(json_pack("[[f,f,I],[f,f,I],[f,f,I],[f,f,f,f]]", s.all.exact,
                    s.all.f1, (json_int_t) s.all.questions, s.answerable.exact,
                    s.answerable.f1, (json_int_t) s.answerable.questions,
                    s.unanswerable.exact, s.unanswerable.f1,
                    (json_int_t) s.unanswerable.questions, s.best_exact,
                    s.best_exact_threshold, s.best_f1, s.best_f1_threshold));
    free(answer);
    free(difference);
}

static int run_score(char *argv[])
{
    const struct mtlm_task_recipe recipe = {
        .tokenizer = mtlm_wordpiece_open(argv[0], true, &err),
        .seq_length = 128};
    struct mtlm_squad *squad = mtlm_squad_data_create(
        (const char *const *) argv + 1, 1, &recipe, &err);
    json_t *predictions, *differences = NULL;

    if (!squad)
        return fail();
    predictions = read_json(argv[2]);
    if (strcmp(argv[3], "-") != 0)
        differences = read_json(argv[3]);
    print_scores(squad, predictions, differences);
    json_decref(predictions);
    json_decref(differences);
    mtlm_samples_destroy(&squad->data.samples);
    mtlm_tokenizer_close(recipe.tokenizer);
    return 0;
}

static int write_predictions(const struct mtlm_task_data *data, bool choices,
                             const char *digit, const char *path)
{
    struct mtlm_output_file *file = mtlm_output_file_create(path, &err);
    int64_t *answer = mtlm_calloc((size_t) data->items, sizeof(*answer));
    int rc = -1;

    for (int64_t i = 0; digit[i]; i++)
        answer[i] = digit[i] - '0';
    if (file)
        rc = choices ? mtlm_race_write(file, data, answer, &err)
                     : mtlm_glue_write(file, data, answer, &err);
    free(answer);
    return mtlm_output_file_end(file, rc, &err);
}

static int run_predict(char *argv[])
{
    const struct mtlm_task_recipe recipe = {
        .tokenizer = mtlm_wordpiece_open(argv[1], true, &err),
        .seq_length = 128};
    struct mtlm_task_data *data =
        open_data(argv[0], (const char *const *) argv + 4, 1, &recipe);
    int rc;

    if (!data || data->items != (int64_t) strlen(argv[2]))
        return fail();
    rc =
        write_predictions(data, strcmp(argv[0], "race") == 0, argv[2], argv[3]);
    mtlm_samples_destroy(&data->samples);
    mtlm_tokenizer_close(recipe.tokenizer);
    return rc < 0 ? fail() : 0;
}

static int run_text(void)
{
    char *line = NULL;
    size_t room = 0;

    while (getline(&line, &room, stdin) > 0) {
        json_t *json = json_loads(line, JSON_DECODE_ANY, NULL);
        const char *text = json_string_value(json);
        int64_t bytes;
        char *clean = mtlm_clean_text(text, (int64_t) strlen(text), &bytes);
        char *plain = mtlm_normalize_answer(text);

        print(json_pack("[s,s]", clean, plain));
        free(clean);
        free(plain);
        json_decref(json);
    }
    free(line);
    return 0;
}

int main(int argc, char *argv[])
{
    const char *what = argc > 1 ? argv[1] : "";

    if (strcmp(what, "samples") == 0 && argc >= 11)
        return run_samples(argc - 2, argv + 2);
    if (strcmp(what, "answers") == 0 && argc == 10)
        return run_answers(argv + 2);
    if (strcmp(what, "score") == 0 && argc == 6)
        return run_score(argv + 2);
    if (strcmp(what, "predict") == 0 && argc == 7)
        return run_predict(argv + 2);
    if (strcmp(what, "text") == 0)
        return run_text();
    fprintf(stderr, "task_tool: see the first lines of task_tool.c\n");
    return 2;
}
