/* Files of answers for the official scripts of SQuAD. */

#include "config.h"

#include <float.h>
#include <jansson.h>
#include <stdlib.h>

#include "models/task/predictions.h"
#include "runtime/file/output_file.h"

/* Writes "id": value behind what is written; takes the value over. */
static int write_member(struct mtlm_output_file *file, bool first,
                        const char *id, json_t *value, struct mtlm_error *err)
{
    json_t *key = json_string(id);
    char *key_text = json_dumps(key, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    char *value_text = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    const int rc = mtlm_output_file_print(
        file, err, "%s\n    %s: %s", first ? "{" : ",", key_text, value_text);

    free(value_text);
    free(key_text);
    json_decref(value);
    json_decref(key);
    return rc;
}

/* Returns a number that JSON has. */
static double limit(double x)
{
    return x > DBL_MAX ? DBL_MAX : x >= -DBL_MAX ? x : -DBL_MAX;
}

static int write_members(struct mtlm_output_file *file,
                         const struct mtlm_squad *squad, char *const *answer,
                         const double *difference, struct mtlm_error *err)
{
    bool first = true;

    for (int64_t i = 0; i < squad->questions; i++) {
        json_t *value;

        if (answer && !answer[i])
            continue;
        value =
            answer ? json_string(answer[i]) : json_real(limit(difference[i]));
        if (write_member(file, first, squad->question[i].id, value, err) < 0)
            return -1;
        first = false;
    }
    return mtlm_output_file_write(file, first ? "{}\n" : "\n}\n", 3, err);
}

static int write_file(const char *path, const struct mtlm_squad *squad,
                      char *const *answer, const double *difference,
                      struct mtlm_error *err)
{
    struct mtlm_output_file *file = mtlm_output_file_create_in_place(path, err);
    const int rc =
        file ? write_members(file, squad, answer, difference, err) : -1;

    return mtlm_output_file_end(file, rc, err);
}

int mtlm_predictions_write(const char *path, const struct mtlm_squad *squad,
                           char *const *answer, struct mtlm_error *err)
{
    return write_file(path, squad, answer, NULL, err);
}

int mtlm_predictions_write_differences(const char *path,
                                       const struct mtlm_squad *squad,
                                       const double *difference,
                                       struct mtlm_error *err)
{
    return write_file(path, squad, NULL, difference, err);
}
