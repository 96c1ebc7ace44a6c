/* Windows of orders: those of the files that others run, with their idle share,
 * and those of microbatches that do not ascend. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "graph/order/published.h"
#include "graph/schedule/order_window.h"
#include "runtime/base/memory.h"
#include "tests/graph/scene.h"

static const double one[3] = {1, 1, 1};

/* idle: share of all ranks' time in which they idle.  F, I and W take as long
 * as each other, messages take no time. */
struct known {
    int p, m;
    const char *csv;  /* NULL: DualPipeV's order, as this project builds it */
    int window[8][2]; /* w and q of each virtual stage */
    double idle;
    bool older;
};

static const struct known files[] = {
    /* PyTorch's dualpipev_4rank_10mb.csv. */
    {4, 10, NULL, {{8}, {7}, {6}, {5}, {4}, {3}, {2}, {1}}, .048, false},
    /* As torchtitan's 4-rank.csv: groups of m microbatches, two virtual stages
     * per rank, W behind the last F. */
    {4,
     6,
     "0F0,0F1,0F2,0F3,0F4,0F5,4F0,4F1,4F2,4F3,4F4,4F5,4I0,4W0,4I1,4W1,"
     "4I2,4W2,0I0,4I3,0I1,0W0,4I4,0I2,0W1,4I5,0I3,0W2,0I4,0W3,0I5,0W4,"
     "0W5,4W3,4W4,4W5\n"
     "1F0,1F1,1F2,1F3,1F4,1F5,5F0,5F1,5F2,5F3,5F4,5F5,5I0,5I1,5W0,5I2,"
     "5W1,1I0,5I3,1I1,1W0,5I4,1I2,1W1,5I5,1I3,1W2,1I4,1W3,1I5,1W4,1W5,"
     "5W2,5W3,5W4,5W5\n"
     "2F0,2F1,2F2,2F3,2F4,2F5,6F0,6F1,6F2,6F3,6I0,6F4,6I1,6F5,6I2,2I0,"
     "6I3,2I1,2W0,6I4,2I2,2W1,6I5,2I3,2W2,2I4,2W3,2I5,2W4,2W5,6W0,6W1,"
     "6W2,6W3,6W4,6W5\n"
     "3F0,3F1,3F2,3F3,3F4,3F5,7F0,7I0,7F1,7I1,7F2,7I2,3I0,7F3,7I3,3I1,"
     "7F4,7I4,3I2,7F5,7I5,3I3,3W0,3I4,3W1,3I5,3W2,3W3,3W4,3W5,7W0,7W1,"
     "7W2,7W3,7W4,7W5\n",
     {{6}, {6}, {6}, {6}, {6}, {6}, {4, 2}, {1, 5}},
     .077,
     false},
    /* ScheduleInterleavedZeroBubble of PyTorch, in the older dialect of its
     * zb1p_2rank_2stagep_compute.csv. */
    {2,
     8,
     "0F0,0F1,2F0,,2F1,2BW0,0F2,2BW1,0F3,0BW0,2F2,0BW1,2F3,2BW2,0F4,"
     "2BW3,0F5,0BW2,2F4,0BW3,2F5,2BW4,0F6,2BW5,0F7,0BW4,2F6,0BW5,2F7,"
     "2BW6,2BW7,0BW6,0BW7\n"
     ",1F0,1F1,3F0,3B0,3F1,3B1,3W0,1F2,1B0,3W1,1F3,1B1,1W0,3F2,3B2,1W1,"
     "3F3,3B3,3W2,1F4,1B2,3W3,1F5,1B3,1W2,3F4,3B4,1W3,3F5,3B5,3W4,1F6,"
     "1B4,3W5,1F7,1B5,1W4,3F6,3B6,1W5,3F7,3B7,3W6,1B6,3W7,1B7,1W6,1W7\n",
     {{4}, {3, 1}, {2}, {1, 1}},
     .020,
     true},
};

static void test_windows_and_idle_share_of_files(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        const struct known *known = &files[i];
        struct mtlm_window window[8];
        struct mtlm_order_file_notes notes;
        struct scene s;
        double makespan;

        scene_create(&s, known->p, known->m, 2, 1, one, 0);
        if (known->csv) {
            s.layout.placement = MTLM_PLACEMENT_LOOP;
            scene_update(&s);
            scene_read(&s, known->csv, &s.order, &notes);
            assert_true(notes.older == known->older);
        } else {
            mtlm_published_build(mtlm_published_find("dualpipe-v"), &s.walk, 0,
                                 &s.order);
        }
        makespan = mtlm_walk(&s.walk, &s.order);
        assert_float_equal(1 - 3 * known->m / makespan, known->idle, .0005);
        mtlm_order_window_set(&s.walk, window);
        for (int k = 0; k < 2 * known->p; k++) {
            assert_int_equal(window[k].w, known->window[k][0]);
            assert_int_equal(window[k].q, known->window[k][1]);
        }
        scene_free(&s);
    }
}

/* Slots by definition: any two microbatches that meet are counted. */
static int slots_of_pairs(const double *begin, const double *end, int n)
{
    int slots = 1;

    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            if (begin[j] < end[i] && begin[i] < end[j] && j - i >= slots)
                slots = j - i + 1;
    return slots;
}

static void test_any_two_that_meet_have_slots(void **state)
{
    enum { N = 8 };
    uint32_t random = 1;

    (void) state;
    for (int k = 0; k < 20000; k++) {
        double begin[N], end[N];
        const int n = 1 + k % N;

        for (int i = 0; i < n; i++) {
            random = 1664525 * random + 1013904223;
            begin[i] = random >> 28;
            end[i] = begin[i] + 1 + (random >> 20) % (1 + k % 7);
        }
        assert_int_equal(mtlm_order_window_slots(begin, end, n),
                         slots_of_pairs(begin, end, n));
    }
}

/* Each microbatch meets the next three.  Two change places: the first of them
 * meets the fourth behind it, too.  There are so many that a count of all pairs
 * would take minutes. */
static void test_a_change_of_places_takes_one_slot_more(void **state)
{
    enum { N = 1000000, HERE = N / 2 };
    double *begin = mtlm_calloc(2 * N, sizeof(*begin)), *end = begin + N;

    (void) state;
    for (int i = 0; i < N; i++) {
        const int place = i == HERE ? i + 1 : i == HERE + 1 ? i - 1 : i;

        begin[i] = place;
        end[i] = place + 3.5;
    }
    assert_int_equal(mtlm_order_window_slots(begin, end, N), 5);
    free(begin);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows_and_idle_share_of_files),
        cmocka_unit_test(test_any_two_that_meet_have_slots),
        cmocka_unit_test(test_a_change_of_places_takes_one_slot_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
