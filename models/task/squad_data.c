/* Questions of SQuAD about contexts, as samples. */

#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include <xxhash.h>

#include "models/task/pair.h"
#include "models/task/squad_data.h"
#include "models/task/squad_file.h"
#include "runtime/base/memory.h"

/* Returns the place of a token of the document in a window's sequence; 0 if the
 * window does not hold the whole answer. */
static int64_t place_of(const struct mtlm_squad *squad,
                        const struct mtlm_squad_question *question,
                        const struct mtlm_squad_window *window, int64_t token)
{
    if (question->first < window->first
        || question->last >= window->first + window->n)
        return 0;
    return token - window->first
           + mtlm_squad_offset(squad, question - squad->question);
}

static void read_sample(struct mtlm_samples *samples, int64_t sample,
                        enum mtlm_field field, int64_t first, int64_t n,
                        int32_t *values)
{
    const struct mtlm_squad *squad = (const struct mtlm_squad *) samples;
    const int64_t item =
        mtlm_task_item(&squad->recipe, squad->data.items, sample);
    const int64_t i = mtlm_squad_find(squad, item);
    const struct mtlm_squad_question *question = &squad->question[i];
    const struct mtlm_squad_window window =
        mtlm_squad_window_get(squad, question, item - question->window);
    struct mtlm_pair pair = {.b_tokens = window.n};
    int64_t all;

    pair.a = mtlm_token_lists_get(&squad->query, i, &pair.a_tokens);
    pair.b = mtlm_token_lists_get(&squad->document, question->document, &all)
             + window.first;
    mtlm_pair_read(&pair, squad->recipe.tokenizer->bert, samples->seq_length,
                   field, first, n, values);
    if (field == MTLM_FIELD_START && n > 0)
        values[0] =
            (int32_t) place_of(squad, question, &window, question->first);
    if (field == MTLM_FIELD_END && n > 0)
        values[0] =
            (int32_t) place_of(squad, question, &window, question->last);
}

static void destroy(struct mtlm_samples *samples)
{
    struct mtlm_squad *squad = (struct mtlm_squad *) samples;

    for (int64_t i = 0; i < squad->questions; i++) {
        struct mtlm_squad_question *question = &squad->question[i];

        for (int64_t k = 0; k < question->answers; k++)
            free(question->answer[k]);
        free(question->answer);
        free(question->id);
    }
    for (int64_t i = 0; squad->text && i < squad->document.n; i++)
        free(squad->text[i]);
    free(squad->question);
    free(squad->text);
    mtlm_token_lists_free(&squad->query);
    mtlm_token_lists_free(&squad->document);
    free(squad);
}

static int read_files(struct mtlm_squad *squad, const char *const *path,
                      int paths, struct mtlm_error *err)
{
    if (squad->recipe.seq_length <= MTLM_SQUAD_QUERY + 3)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--seq-length %" PRId64
                              " has no room for a question of SQuAD, which "
                              "has up to %d tokens: give %d or more",
                              squad->recipe.seq_length, MTLM_SQUAD_QUERY,
                              MTLM_SQUAD_QUERY + 4);
    for (int i = 0; i < paths; i++)
        if (mtlm_squad_file_read(squad, path[i], err) < 0)
            return -1;
    if (squad->data.items > 0)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_INPUT,
                          "%s: line 1: all contexts are empty", path[0]);
}

static uint64_t hash_data(const struct mtlm_squad *squad)
{
    uint64_t hash = mtlm_token_lists_hash(
        &squad->document, mtlm_token_lists_hash(&squad->query, 0));

    for (int64_t i = 0; i < squad->questions; i++) {
        const struct mtlm_squad_question *question = &squad->question[i];
        const int64_t numbers[] = {question->document, question->first,
                                   question->last};

        hash = XXH3_64bits_withSeed(numbers, sizeof(numbers), hash);
    }
    return hash;
}

struct mtlm_squad *mtlm_squad_data_create(const char *const *path, int paths,
                                          const struct mtlm_task_recipe *recipe,
                                          struct mtlm_error *err)
{
    struct mtlm_squad *squad = mtlm_calloc(1, sizeof(*squad));
    struct mtlm_samples *samples = &squad->data.samples;
    int rc;

    *samples = (struct mtlm_samples){.seq_length = recipe->seq_length,
                                     .read = read_sample,
                                     .destroy = destroy};
    squad->recipe = *recipe;
    squad->cache = mtlm_word_cache_create();
    rc = read_files(squad, path, paths, err);
    mtlm_word_cache_destroy(squad->cache);
    samples->epoch = squad->data.items;
    if (rc == 0) {
        squad->data.hash = hash_data(squad);
        return squad;
    }
    destroy(samples);
    return NULL;
}
