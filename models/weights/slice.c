/* Slices of tensors: checks, counts and copies of common elements. */

#include "config.h"

#include <stdbool.h>
#include <string.h>

#include "models/weights/slice.h"

static bool inside(int64_t begin, int64_t count, int64_t all)
{
    return begin >= 0 && count >= 0 && begin <= all && count <= all - begin;
}

int mtlm_slice_check(const struct mtlm_slice *s)
{
    int64_t all, whole, bytes;

    for (int d = 0; d < 2; d++)
        if (s->full[d] < 1 || s->dim[d] < 1
            || !inside(s->first[d], s->dim[d], s->full[d]))
            return -1;
    if (__builtin_mul_overflow(s->full[0], s->full[1], &whole)
        || __builtin_mul_overflow(whole, (int64_t) sizeof(float), &bytes)
        || __builtin_mul_overflow(s->dim[0], s->dim[1], &all))
        return -1;
    return inside(s->begin, s->count, all) ? 0 : -1;
}

/* Rows or columns of a tensor: begin .. end - 1. */
struct range {
    int64_t begin, end;
};

/* Returns the columns of a tensor's row that the slice holds. */
static struct range columns_in(const struct mtlm_slice *s, int64_t row)
{
    const int64_t at = (row - s->first[0]) * s->dim[1]; /* of the row's begin */
    const int64_t begin = s->begin > at ? s->begin - at : 0;
    const int64_t end = s->begin + s->count - at < s->dim[1]
                            ? s->begin + s->count - at
                            : s->dim[1];

    if (row < s->first[0] || row >= s->first[0] + s->dim[0] || end <= begin)
        return (struct range){0, 0};
    return (struct range){s->first[1] + begin, s->first[1] + end};
}

/* Returns the place of a tensor's element among the slice's. */
static int64_t place(const struct mtlm_slice *s, int64_t row, int64_t col)
{
    return (row - s->first[0]) * s->dim[1] + col - s->first[1] - s->begin;
}

/* Returns the tensor's rows below `rows` that hold elements of the slice. */
static struct range rows_of(const struct mtlm_slice *s, int64_t rows)
{
    const int64_t begin = s->first[0] + s->begin / s->dim[1];
    const int64_t end =
        s->first[0] + (s->begin + s->count + s->dim[1] - 1) / s->dim[1];

    return (struct range){begin, end < rows ? end : rows};
}

int64_t mtlm_slice_count(const struct mtlm_slice *slice, int64_t rows)
{
    const struct range in = rows_of(slice, rows);
    int64_t n = 0;

    for (int64_t row = in.begin; row < in.end; row++) {
        const struct range c = columns_in(slice, row);

        n += c.end - c.begin;
    }
    return n;
}

int64_t mtlm_slice_row(const struct mtlm_slice *slice, int64_t element)
{
    return slice->first[0] + (slice->begin + element) / slice->dim[1];
}

int64_t mtlm_slice_column(const struct mtlm_slice *slice, int64_t element)
{
    return slice->first[1] + (slice->begin + element) % slice->dim[1];
}

static bool meet_in(const struct mtlm_slice *a, const struct mtlm_slice *b,
                    int64_t row)
{
    const struct range x = columns_in(a, row), y = columns_in(b, row);

    return x.begin < y.end && y.begin < x.end;
}

bool mtlm_slice_overlap(const struct mtlm_slice *a, const struct mtlm_slice *b)
{
    const struct range x = rows_of(a, INT64_MAX), y = rows_of(b, INT64_MAX);
    const int64_t first = x.begin > y.begin ? x.begin : y.begin;
    const int64_t last = (x.end < y.end ? x.end : y.end) - 1;

    /* Between the first and the last common row, all rows are alike. */
    return first <= last
           && (meet_in(a, b, first) || meet_in(a, b, last)
               || (last - first > 1 && meet_in(a, b, first + 1)));
}

int64_t mtlm_slice_copy(const struct mtlm_slice *from, const void *values,
                        const struct mtlm_slice *to, int64_t rows, float *into)
{
    const struct range a = rows_of(from, rows), b = rows_of(to, rows);
    const int64_t last = a.end < b.end ? a.end : b.end;
    int64_t n = 0;

    for (int64_t row = a.begin > b.begin ? a.begin : b.begin; row < last;
         row++) {
        const struct range x = columns_in(from, row), y = columns_in(to, row);
        const int64_t begin = x.begin > y.begin ? x.begin : y.begin;
        const int64_t end = x.end < y.end ? x.end : y.end;

        if (end <= begin)
            continue;
        n += end - begin;
        if (!into)
            continue;
        memcpy(into + place(to, row, begin),
               (const char *) values
                   + place(from, row, begin) * (int64_t) sizeof(float),
               (end - begin) * sizeof(float));
    }
    return n;
}
