/* Multiple-choice questions from files of RACE. */

#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "models/task/clean_text.h"
#include "models/task/pair.h"
#include "models/task/race.h"
#include "models/task/race_object.h"
#include "models/task/text_files.h"
#include "models/task/token_lists.h"
#include "models/text/byte_order_mark.h"
#include "runtime/base/blank.h"
#include "runtime/base/memory.h"
#include "runtime/file/mapped_file.h"

enum { MOST_BYTES = 64 << 20 }; /* of a file */

struct race_question {
    int64_t article;
    int32_t answer;
};

struct race {
    struct mtlm_task_data data;
    struct mtlm_task_recipe recipe;
    struct mtlm_token_lists article;
    json_t *id; /* list of the articles' ids; NULL with recipe.training */
    struct mtlm_token_lists choice; /* of question i: from 4 i on */
    struct mtlm_word_cache *cache;
    struct race_question *question; /* [items], room for question_room */
    size_t question_room;
};

/* Adds text, cleaned, as a list of at most `most` tokens. */
static void add_text(struct race *race, struct mtlm_token_lists *lists,
                     const char *text, int64_t most)
{
    int64_t bytes;
    char *clean = mtlm_clean_text(text, (int64_t) strlen(text), &bytes);

    mtlm_token_lists_add(lists, race->recipe.tokenizer, race->cache, clean,
                         bytes, most);
    free(clean);
}

/* Makes room for n more questions. */
static void make_room(struct race *race, int64_t n)
{
    race->question =
        mtlm_make_room(race->question, &race->question_room,
                       race->data.items + n, sizeof(*race->question));
}

/* Adds the id of an object; without one its place.  A path that is no UTF-8
 * leaves the line. */
static void add_id(struct race *race, const json_t *object, const char *path,
                   int64_t line)
{
    json_t *id = json_object_get(object, "id");
    char *place;
    json_t *text;

    if (!race->id)
        return;
    if (json_is_string(id) || json_is_integer(id)) {
        json_array_append(race->id, id);
        return;
    }
    place = mtlm_sprintf("%s:%" PRId64, path, line);
    text = json_string(place);
    json_array_append_new(race->id, text ? text : json_integer(line));
    free(place);
}

/* Adds the questions of an object. */
static void add_object(struct race *race, const json_t *object)
{
    const int64_t n = mtlm_race_object_questions(object);
    const bool labelled = mtlm_race_object_labelled(object);

    make_room(race, n);
    add_text(race, &race->article, mtlm_race_object_article(object),
             race->recipe.seq_length);
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < MTLM_RACE_CHOICES; k++) {
            char *text = mtlm_race_object_text(object, i, k);

            add_text(race, &race->choice, text, MTLM_RACE_LONGEST);
            free(text);
        }
        race->question[race->data.items++] = (struct race_question){
            race->article.n - 1,
            labelled ? mtlm_race_object_answer(object, i) : 0};
    }
}

/* Refuses questions with answers behind others without, and the reverse. */
static int check_labelled(struct race *race, const json_t *object,
                          const char *path, int64_t line,
                          struct mtlm_error *err)
{
    const bool labelled = mtlm_race_object_labelled(object);

    if (mtlm_race_object_questions(object) == 0)
        return 0;
    if (race->data.items == 0)
        race->data.labelled = labelled;
    if (race->data.labelled == labelled)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_INPUT,
                          "%s: line %" PRId64 ": the questions have %s, unlike "
                          "the questions before them",
                          path, line, labelled ? "answers" : "no answers");
}

/* Adds the questions of a line [bytes]. */
static int add_line(struct race *race, const char *line, int64_t bytes,
                    const char *path, int64_t number, struct mtlm_error *err)
{
    json_t *object = mtlm_race_object_read(line, bytes, path, number, err);
    int rc;

    if (!object)
        return -1;
    rc = check_labelled(race, object, path, number, err);
    if (rc == 0) {
        add_id(race, object, path, number);
        add_object(race, object);
    }
    json_decref(object);
    return rc;
}

/* Adds the questions of a file; context is a struct race. */
static int add_file(void *context, const char *path, struct mtlm_error *err)
{
    struct race *race = context;
    const int64_t before = race->article.n;
    struct mtlm_mapped_file file;
    int64_t number = 1;
    int rc = 0;

    if (mtlm_mapped_file_read(&file, path, MOST_BYTES, err) < 0)
        return -1;
    for (int64_t at =
             mtlm_byte_order_mark((const char *) file.data, file.bytes);
         at < file.bytes && rc == 0;) {
        const char *line = (const char *) file.data + at;
        const char *end = memchr(line, '\n', (size_t) (file.bytes - at));
        const int64_t bytes = end ? end - line : file.bytes - at;

        at += bytes + 1;
        if (!mtlm_is_blank(line, (size_t) bytes))
            rc = add_line(race, line, bytes, path, number, err);
        number++;
    }
    mtlm_mapped_file_close(&file);
    if (rc == 0 && race->article.n == before)
        rc =
            mtlm_error_set(err, MTLM_EXIT_INPUT, "%s: the file is empty", path);
    return rc;
}

