/* Data of zero-shot tasks of any bytes. */

#include "config.h"

#include <stdlib.h>

#include "models/task/lambada.h"
#include "models/task/wikitext.h"
#include "models/text/byte_tokenizer.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/memory_file.h"

enum { S = 16 };

/* Reads all fields of all samples and of one behind them. */
static void look_at_samples(struct mtlm_scored_text *text)
{
    int64_t scored = 0;

    for (int64_t i = 0; i <= text->samples; i++)
        for (int f = 0; f < MTLM_FIELD_COUNT; f++) {
            int32_t values[S];
            const int64_t n = mtlm_field_size(f, S);

            mtlm_samples_read(&text->source, i, f, 0, n, values);
            fuzz_look(values, n * sizeof(*values));
            for (int k = 0; k < n && f == MTLM_FIELD_LOSS_MASK; k++)
                scored += values[k];
        }
    if (scored != text->scored)
        abort();
    mtlm_samples_destroy(&text->source);
}

/* The first byte of the data decides on an option of the reader. */
void fuzz_wikitext(const uint8_t *data, size_t bytes)
{
    struct mtlm_error err = {0};
    struct mtlm_scored_text *text;

    if (bytes == 0)
        return;
    memory_file_put(0, "fuzz", data + 1, bytes - 1);
    text = mtlm_wikitext_read(&mtlm_tokenizer_byte, "fuzz", S, 1 + data[0] % S,
                              &err);
    if (!text)
        fuzz_refused(&err);
    else
        look_at_samples(text);
}

void fuzz_lambada(const uint8_t *data, size_t bytes)
{
    struct mtlm_error err = {0};
    struct mtlm_scored_text *text;

    if (bytes == 0)
        return;
    memory_file_put(0, "fuzz", data + 1, bytes - 1);
    text =
        mtlm_lambada_read(&mtlm_tokenizer_byte, "fuzz", S, data[0] % 2, &err);
    if (!text)
        fuzz_refused(&err);
    else
        look_at_samples(text);
}
