/* Windows of SQuAD's contexts. */

#include "config.h"

#include "models/task/squad.h"

/* Returns the tokens of a question. */
static int64_t query_tokens(const struct mtlm_squad *squad, int64_t question)
{
    int64_t n;

    mtlm_token_lists_get(&squad->query, question, &n);
    return n;
}

static int64_t document_tokens(const struct mtlm_squad *squad,
                               const struct mtlm_squad_question *question)
{
    int64_t n;

    mtlm_token_lists_get(&squad->document, question->document, &n);
    return n;
}

/* Returns the most tokens of a document in a window. */
static int64_t window_room(const struct mtlm_squad *squad, int64_t question)
{
    return squad->recipe.seq_length - query_tokens(squad, question) - 3;
}

/* Returns the tokens from window to window. */
static int64_t window_step(int64_t room)
{
    return room < MTLM_SQUAD_STRIDE ? room : MTLM_SQUAD_STRIDE;
}

void mtlm_squad_count_windows(struct mtlm_squad *squad, int64_t question)
{
    struct mtlm_squad_question *q = &squad->question[question];
    const int64_t n = document_tokens(squad, q);
    const int64_t room = window_room(squad, question);
    const int64_t step = window_step(room);

    q->window = squad->data.items;
    q->windows = n == 0 ? 0 : n > room ? 1 + (n - room + step - 1) / step : 1;
    squad->data.items += q->windows;
}

struct mtlm_squad_window mtlm_squad_window_get(
    const struct mtlm_squad *squad, const struct mtlm_squad_question *question,
    int64_t i)
{
    const int64_t room = window_room(squad, question - squad->question);
    const int64_t first = i * window_step(room);
    const int64_t left = document_tokens(squad, question) - first;

    return (struct mtlm_squad_window){first, left < room ? left : room};
}

int64_t mtlm_squad_find(const struct mtlm_squad *squad, int64_t window)
{
    int64_t low = 0, high = squad->questions - 1;

    while (low < high) {
        const int64_t middle = (low + high + 1) / 2;

        if (squad->question[middle].window <= window)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

int64_t mtlm_squad_offset(const struct mtlm_squad *squad, int64_t question)
{
    return query_tokens(squad, question) + 2;
}