static void read_sample(struct mtlm_samples *samples, int64_t sample,
                        enum mtlm_field field, int64_t first, int64_t n,
                        int32_t *values)
{
    const struct race *race = (const struct race *) samples;
    const int64_t i = mtlm_task_item(&race->recipe, race->data.items,
                                     sample / MTLM_RACE_CHOICES);
    const struct race_question *question = &race->question[i];
    struct mtlm_pair pair;

    pair.a = mtlm_token_lists_get(
        &race->choice, MTLM_RACE_CHOICES * i + sample % MTLM_RACE_CHOICES,
        &pair.a_tokens);
    pair.b =
        mtlm_token_lists_get(&race->article, question->article, &pair.b_tokens);
    mtlm_pair_read(&pair, race->recipe.tokenizer->bert, samples->seq_length,
                   field, first, n, values);
    if (field == MTLM_FIELD_CLASS && n > 0)
        values[0] = question->answer;
}

static void destroy(struct mtlm_samples *samples)
{
    struct race *race = (struct race *) samples;

    mtlm_token_lists_free(&race->article);
    mtlm_token_lists_free(&race->choice);
    json_decref(race->id);
    free(race->question);
    free(race);
}

static int add_path(struct race *race, const char *path, struct mtlm_error *err)
{
    const int64_t before = race->data.items;

    if (mtlm_text_files_read(path, ".txt", add_file, race, err) < 0)
        return -1;
    if (race->data.items > before)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_INPUT, "%s: there is no question",
                          path);
}

static uint64_t hash_data(const struct race *race)
{
    uint64_t hash = mtlm_token_lists_hash(
        &race->article, mtlm_token_lists_hash(&race->choice, 0));

    for (int64_t i = 0; i < race->data.items; i++) {
        const int64_t numbers[] = {race->question[i].article,
                                   race->question[i].answer};

        hash = XXH3_64bits_withSeed(numbers, sizeof(numbers), hash);
    }
    return hash;
}

struct mtlm_task_data *mtlm_race_create(const char *const *path, int paths,
                                        const struct mtlm_task_recipe *recipe,
                                        struct mtlm_error *err)
{
    struct race *race = mtlm_calloc(1, sizeof(*race));
    struct mtlm_samples *samples = &race->data.samples;
    int rc = 0;

    *samples = (struct mtlm_samples){.seq_length = recipe->seq_length,
                                     .read = read_sample,
                                     .destroy = destroy};
    race->recipe = *recipe;
    race->id = recipe->training ? NULL : json_array();
    race->cache = mtlm_word_cache_create();
    for (int i = 0; i < paths && rc == 0; i++)
        rc = add_path(race, path[i], err);
    mtlm_word_cache_destroy(race->cache);
    samples->epoch = MTLM_RACE_CHOICES * race->data.items;
    if (rc == 0) {
        race->data.hash = hash_data(race);
        return &race->data;
    }
    destroy(samples);
    return NULL;
}

/* Writes a line about an article; takes the answers over. */
static int write_article(struct mtlm_output_file *file, json_t *id,
                         json_t *answers, struct mtlm_error *err)
{
    json_t *object = json_pack("{s:O, s:o}", "id", id, "answers", answers);
    char *text = json_dumps(object, JSON_ENSURE_ASCII);
    const int rc = mtlm_output_file_print(file, err, "%s\n", text);

    free(text);
    json_decref(object);
    return rc;
}

int mtlm_race_write(struct mtlm_output_file *file,
                    const struct mtlm_task_data *data, const int64_t *choice,
                    struct mtlm_error *err)
{
    const struct race *race = (const struct race *) data;
    int64_t i = 0;
    int rc = 0;

    for (int64_t a = 0; a < race->article.n && rc == 0; a++) {
        json_t *answers = json_array();

        for (; i < data->items && race->question[i].article == a; i++) {
            const char letter[] = {(char) ('A' + choice[i]), '\0'};

            json_array_append_new(answers, json_string(letter));
        }
        rc = write_article(file, json_array_get(race->id, (size_t) a), answers,
                           err);
    }
    return rc;
}
