/* Tokenizers of Hugging Face's tokenizer.json. */

#include "config.h"

#include <inttypes.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "models/text/bloom_words.h"
#include "models/text/byte_bpe.h"
#include "models/text/tokenizer_json.h"
#include "models/text/wordpiece.h"
#include "runtime/base/memory.h"
#include "runtime/file/json_file.h"

#define NAME "HuggingFaceTokenizer"

/* A tokenizer.json during reading. */
struct json_reader {
    char *path;
    json_t *file;
    const json_t *model;
    struct mtlm_vocabulary vocabulary;
    struct mtlm_added_tokens added;
    struct mtlm_error *err;
};

/* ---- what the file may say ---- */

/* Refuses the value under a key, whose path in the file is place. */
static int refuse(const struct json_reader *r, const char *place,
                  const char *expected, const json_t *found)
{
    char *text = found ? json_dumps(found, JSON_ENCODE_ANY | JSON_COMPACT)
                       : mtlm_strdup("none");
    char quoted[MTLM_QUOTED_BYTES];

    mtlm_error_set(r->err, MTLM_EXIT_INPUT, "%s: %s: expected %s, found %s",
                   r->path, place, expected,
                   mtlm_vocabulary_quote(quoted, text, (int64_t) strlen(text)));
    free(text);
    return -1;
}

/* Refuses a key that is neither missing nor null, false or "". */
static int refuse_key(const struct json_reader *r, const json_t *object,
                      const char *place, const char *key)
{
    const json_t *value = json_object_get(object, key);
    const char *text = json_string_value(value);
    char *where;

    if (!value || json_is_null(value) || json_is_false(value)
        || (text && !*text))
        return 0;
    where = mtlm_sprintf("%s.%s", place, key);
    refuse(r, where, "none", value);
    free(where);
    return -1;
}

static bool has_type(const json_t *object, const char *type)
{
    const char *found = mtlm_json_file_text(object, "type");

    return found && strcmp(found, type) == 0;
}

/* ---- tokens ---- */

/* Adds the added tokens to the vocabulary's object and to the list. */
static int take_added(struct json_reader *r, json_t *vocabulary)
{
    static const char *const flags[] = {"single_word", "lstrip", "rstrip"};
    const json_t *list = json_object_get(r->file, "added_tokens");

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *token = json_array_get(list, i);
        const json_t *id = json_object_get(token, "id");
        const char *text = mtlm_json_file_text(token, "content");

        if (!text || !*text || !json_is_integer(id))
            return refuse(r, "added_tokens", "an id and a content", token);
        for (int f = 0; f < 3; f++)
            if (refuse_key(r, token, text, flags[f]) < 0)
                return -1;
        if (strchr(text, '\n'))
            return refuse(r, "added_tokens", "a token without a line's end",
                          token);
        if (!json_object_get(vocabulary, text))
            json_object_set(vocabulary, text, (json_t *) id);
        mtlm_added_tokens_add(
            &r->added, text, (int32_t) json_integer_value(id),
            json_is_true(json_object_get(token, "normalized")));
    }
    return 0;
}

/* Checks that the numbers of added tokens are those of the vocabulary. */
static int check_added(const struct json_reader *r)
{
    for (int64_t i = 0; i < r->added.n; i++) {
        const struct mtlm_added_token *a = &r->added.added[i];
        char quoted[MTLM_QUOTED_BYTES];

        if (mtlm_vocabulary_find(&r->vocabulary, a->text, a->bytes) != a->token)
            return mtlm_error_set(
                r->err, MTLM_EXIT_INPUT,
                "%s: added_tokens: expected one number for token %s, found two",
                r->path, mtlm_vocabulary_quote(quoted, a->text, a->bytes));
    }
    return 0;
}

static int take_vocabulary(struct json_reader *r)
{
    json_t *all = json_copy(json_object_get(r->model, "vocab"));
    int rc;

    if (!json_is_object(all)) {
        json_decref(all);
        return refuse(r, "model.vocab", "an object of tokens and numbers",
                      json_object_get(r->model, "vocab"));
    }
    rc = take_added(r, all);
    if (rc == 0)
        rc = mtlm_vocabulary_take_json(&r->vocabulary, all, r->path, r->err);
    json_decref(all);
    return rc < 0 ? -1 : check_added(r);
}

/* ---- the end of a document ---- */

/* Sets *found to eos_token of tokenizer_config.json in the directory of the
 * file, new text, or to NULL: there is none.  -1: the file cannot be read. */
static int read_end(const struct json_reader *r, char **found)
{
    char *copy = mtlm_strdup(r->path);
    char *path = mtlm_sprintf("%s/tokenizer_config.json", dirname(copy));
    const bool there = access(path, F_OK) == 0;
    json_t *config = there ? mtlm_json_file_read_texts(path, r->err) : NULL;
    const json_t *end = json_object_get(config, "eos_token");
    const char *text = json_is_object(end) ? mtlm_json_file_text(end, "content")
                                           : json_string_value(end);
    const int rc = there && !config ? -1 : 0;

    *found = text ? mtlm_strdup(text) : NULL;
    json_decref(config);
    free(path);
    free(copy);
    return rc;
}

