/* Keeps and prints the texts of sequences. */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/generate/generate_text.h"
#include "runtime/base/memory.h"
#include "runtime/base/standard_output.h"

/* What follows the prompt. */
struct output {
    char *bytes;
    int64_t n, printed;
    bool done;
};

struct mtlm_generate_text {
    const struct mtlm_job *job;
    bool prints;
    struct output *text; /* [job->prompts->sequences] */
    int64_t first;       /* the first sequence that is not printed completely */
    bool begun;          /* its prompt is printed */
};

struct mtlm_generate_text *mtlm_generate_text_create(const struct mtlm_job *job)
{
    const struct mtlm_layout *l = &job->layout;
    struct mtlm_generate_text *text;

    if (l->tp_rank != 0 || l->pp_rank != 0)
        return NULL;
    text = mtlm_calloc(1, sizeof(*text));
    text->job = job;
    text->prints = l->dp_rank == 0;
    text->text = mtlm_calloc(job->prompts->sequences, sizeof(*text->text));
    for (int64_t i = 0; i < job->prompts->sequences; i++)
        text->text[i].bytes = mtlm_calloc(1, 1);
    return text;
}

void mtlm_generate_text_destroy(struct mtlm_generate_text *text)
{
    if (!text)
        return;
    for (int64_t i = 0; i < text->job->prompts->sequences; i++)
        free(text->text[i].bytes);
    free(text->text);
    free(text);
}

/* ---- printing ---- */

static void print_prompt(const struct mtlm_generate_text *text)
{
    const struct mtlm_tokenizer *tokenizer = text->job->options.tokenizer;
    int64_t n;
    const int32_t *token =
        mtlm_prompts_tokens(text->job->prompts, text->first, &n);

    if (text->first > 0)
        printf("---------------\n");
    if (mtlm_prompts_empty(text->job->prompts, text->first))
        return;
    for (int64_t i = 0; i < n; i++) {
        int64_t bytes;
        const char *of = tokenizer->text(tokenizer, token[i], &bytes);

        fwrite(of, 1, bytes, stdout);
    }
}

/* Prints all that is known, up to the first unfinished sequence. */
static void print_known(struct mtlm_generate_text *text)
{
    while (text->first < text->job->prompts->sequences) {
        struct output *t = &text->text[text->first];

        if (!text->begun)
            print_prompt(text);
        text->begun = true;
        fwrite(t->bytes + t->printed, 1, t->n - t->printed, stdout);
        t->printed = t->n;
        if (!t->done)
            break;
        printf("\n");
        text->first++;
        text->begun = false;
    }
    if (mtlm_standard_output_flush() != 0)
        mtlm_end_job(MTLM_EXIT_IO, "the text cannot be printed");
}

static void add_bytes(struct output *t, const char *bytes, int64_t n)
{
    t->bytes = mtlm_realloc(t->bytes, t->n + n + 1, 1);
    memcpy(t->bytes + t->n, bytes, n);
    t->n += n;
}

void mtlm_generate_text_add(struct mtlm_generate_text *text, int64_t sequence,
                            int32_t token)
{
    const struct mtlm_tokenizer *tokenizer;
    const char *bytes;
    int64_t n;

    if (!text)
        return;
    tokenizer = text->job->options.tokenizer;
    bytes = tokenizer->text(tokenizer, token, &n);
    add_bytes(&text->text[sequence], bytes, n);
    if (text->prints)
        print_known(text);
}

void mtlm_generate_text_end(struct mtlm_generate_text *text, int64_t sequence)
{
    if (!text)
        return;
    text->text[sequence].done = true;
    if (text->prints)
        print_known(text);
}

/* ---- other replicas ---- */

/* Appends number, length and bytes of this replica's texts. */
static struct output pack_texts(const struct mtlm_generate_text *text)
{
    struct output all = {.bytes = mtlm_calloc(1, 1)};

    for (int64_t i = 0; text && i < text->job->prompts->sequences; i++) {
        const struct output *t = &text->text[i];

        if (!t->done || text->prints)
            continue;
        add_bytes(&all, (const char *) &i, sizeof(i));
        add_bytes(&all, (const char *) &t->n, sizeof(t->n));
        add_bytes(&all, t->bytes, t->n);
    }
    return all;
}

static void unpack_texts(struct mtlm_generate_text *text, const char *packed,
                         size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        int64_t sequence, n;

        memcpy(&sequence, packed + at, sizeof(sequence));
        memcpy(&n, packed + at + sizeof(sequence), sizeof(n));
        at += sizeof(sequence) + sizeof(n);
        add_bytes(&text->text[sequence], packed + at, n);
        text->text[sequence].done = true;
        at += n;
    }
}

void mtlm_generate_text_gather(struct mtlm_generate_text *text,
                               struct mtlm_job *job)
{
    struct output mine;
    char *all;
    size_t bytes;

    if (job->layout.dp == 1)
        return;
    mine = pack_texts(text);
    all = mtlm_ranks_gather(job->ranks, mine.bytes, mine.n, &bytes);
    if (all) {
        unpack_texts(text, all, bytes);
        print_known(text);
    }
    free(all);
    free(mine.bytes);
}
