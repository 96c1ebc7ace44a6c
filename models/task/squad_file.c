/* Reads files of SQuAD. */

#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/task/squad_document.h"
#include "models/task/squad_file.h"
#include "models/text/unicode.h"
#include "runtime/base/memory.h"
#include "runtime/file/json_elements.h"

/* What is being read. */
struct squad_reader {
    struct mtlm_squad *squad;
    const char *path;
    int64_t line;   /* of the article */
    const char *id; /* of the question; NULL: none yet */
    struct mtlm_squad_document document;
    bool stored; /* the document is part of squad */
    /* of the file's questions so far: all, with a list of answers, with an
     * answer or "is_impossible" */
    int64_t questions, listed, labelled;
};

/* An answer in a file. */
struct squad_answer {
    const char *text;
    int64_t begin; /* character */
};

static int refuse(const struct squad_reader *r, struct mtlm_error *err,
                  const char *what)
{
    if (!r->id)
        return mtlm_error_set(err, MTLM_EXIT_INPUT, "%s: line %" PRId64 ": %s",
                              r->path, r->line, what);
    return mtlm_error_set(err, MTLM_EXIT_INPUT,
                          "%s: line %" PRId64 ": question \"%.80s\": %s",
                          r->path, r->line, r->id, what);
}

static int read_answer(const struct squad_reader *r, const json_t *object,
                       struct squad_answer *answer, struct mtlm_error *err)
{
    const json_t *begin = json_object_get(object, "answer_start");
    const int64_t characters = r->document.characters;

    answer->text = mtlm_json_file_text(object, "text");
    if (!answer->text || !json_is_integer(begin))
        return refuse(r, err,
                      "an answer needs \"text\" and a number "
                      "\"answer_start\"");
    if (!answer->text[0])
        return refuse(r, err, "an answer is empty");
    answer->begin = json_integer_value(begin);
    if (answer->begin < 0
        || answer->begin > characters - mtlm_unicode_characters(answer->text))
        return mtlm_error_set(
            err, MTLM_EXIT_INPUT,
            "%s: line %" PRId64 ": question \"%.80s\": an answer of %" PRId64
            " characters from number %" PRId64
            " on is outside of its context of %" PRId64,
            r->path, r->line, r->id, mtlm_unicode_characters(answer->text),
            answer->begin, characters);
    return 0;
}

/* Checks all answers; *first is the first one. */
static int read_answers(const struct squad_reader *r, const json_t *answers,
                        struct squad_answer *first, struct mtlm_error *err)
{
    const json_t *object;
    size_t i;

    json_array_foreach((json_t *) answers, i, object)
    {
        struct squad_answer answer = {0};

        if (read_answer(r, object, &answer, err) < 0)
            return -1;
        if (i == 0)
            *first = answer;
    }
    return 0;
}

/* Adds the document to squad, once. */
static void store_document(struct squad_reader *r)
{
    struct mtlm_squad *squad = r->squad;
    const int64_t i = squad->document.n;

    if (r->stored)
        return;
    r->stored = true;
    mtlm_token_lists_put(&squad->document, r->document.token,
                         r->document.tokens);
    if (squad->recipe.training)
        return;
    squad->text = mtlm_make_room(squad->text, &squad->text_room, i + 1,
                                 sizeof(*squad->text));
    squad->text[i] = mtlm_strdup(r->document.text);
}

/* Appends a question and its windows. */
static struct mtlm_squad_question *append_question(struct squad_reader *r,
                                                   const char *text)
{
    struct mtlm_squad *squad = r->squad;
    const int64_t i = squad->questions++;
    struct mtlm_squad_question *question;

    squad->question = mtlm_make_room(squad->question, &squad->room, i + 1,
                                     sizeof(*squad->question));
    store_document(r);
    mtlm_token_lists_add(&squad->query, squad->recipe.tokenizer, squad->cache,
                         text, (int64_t) strlen(text), MTLM_SQUAD_QUERY);
    question = &squad->question[i];
    *question = (struct mtlm_squad_question){
        .document = squad->document.n - 1, .first = -1, .last = -1};
    mtlm_squad_count_windows(squad, i);
    return question;
}

/* Keeps what the score needs. */
static void keep_texts(struct mtlm_squad_question *question, const char *id,
                       const json_t *answers)
{
    question->id = mtlm_strdup(id);
    question->answers = (int64_t) json_array_size(answers);
    question->answer =
        mtlm_calloc((size_t) question->answers, sizeof(*question->answer));
    for (int64_t i = 0; i < question->answers; i++)
        question->answer[i] = mtlm_strdup(
            mtlm_json_file_text(json_array_get(answers, (size_t) i), "text"));
}

/* Whether a question for training can be used: one answer, or none where that
 * is allowed. */
static int check_training(const struct squad_reader *r, size_t answers,
                          bool impossible, struct mtlm_error *err)
{
    if (!r->squad->recipe.training || impossible || answers == 1)
        return 0;
    return refuse(r, err, "expected exactly one answer to learn from");
}

/* Checks the parts of a question and counts it.  Only without training may the
 * list of answers be missing, then from all questions of the file. */
static int check_question(struct squad_reader *r, const json_t *qa,
                          struct mtlm_error *err)
{
    const json_t *answers = json_object_get(qa, "answers");
    const bool flag = json_object_get(qa, "is_impossible") != NULL;