/* Returns the token; -1 with r->err: there is none. */
static int32_t find_end(const struct json_reader *r)
{
    static const char *const usual[] = {"<|endoftext|>", "</s>"};
    int32_t token = -1;
    char *named;

    if (read_end(r, &named) < 0)
        return -1;
    if (named)
        token = mtlm_vocabulary_find(&r->vocabulary, named,
                                     (int64_t) strlen(named));
    for (int i = 0; i < 2 && !named && token < 0; i++)
        token = mtlm_vocabulary_find(&r->vocabulary, usual[i],
                                     (int64_t) strlen(usual[i]));
    free(named);
    if (token < 0)
        mtlm_error_set(r->err, MTLM_EXIT_INPUT,
                       "%s: expected the token at the end of a text, "
                       "eos_token of tokenizer_config.json beside the "
                       "file, <|endoftext|> or </s>, found none",
                       r->path);
    return token;
}

/* ---- byte-pair encoding ---- */

static int64_t next_bloom_word(const struct mtlm_byte_bpe *bpe,
                               const char *text, int64_t bytes, bool more)
{
    (void) more; /* the next part begins outside of the class */
    return mtlm_bloom_words_next(bpe->bloom, text, bytes);
}

/* Before an added token, white space is one word. */
static bool joins_word(const struct mtlm_tokenizer *tokenizer, const char *text,
                       int64_t bytes)
{
    const struct mtlm_byte_bpe *bpe = (const struct mtlm_byte_bpe *) tokenizer;

    if (bpe->added.begins[(unsigned char) *text])
        return true;
    return bpe->bloom ? mtlm_bloom_words_in_class(bpe->bloom, text, bytes)
                      : mtlm_tokenizer_white_space(text, bytes);
}

/* Whether a pre-tokenizer turns bytes into characters; words: and cuts GPT-2's
 * words. */
static bool is_byte_level(const json_t *pre, bool words)
{
    const json_t *regex = json_object_get(pre, "use_regex");

    return has_type(pre, "ByteLevel")
           && !json_is_true(json_object_get(pre, "add_prefix_space"))
           && words == !json_is_false(regex);
}

/* Returns the pattern of a pre-tokenizer that cuts text into what matches and
 * what does not; NULL: another one. */
static const char *split_pattern(const json_t *pre)
{
    const char *behavior = mtlm_json_file_text(pre, "behavior");

    return has_type(pre, "Split") && behavior
                   && strcmp(behavior, "Isolated") == 0
                   && !json_is_true(json_object_get(pre, "invert"))
               ? mtlm_json_file_text(json_object_get(pre, "pattern"), "Regex")
               : NULL;
}

/* Sets how the text is cut into words. */
static int take_words(const struct json_reader *r, struct mtlm_byte_bpe *bpe)
{
    const json_t *pre = json_object_get(r->file, "pre_tokenizer");
    const json_t *list = json_object_get(pre, "pretokenizers");
    const char *pattern = split_pattern(json_array_get(list, 0));

    if (is_byte_level(pre, true))
        return 0;
    if (has_type(pre, "Sequence") && json_array_size(list) == 2 && pattern
        && is_byte_level(json_array_get(list, 1), false)) {
        bpe->bloom = mtlm_bloom_words_class(pattern);
        bpe->next = next_bloom_word;
        if (bpe->bloom)
            return 0;
    }
    return refuse(r, "pre_tokenizer",
                  "ByteLevel with GPT-2's words and without add_prefix_space, "
                  "or the split of BLOOM and ByteLevel",
                  pre);
}

static int check_bpe(const struct json_reader *r)
{
    static const char *const keys[] = {"dropout", "continuing_subword_prefix",
                                       "end_of_word_suffix", "byte_fallback",
                                       "ignore_merges"};
    const json_t *normalizer = json_object_get(r->file, "normalizer");

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (refuse_key(r, r->model, "model", keys[i]) < 0)
            return -1;
    if (normalizer && !json_is_null(normalizer))
        return refuse(r, "normalizer", "none for BPE", normalizer);
    if (!json_is_array(json_object_get(r->model, "merges")))
        return refuse(r, "model.merges", "a list of pairs",
                      json_object_get(r->model, "merges"));
    return 0;
}

static int fill_bpe(struct json_reader *r, struct mtlm_byte_bpe *bpe)
{
    if (check_bpe(r) < 0 || take_words(r, bpe) < 0 || take_vocabulary(r) < 0)
        return -1;
    bpe->tokenizer.joins = joins_word;
    bpe->tokenizer.eod = find_end(r);
    bpe->vocabulary = r->vocabulary;
    bpe->added = r->added;
    r->vocabulary = (struct mtlm_vocabulary){0};
    r->added = (struct mtlm_added_tokens){0};
    if (bpe->tokenizer.eod < 0)
        return -1;
    if (mtlm_byte_bpe_find_bytes(bpe, r->path, r->err) < 0
        || mtlm_merges_take_json(&bpe->merges, &bpe->vocabulary,
                                 json_object_get(r->model, "merges"), r->path,
                                 r->err)
               < 0)
        return -1;
    bpe->tokenizer.hash = bpe->merges.hash;
    return 0;
}

