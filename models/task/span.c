/* From logits to the span of an answer. */

#include "config.h"

#include "models/task/span.h"

/* Writes the places of the largest logits [n], the largest first, of equal ones
 * the first; returns how many. */
static int64_t find_largest(const float *logit, int64_t n,
                            int64_t place[MTLM_SPAN_BEST])
{
    int64_t found = 0;

    for (int64_t i = 0; i < n; i++) {
        int64_t k = found;

        if (found < MTLM_SPAN_BEST)
            found++;
        else if (!(logit[i] > logit[place[--k]]))
            continue;
        for (; k > 0 && logit[i] > logit[place[k - 1]]; k--)
            place[k] = place[k - 1];
        place[k] = i;
    }
    return found;
}

/* Returns how much context a window gives to one of its tokens: on the shorter
 * side, and a little for long windows. */
static double measure_context(const struct mtlm_squad_window *window,
                              int64_t token)
{
    const int64_t left = token - window->first;
    const int64_t right = window->n - 1 - left;

    return (double) (left < right ? left : right) + 0.01 * (double) window->n;
}

/* Whether window i is the first one with the most context for a token. */
static bool has_most_context(const struct mtlm_squad *squad,
                             const struct mtlm_squad_question *question,
                             int64_t i, int64_t token)
{
    struct mtlm_squad_window window = mtlm_squad_window_get(squad, question, i);
    const double own = measure_context(&window, token);

    for (int64_t k = i - 1; k >= 0; k--) {
        window = mtlm_squad_window_get(squad, question, k);
        if (token >= window.first + window.n)
            break;
        if (measure_context(&window, token) >= own)
            return false;
    }
    for (int64_t k = i + 1; k < question->windows; k++) {
        window = mtlm_squad_window_get(squad, question, k);
        if (token < window.first)
            break;
        if (measure_context(&window, token) > own)
            return false;
    }
    return true;
}

/* Makes best the span from place a to place b of a window's sequence if that
 * one is better. */
static void offer(struct mtlm_span *best, int64_t first, int64_t last,
                  double start, double end)
{
    if (best->first >= 0 && !(start + end > best->start + best->end))
        return;
    best->first = first;
    best->last = last;
    best->start = start;
    best->end = end;
}

struct mtlm_span mtlm_span_find(const struct mtlm_squad *squad, int64_t window,
                                const float *start, const float *end)
{
    const int64_t q = mtlm_squad_find(squad, window);
    const struct mtlm_squad_question *question = &squad->question[q];
    const int64_t number = window - question->window;
    const struct mtlm_squad_window held =
        mtlm_squad_window_get(squad, question, number);
    const int64_t offset = mtlm_squad_offset(squad, q);
    const int64_t s = squad->data.samples.seq_length;
    int64_t begins[MTLM_SPAN_BEST], ends[MTLM_SPAN_BEST];
    const int64_t n_begins = find_largest(start, s, begins);
    const int64_t n_ends = find_largest(end, s, ends);
    struct mtlm_span best = {-1, -1, 0, 0, (double) start[0] + end[0]};

    for (int64_t i = 0; i < n_begins; i++) {
        const int64_t a = begins[i] - offset;

        if (a < 0 || a >= held.n
            || !has_most_context(squad, question, number, held.first + a))
            continue;
        for (int64_t k = 0; k < n_ends; k++) {
            const int64_t b = ends[k] - offset;

            if (b >= a && b < held.n && b - a < MTLM_SPAN_LONGEST)
                offer(&best, held.first + a, held.first + b, start[begins[i]],
                      end[ends[k]]);
        }
    }
    return best;
}
