/* Cuts documents of an opened data set in two. */

#include "config.h"

#include <assert.h>
#include <string.h>

#include "models/text/indexed_private.h"
#include "runtime/base/memory.h"

/* Returns the last i with value[i] <= wanted; value [n >= 1] ascends from at
 * most wanted. */
static int64_t find_last(const int64_t *value, int64_t n, int64_t wanted)
{
    int64_t low = 0, high = n;

    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;

        if (value[middle] <= wanted)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Puts a value before value[at] of an array [*n], which grows. */
static void insert(int64_t **value, int64_t *n, int64_t at, int64_t inserted)
{
    *value = mtlm_realloc(*value, *n + 1, sizeof(**value));
    memmove(*value + at + 1, *value + at, (*n - at) * sizeof(**value));
    (*value)[at] = inserted;
    (*n)++;
}

/* Returns the sequence that begins at a token, cut if needed. */
static int64_t cut_sequence(struct mtlm_indexed_dataset *dataset, int64_t token)
{
    int64_t starts = dataset->sequences + 1;
    const int64_t before = find_last(dataset->start, starts, token);

    if (dataset->start[before] == token)
        return before;
    insert(&dataset->start, &starts, before + 1, token);
    dataset->sequences++;
    for (int64_t d = 0; d <= dataset->documents; d++)
        dataset->bound[d] += dataset->bound[d] > before;
    return before + 1;
}

int64_t mtlm_indexed_dataset_cut(struct mtlm_indexed_dataset *dataset,
                                 int64_t token, bool sentences)
{
    int64_t bounds = dataset->documents + 1;
    const int64_t sequence =
        sentences ? find_last(dataset->start, dataset->sequences + 1, token)
                  : cut_sequence(dataset, token);
    const int64_t before = find_last(dataset->bound, bounds, sequence);

    assert(token >= 0 && token <= dataset->start[dataset->sequences]);
    if (dataset->bound[before] == sequence)
        return before;
    insert(&dataset->bound, &bounds, before + 1, sequence);
    dataset->documents++;
    return before + 1;
}