    if (!r->id || !mtlm_json_file_text(qa, "question")
        || (!json_is_array(answers) && (answers || r->squad->recipe.training)))
        return refuse(r, err,
                      "a question needs \"id\", \"question\" and \"answers\"");
    if (r->questions > 0 && (r->listed > 0) != (answers != NULL))
        return refuse(r, err,
                      answers ? "\"answers\", unlike the questions before it"
                              : "no \"answers\", unlike the questions before "
                                "it");
    r->squad->negative |= flag;
    r->questions++;
    r->listed += answers != NULL;
    r->labelled += answers && (flag || json_array_size(answers) > 0);
    return 0;
}

static int add_question(struct squad_reader *r, const json_t *qa,
                        struct mtlm_error *err)
{
    const char *text = mtlm_json_file_text(qa, "question");
    const json_t *answers = json_object_get(qa, "answers");
    const bool impossible = json_is_true(json_object_get(qa, "is_impossible"));
    const bool training = r->squad->recipe.training;
    const struct mtlm_tokenizer *tokenizer = r->squad->recipe.tokenizer;
    struct mtlm_squad_question *question;
    struct squad_answer answer = {0};
    int64_t first = -1, last = -1;

    r->id = mtlm_json_file_text(qa, "id");
    if (check_question(r, qa, err) < 0
        || read_answers(r, answers, &answer, err) < 0
        || check_training(r, json_array_size(answers), impossible, err) < 0)
        return -1;
    if (answer.text && !impossible
        && !mtlm_squad_document_find(&r->document, tokenizer, answer.text,
                                     answer.begin, &first, &last)
        && training) {
        r->squad->data.left_out++;
        return 0;
    }
    question = append_question(r, text);
    question->first = first;
    question->last = last;
    if (!training)
        keep_texts(question, r->id, answers);
    return 0;
}

static int add_questions(struct squad_reader *r, const json_t *qas,
                         struct mtlm_error *err)
{
    const json_t *qa;
    size_t i;

    json_array_foreach((json_t *) qas, i, qa)
    {
        r->id = NULL;
        if (add_question(r, qa, err) < 0)
            return -1;
    }
    r->id = NULL;
    return 0;
}

static int add_paragraph(struct squad_reader *r, const json_t *paragraph,
                         struct mtlm_error *err)
{
    const char *context = mtlm_json_file_text(paragraph, "context");
    const json_t *qas = json_object_get(paragraph, "qas");
    int rc;

    if (!context || !json_is_array(qas))
        return refuse(r, err,
                      "a paragraph needs \"context\" and a list \"qas\"");
    mtlm_squad_document_read(&r->document, r->squad->recipe.tokenizer,
                             r->squad->cache, context);
    r->stored = false;
    rc = add_questions(r, qas, err);
    mtlm_squad_document_free(&r->document);
    return rc;
}

/* Adds the questions of an article; context is a struct squad_reader. */
static int add_article(void *context, const json_t *article, int64_t line,
                       struct mtlm_error *err)
{
    struct squad_reader *r = context;
    const json_t *paragraphs = json_object_get(article, "paragraphs");
    const json_t *paragraph;
    size_t i;

    r->line = line;
    if (!json_is_array(paragraphs))
        return refuse(r, err, "an article needs a list \"paragraphs\"");
    json_array_foreach((json_t *) paragraphs, i, paragraph)
    {
        if (add_paragraph(r, paragraph, err) < 0)
            return -1;
    }
    return 0;
}

/* Takes the version of the format; context is a struct squad_reader. */
static void take_version(void *context, const char *key, const json_t *value)
{
    const struct squad_reader *r = context;
    const char *text = json_string_value(value);

    if (text && strcmp(key, "version") == 0 && strncmp(text, "v2", 2) == 0)
        r->squad->negative = true;
}

/* Refuses a file with answers behind a file without, and the reverse. */
static int check_labelled(const struct squad_reader *r, bool first,
                          struct mtlm_error *err)
{
    struct mtlm_squad *squad = r->squad;
    const bool labelled = r->labelled > 0;

    if (first)
        squad->data.labelled = labelled;
    if (squad->data.labelled == labelled)
        return 0;
    return mtlm_error_set(
        err, MTLM_EXIT_INPUT,
        "%s: line %" PRId64 ": the file has %s, unlike the files before it",
        r->path, r->line, labelled ? "answers" : "no answers");
}

int mtlm_squad_file_read(struct mtlm_squad *squad, const char *path,
                         struct mtlm_error *err)
{
    struct squad_reader reader = {.squad = squad, .path = path};
    const struct mtlm_json_taker taker = {.key = "data",
                                          .take = add_article,
                                          .other = take_version,
                                          .context = &reader};
    const int64_t before = squad->questions;

    if (mtlm_json_elements_read(path, &taker, err) < 0)
        return -1;
    if (squad->questions > before)
        return check_labelled(&reader, before == 0, err);
    return mtlm_error_set(
        err, MTLM_EXIT_INPUT,
        "%s: line %" PRId64 ": the file ends without a question%s", path,
        reader.line, squad->data.left_out ? " with a usable answer" : "");
}
