/* An article of RACE with its questions. */

#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "models/task/race_object.h"
#include "runtime/base/memory.h"
#include "runtime/file/json_file.h"

enum { MOST_BYTES = 1 << 20 }; /* of a question with a choice */

/* Returns element i of a list of the object. */
static json_t *get(const json_t *object, const char *list, int64_t i)
{
    return json_array_get(json_object_get(object, list), (size_t) i);
}

static const char *get_option(const json_t *object, int64_t question,
                              int choice)
{
    return json_string_value(
        json_array_get(get(object, "options", question), (size_t) choice));
}

static size_t count_gaps(const char *question)
{
    size_t n = 0;

    for (; *question; question++)
        n += *question == '_';
    return n;
}

/* Returns what is wrong with a question; NULL: nothing. */
static const char *check_question(const json_t *object, int64_t i)
{
    const char *question = json_string_value(get(object, "questions", i));
    const char *answer = json_string_value(get(object, "answers", i));

    if (!question)
        return "the question is no text";
    if (json_array_size(get(object, "options", i)) != MTLM_RACE_CHOICES)
        return "expected four options";
    if (mtlm_race_object_labelled(object)
        && (!answer || answer[0] < 'A' || answer[0] > 'D' || answer[1]))
        return "expected an answer \"A\", \"B\", \"C\" or \"D\"";
    for (int choice = 0; choice < MTLM_RACE_CHOICES; choice++) {
        const char *option = get_option(object, i, choice);

        if (!option)
            return "an option is no text";
        if (strlen(question) + (count_gaps(question) + 1) * strlen(option)
            >= MOST_BYTES)
            return "the question has more than 1 MiB";
    }
    return NULL;
}

/* Returns what is wrong with the object, and in which question, from 1 on;
 * NULL: nothing. */
static const char *check(const json_t *object, int64_t *question)
{
    const json_t *questions = json_object_get(object, "questions");
    const json_t *options = json_object_get(object, "options");
    const json_t *answers = json_object_get(object, "answers");
    const size_t n = json_array_size(questions);
    const char *wrong = NULL;

    *question = 0;
    if (!mtlm_json_file_text(object, "article"))
        return "expected a text \"article\"";
    if (!json_is_array(questions) || !json_is_array(options)
        || (answers && !json_is_array(answers)))
        return "expected lists \"questions\", \"options\" and \"answers\"";
    if (json_array_size(options) != n
        || (mtlm_race_object_labelled(object) && json_array_size(answers) != n))
        return "\"questions\", \"options\" and \"answers\" have different "
               "lengths";
    for (int64_t i = 0; i < (int64_t) n && !wrong; i++) {
        wrong = check_question(object, i);
        *question = i + 1;
    }
    return wrong;
}

/* Makes the "id" of an object whose integers were read as real numbers an
 * integer again.  A real number is exact below 2^53. */
static void restore_id(json_t *object)
{
    const json_t *id = json_object_get(object, "id");
    const double number = json_real_value(id);

    if (json_is_real(id) && fabs(number) < 0x1p53 && floor(number) == number)
        json_object_set_new(object, "id", json_integer((json_int_t) number));
}

/* Parses a line.  An integer beyond 64 bits, under whatever key, makes all
 * integers of the line real numbers, but for the "id". */
static json_t *parse(const char *line, int64_t bytes, json_error_t *why)
{
    const size_t flags = JSON_REJECT_DUPLICATES;
    json_t *object = json_loadb(line, (size_t) bytes, flags, why);

    if (object)
        return object;
    object =
        json_loadb(line, (size_t) bytes, flags | JSON_DECODE_INT_AS_REAL, why);
    restore_id(object);
    return object;
}

json_t *mtlm_race_object_read(const char *line, int64_t bytes, const char *path,
                              int64_t number, struct mtlm_error *err)
{
    json_error_t why;
    json_t *object = parse(line, bytes, &why);
    const char *wrong;
    int64_t question;

    if (!object) {
        mtlm_error_set(err, MTLM_EXIT_INPUT,
                       "%s: line %" PRId64 ", column %d: %s", path, number,
                       why.column, why.text);
        return NULL;
    }
    wrong = check(object, &question);
    if (!wrong)
        return object;
    mtlm_error_set(err, MTLM_EXIT_INPUT, "%s: line %" PRId64 ": %s", path,
                   number, wrong);
    if (question > 0)
        mtlm_error_set(err, MTLM_EXIT_INPUT,
                       "%s: line %" PRId64 ": question %" PRId64 ": %s", path,
                       number, question, wrong);
    json_decref(object);
    return NULL;
}

const char *mtlm_race_object_article(const json_t *object)
{
    return mtlm_json_file_text(object, "article");
}

int64_t mtlm_race_object_questions(const json_t *object)
{
    return (int64_t) json_array_size(json_object_get(object, "questions"));
}

bool mtlm_race_object_labelled(const json_t *object)
{
    return json_array_size(json_object_get(object, "answers")) > 0;
}

int mtlm_race_object_answer(const json_t *object, int64_t question)
{
    return json_string_value(get(object, "answers", question))[0] - 'A';
}

char *mtlm_race_object_text(const json_t *object, int64_t question, int choice)
{
    const char *from = json_string_value(get(object, "questions", question));
    const char *option = get_option(object, question, choice);
    const size_t gaps = count_gaps(from);
    char *text, *end;

    if (gaps == 0)
        return mtlm_sprintf("%s %s", from, option);
    text = end = mtlm_calloc(strlen(from) + gaps * strlen(option) + 1, 1);
    for (; *from; from++)
        if (*from == '_')
            end = stpcpy(end, option);
        else
            *end++ = *from;
    return text;
}
