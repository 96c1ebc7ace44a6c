#ifndef MTLM_SQUAD_H
#define MTLM_SQUAD_H

#include "models/task/recipe.h"
#include "models/task/token_lists.h"

/* Lengths of google-research/bert, in tokens. */
enum {
    MTLM_SQUAD_STRIDE = 128, /* from window to window */
    MTLM_SQUAD_QUERY = 64,   /* of a question, at most */
};

struct mtlm_squad_question {
    int64_t document;
    int64_t first, last; /* tokens of the answer in the document; -1: none */
    int64_t window, windows; /* its samples in the files' order */

    /* NULL with recipe->training */
    char *id;
    char **answer;
    int64_t answers; /* 0: the question has no answer */
};

/* Questions of SQuAD 1.1 or 2.0 about contexts.  A context that is too long for
 * a sequence is cut into windows of neighbouring tokens, with
 * MTLM_SQUAD_STRIDE tokens from one to the next.  A window is a sample: A is
 * the question, B the window.  START and END are places in the sequence.  They
 * are 0, at [CLS], for a question without an answer and for a window that does
 * not hold the whole answer.  All is as in google-research/bert. */
struct mtlm_squad {
    struct mtlm_task_data data; /* items are windows */
    bool negative; /* SQuAD 2.0, by "is_impossible" or a version v2...: some
                    * questions may have no answer */
    int64_t questions;

    /* for this room */
    struct mtlm_task_recipe recipe;
    struct mtlm_squad_question *question; /* [questions] */
    struct mtlm_token_lists query;        /* of question i: list i */
    struct mtlm_token_lists document;     /* whole contexts */
    char **text; /* [document.n] contexts; NULL with recipe->training */
    struct mtlm_word_cache *cache; /* while files are read */
    size_t room, text_room;
};

/* Counts the windows of a question, the last one, and adds them to the items.
 */
void mtlm_squad_count_windows(struct mtlm_squad *squad, int64_t question);

/* Tokens first .. first + n - 1 of a question's document. */
struct mtlm_squad_window {
    int64_t first, n;
};

/* Returns window i of a question, 0 <= i < question->windows. */
struct mtlm_squad_window mtlm_squad_window_get(
    const struct mtlm_squad *squad, const struct mtlm_squad_question *question,
    int64_t i);

/* Returns the number of the question with this window, by the files' order. */
int64_t mtlm_squad_find(const struct mtlm_squad *squad, int64_t window);

/* Returns the place of window token 0 in the question's sequences. */
int64_t mtlm_squad_offset(const struct mtlm_squad *squad, int64_t question);

#endif /* MTLM_SQUAD_H */
