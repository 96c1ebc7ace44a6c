#ifndef MTLM_GLUE_LAYOUT_H
#define MTLM_GLUE_LAYOUT_H

#include <stdbool.h>

#include "models/task/tsv.h"

/* Tasks of GLUE: a pair of sentences and its class. */
enum mtlm_glue {
    MTLM_GLUE_MNLI, /* classes contradiction, entailment, neutral */
    MTLM_GLUE_QQP,  /* classes 0, 1: whether the questions mean the same */
    MTLM_GLUES
};

/* Which columns of a file count, from 0 on. */
struct mtlm_glue_layout {
    int64_t columns, a, b;
    int64_t label; /* 0: none, the file of a test */
};

/* Returns the name of a class. */
const char *mtlm_glue_class(enum mtlm_glue task, int64_t class);

/* Whether published files have rows that are no pair. */
bool mtlm_glue_may_skip(enum mtlm_glue task);

/* Finds the layout of a file by its first line; NULL and MTLM_EXIT_INPUT: the
 * file has other columns. */
const struct mtlm_glue_layout *mtlm_glue_layout_find(enum mtlm_glue task,
                                                     const struct mtlm_tsv *tsv,
                                                     struct mtlm_error *err);

/* Checks that the row has the columns of the layout, and two sentences;
 * otherwise MTLM_EXIT_INPUT. */
int mtlm_glue_layout_check(const struct mtlm_glue_layout *layout,
                           const struct mtlm_tsv *tsv, struct mtlm_error *err);

/* Returns the class of a checked row, 0 in the file of a test.  -1 and
 * MTLM_EXIT_INPUT: the class is unknown, or column 1 is not a whole number. */
int mtlm_glue_layout_class(const struct mtlm_glue_layout *layout,
                           enum mtlm_glue task, const struct mtlm_tsv *tsv,
                           struct mtlm_error *err);

#endif /* MTLM_GLUE_LAYOUT_H */
