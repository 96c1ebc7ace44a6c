/* Tokens that begin and end a text: from config.json, to a checkpoint and
 * back. */

#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/weights/ends.h"
#include "runtime/base/memory.h"
#include "runtime/file/json_file.h"

/* Keys of config.json, and of a checkpoint's settings. */
static const char begin_key[] = "bos_token_id", end_key[] = "eos_token_id";

enum { GPT2_END = 50256, BLOOM_BEGIN = 1, BLOOM_END = 2 };

/* Returns the token that transformers take where config.json lacks the key. */
static int64_t fallback(const json_t *config, const char *key)
{
    const char *type = mtlm_json_file_text(config, "model_type");

    if (!type || strcmp(type, "bloom") != 0)
        return GPT2_END;
    return key == begin_key ? BLOOM_BEGIN : BLOOM_END;
}

static int refuse(const char *path, const char *key, struct mtlm_error *err)
{
    return mtlm_error_set(err, MTLM_EXIT_INPUT,
                          "%s: %s: expected the number of a token, or a list "
                          "of at most %d",
                          path, key, MTLM_ENDS_MOST);
}

/* Reads a number or a list of numbers to token [MTLM_ENDS_MOST], *n numbers. */
static int read_key(const json_t *config, const char *key, int64_t vocab_size,
                    const char *path, int64_t *token, int *n,
                    struct mtlm_error *err)
{
    const json_t *value = json_object_get(config, key);
    const size_t length = json_is_array(value) ? json_array_size(value) : 1;

    *n = 0;
    if (json_is_null(value))
        return 0;
    for (size_t i = 0; i < length; i++) {
        const json_t *one =
            json_is_array(value) ? json_array_get(value, i) : value;
        const int64_t number =
            one ? json_integer_value(one) : fallback(config, key);

        if ((one && !json_is_integer(one)) || *n == MTLM_ENDS_MOST)
            return refuse(path, key, err);
        if (number >= 0 && number < vocab_size)
            token[(*n)++] = number;
    }
    return 0;
}

int mtlm_ends_read(struct mtlm_ends *ends, const json_t *config,
                   int64_t vocab_size, const char *path, struct mtlm_error *err)
{
    int64_t begin[MTLM_ENDS_MOST];
    int n;

    *ends = (struct mtlm_ends){.begin = -1};
    if (read_key(config, begin_key, vocab_size, path, begin, &n, err) < 0
        || read_key(config, end_key, vocab_size, path, ends->end, &ends->n, err)
               < 0)
        return -1;
    if (n > 0)
        ends->begin = begin[0];
    ends->known = n > 0 || ends->n > 0;
    return 0;
}

void mtlm_ends_write(const struct mtlm_ends *ends, json_t *config)
{
    json_t *list = json_array();

    if (!ends->known) {
        json_decref(list);
        return;
    }
    json_object_set_new(config, begin_key,
                        ends->begin < 0 ? json_null()
                                        : json_integer(ends->begin));
    for (int i = 0; i < ends->n; i++)
        json_array_append_new(list, json_integer(ends->end[i]));
    json_object_set_new(config, end_key,
                        ends->n > 1    ? json_incref(list)
                        : ends->n == 1 ? json_integer(ends->end[0])
                                       : json_null());
    json_decref(list);
}

void mtlm_ends_store(const struct mtlm_ends *ends, json_t *settings)
{
    char *list = NULL, *number;

    if (!ends->known)
        return;
    for (int i = 0; i < ends->n; i++) {
        number = mtlm_sprintf("%" PRId64, ends->end[i]);
        list = mtlm_join(list, " ", number);
        free(number);
    }
    number = mtlm_sprintf("%" PRId64, ends->begin);
    json_object_set_new(settings, begin_key, json_string(number));
    json_object_set_new(settings, end_key, json_string(list ? list : ""));
    free(number);
    free(list);
}

struct mtlm_ends mtlm_ends_stored(const json_t *settings)
{
    const char *begin = mtlm_json_file_text(settings, begin_key);
    const char *at = mtlm_json_file_text(settings, end_key);
    struct mtlm_ends ends = {.begin = -1};
    char *behind;

    if (!begin || !at)
        return ends;
    ends.known = true;
    ends.begin = strtoll(begin, NULL, 10);
    while (ends.n < MTLM_ENDS_MOST) {
        const int64_t token = strtoll(at, &behind, 10);

        if (behind == at)
            break;
        ends.end[ends.n++] = token;
        at = behind;
    }
    return ends;
}

bool mtlm_ends_has(const struct mtlm_ends *ends, int64_t token, int64_t eod)
{
    for (int i = 0; i < ends->n; i++)
        if (ends->end[i] == token)
            return true;
    return ends->n == 0 && token == eod;
}
