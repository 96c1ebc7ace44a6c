/* Data sets, vocabularies and merges of any bytes. */

#include "config.h"

#include <stdbool.h>
#include <stdlib.h>

#include "models/text/indexed_dataset.h"
#include "models/text/merges.h"
#include "models/text/tokenizer_json.h"
#include "models/text/wordpiece.h"
#include "runtime/base/memory.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/memory_file.h"

/* The first byte says how long PREFIX.bin is; the rest is PREFIX.idx. */
void fuzz_idx(const uint8_t *data, size_t bytes)
{
    static const uint8_t tokens[256];
    struct mtlm_error err = {0};
    struct mtlm_indexed_dataset *d;

    if (bytes == 0)
        return;
    memory_file_put(0, ".idx", data + 1, bytes - 1);
    memory_file_put(1, ".bin", tokens, data[0]);
    d = mtlm_indexed_dataset_open("fuzz", 7, &err);
    if (!d) {
        fuzz_refused(&err);
        return;
    }
    for (int64_t i = 0; i < mtlm_indexed_dataset_documents(d); i++) {
        const int64_t n = mtlm_indexed_dataset_tokens(d, i, i + 1);
        int32_t *read = mtlm_calloc((size_t) n, sizeof(*read));

        mtlm_indexed_dataset_read(d, i, 0, n, read);
        fuzz_look(read, (size_t) n * sizeof(*read));
        free(read);
    }
    mtlm_indexed_dataset_close(d);
}

static void look_at_vocabulary(struct mtlm_vocabulary *v)
{
    for (int64_t i = 0; i < v->n; i++)
        if (mtlm_vocabulary_find(v, v->text + v->begin[i],
                                 v->begin[i + 1] - v->begin[i])
            != i)
            abort();
    mtlm_vocabulary_free(v);
}

void fuzz_vocabulary_json(const uint8_t *data, size_t bytes)
{
    struct mtlm_vocabulary v;
    struct mtlm_error err = {0};

    memory_file_put(0, "fuzz", data, bytes);
    if (mtlm_vocabulary_read_json(&v, "fuzz", &err) < 0)
        fuzz_refused(&err);
    else
        look_at_vocabulary(&v);
}

void fuzz_vocabulary_lines(const uint8_t *data, size_t bytes)
{
    struct mtlm_vocabulary v;
    struct mtlm_error err = {0};
    const struct mtlm_tokenizer *tokenizer;

    memory_file_put(0, "fuzz", data, bytes);
    if (mtlm_vocabulary_read_lines(&v, "fuzz", &err) < 0) {
        fuzz_refused(&err);
        return;
    }
    look_at_vocabulary(&v);
    tokenizer = mtlm_wordpiece_open("fuzz", true, &err);
    if (!tokenizer)
        fuzz_refused(&err);
    else
        tokenizer->destroy((struct mtlm_tokenizer *) tokenizer);
}

void fuzz_merges(const uint8_t *data, size_t bytes)
{
    static const char known[] =
        "a\nb\nc\nab\nbc\nabc\nabab\nabcabc\n\303\251\n";
    static struct mtlm_vocabulary v;
    struct mtlm_merges m;
    struct mtlm_error err = {0};

    memory_file_put(0, "vocabulary", known, sizeof(known) - 1);
    memory_file_put(1, "fuzz", data, bytes);
    if (v.n == 0 && mtlm_vocabulary_read_lines(&v, "vocabulary", &err) < 0)
        abort();
    if (mtlm_merges_read(&m, &v, "fuzz", &err) < 0) {
        fuzz_refused(&err);
    } else {
        int32_t tokens[] = {0, 1, 0, 1, 2, 0, 1, 2, 8, 1};

        mtlm_merges_apply(&m, tokens, sizeof(tokens) / sizeof(*tokens));
        mtlm_merges_free(&m);
    }
}

/* What is a tokenizer turns bytes into its own tokens. */
void fuzz_tokenizer_json(const uint8_t *data, size_t bytes)
{
    static const char text[] = "The [MASK] the, </s> a\377b (c)  "
                               "\n\n<x>\303\211t\303\251 \344\270\200";
    int32_t token[sizeof(text)];
    struct mtlm_error err = {0};
    const struct mtlm_tokenizer *tokenizer;
    int64_t n;

    memory_file_put(0, "fuzz", data, bytes);
    tokenizer = mtlm_tokenizer_json_open("fuzz", &err);
    if (!tokenizer) {
        fuzz_refused(&err);
        return;
    }
    n = tokenizer->encode(tokenizer, NULL, text, sizeof(text) - 1, false,
                          token);
    for (int64_t i = 0; i < n; i++)
        if (token[i] < 0 || token[i] >= tokenizer->vocab_size)
            abort();
    mtlm_tokenizer_close(tokenizer);
}