static const struct mtlm_tokenizer *open_bpe(struct json_reader *r)
{
    struct mtlm_byte_bpe *bpe = mtlm_byte_bpe_create(NAME);

    if (fill_bpe(r, bpe) == 0)
        return &bpe->tokenizer;
    mtlm_byte_bpe_destroy(bpe);
    return NULL;
}

/* ---- WordPiece ---- */

static int take_normalizer(const struct json_reader *r,
                           struct mtlm_bert_rules *rules)
{
    const json_t *n = json_object_get(r->file, "normalizer");
    const json_t *accents = json_object_get(n, "strip_accents");

    if (!has_type(n, "BertNormalizer")
        || json_is_false(json_object_get(n, "clean_text"))
        || json_is_false(json_object_get(n, "handle_chinese_chars")))
        return refuse(r, "normalizer",
                      "BertNormalizer with clean_text and "
                      "handle_chinese_chars",
                      n);
    rules->hugging_face = true;
    rules->lower = !json_is_false(json_object_get(n, "lowercase"));
    rules->strip_accents =
        json_is_boolean(accents) ? json_is_true(accents) : rules->lower;
    return 0;
}

static int take_wordpiece(struct json_reader *r,
                          struct mtlm_wordpiece_rules *rules)
{
    const char *prefix =
        mtlm_json_file_text(r->model, "continuing_subword_prefix");
    const char *unknown = mtlm_json_file_text(r->model, "unk_token");
    const json_t *longest =
        json_object_get(r->model, "max_input_chars_per_word");

    if (prefix && strcmp(prefix, "##") != 0)
        return refuse(r, "model.continuing_subword_prefix", "the prefix ##",
                      json_object_get(r->model, "continuing_subword_prefix"));
    if (unknown && strcmp(unknown, "[UNK]") != 0)
        return refuse(r, "model.unk_token", "[UNK]",
                      json_object_get(r->model, "unk_token"));
    rules->longest = longest ? json_integer_value(longest) : 100;
    if (rules->longest < 1 || rules->longest > MTLM_WORDPIECE_LONGEST)
        return refuse(r, "model.max_input_chars_per_word",
                      "a number from 1 to 200", longest);
    if (!has_type(json_object_get(r->file, "pre_tokenizer"),
                  "BertPreTokenizer"))
        return refuse(r, "pre_tokenizer", "BertPreTokenizer for WordPiece",
                      json_object_get(r->file, "pre_tokenizer"));
    if (take_normalizer(r, &rules->words) < 0 || take_vocabulary(r) < 0)
        return -1;
    for (int64_t i = 0; i < r->added.n; i++)
        if (r->added.added[i].late)
            return refuse(r, "added_tokens",
                          "tokens without \"normalized\" for WordPiece",
                          json_object_get(r->file, "added_tokens"));
    return 0;
}

static const struct mtlm_tokenizer *open_wordpiece(struct json_reader *r)
{
    struct mtlm_wordpiece_rules rules = {0};
    const struct mtlm_tokenizer *tokenizer;

    if (take_wordpiece(r, &rules) < 0)
        return NULL;
    tokenizer = mtlm_wordpiece_create(NAME, &rules, &r->vocabulary, &r->added,
                                      r->path, r->err);
    r->vocabulary = (struct mtlm_vocabulary){0};
    r->added = (struct mtlm_added_tokens){0};
    return tokenizer;
}

/* ---- the file ---- */

/* Returns the path of the file that path names, or that is in path. */
static char *file_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode)
               ? mtlm_sprintf("%s/tokenizer.json", path)
               : mtlm_strdup(path);
}

static const struct mtlm_tokenizer *open_kind(struct json_reader *r)
{
    bool typed;

    r->model = json_object_get(r->file, "model");
    typed = json_object_get(r->model, "type");
    /* Old files leave the type out: only BPE has merges, only WordPiece limits
     * the characters of a word. */
    if (has_type(r->model, "BPE")
        || (!typed && json_object_get(r->model, "merges")))
        return open_bpe(r);
    if (has_type(r->model, "WordPiece")
        || (!typed && json_object_get(r->model, "max_input_chars_per_word")))
        return open_wordpiece(r);
    refuse(r, "model.type", "BPE or WordPiece",
           json_object_get(r->model, "type"));
    return NULL;
}

const struct mtlm_tokenizer *mtlm_tokenizer_json_open(const char *path,
                                                      struct mtlm_error *err)
{
    struct json_reader r = {.path = file_of(path), .err = err};
    const struct mtlm_tokenizer *tokenizer = NULL;
    struct mtlm_mapped_file file;

    if (mtlm_vocabulary_map(&file, r.path, err) == 0) {
        r.file = mtlm_json_file_parse(&file, err);
        mtlm_mapped_file_close(&file);
        if (r.file)
            tokenizer = open_kind(&r);
    }
    mtlm_vocabulary_free(&r.vocabulary);
    mtlm_added_tokens_free(&r.added);
    json_decref(r.file);
    free(r.path);
    return tokenizer;
}
