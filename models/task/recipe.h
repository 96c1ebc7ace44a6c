#ifndef MTLM_RECIPE_H
#define MTLM_RECIPE_H

#include <stdbool.h>

#include "models/text/tokenizer.h"
#include "runtime/base/sample.h"

/* Settings that make the data of a task samples. */
struct mtlm_task_recipe {
    const struct mtlm_tokenizer *tokenizer; /* WordPiece; outlives the data */
    int64_t seq_length;                     /* at least 3 */
    bool training; /* each epoch has a random order; false: the files' order */
    uint64_t seed;
};

/* The data of a task, which the caller destroys as samples.  A type of data
 * embeds this struct as its first member.
 *
 * A sample has TOKENS, TYPES and LENGTH: [CLS] A [SEP] B [SEP] with types 0
 * and 1, and padding.  The class, the right choice or the span of the answer
 * stands in CLASS, or in START and END.  Other fields are 0. */
struct mtlm_task_data {
    struct mtlm_samples samples;
    int64_t items;    /* pairs, questions or windows of an epoch */
    int64_t left_out; /* rows or questions of the files that are no items */
    uint64_t hash;    /* of all samples, for ranks to compare */
    bool labelled;    /* false: the files are of a test, without answers */
};

/* Returns which of `items` stands at place i of all epochs: item i % items, or
 * with recipe->training a function of the seed, the epoch and the place. */
int64_t mtlm_task_item(const struct mtlm_task_recipe *recipe, int64_t items,
                       int64_t i);

#endif /* MTLM_RECIPE_H */
