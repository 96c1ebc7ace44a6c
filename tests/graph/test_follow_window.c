/* Windows and slots of programs that follow an order. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "graph/order/order_memory.h"
#include "graph/schedule/order_window.h"
#include "tests/graph/follow_scene.h"

/* arXiv 2401.10241: ZB-H1 keeps p - k microbatches until B and p until W.
 * arXiv 2405.15362, ZB-V: the memory of p microbatches, in halves, on each
 * rank. */
static void test_windows_of_published_orders(void **state)
{
    static const struct follow_case zb_h1 = {1, 4, 1, .microbatches = 12,
                                             .memory = 4};
    static const struct follow_case zb_v = {
        1, 4, 2, MTLM_PLACEMENT_V, .microbatches = 12, .memory = 4};
    struct mtlm_window window[FOLLOW_MOST];
    struct follow_scene s;

    (void) state;
    follow_scene_create(&s, &zb_h1);
    mtlm_order_window_set(&s.walk, window);
    for (int k = 0; k < 4; k++) {
        assert_int_equal(window[k].w, 4 - k);
        assert_true(window[k].w + window[k].q <= 4);
    }
    follow_scene_free(&s);
    follow_scene_create(&s, &zb_v);
    mtlm_order_window_set(&s.walk, window);
    for (int r = 0; r < 4; r++)
        assert_true(window[r].w + window[7 - r].w >= 7);
    follow_scene_free(&s);
}

/* Two ways to count slots: along a rank's order, and by the times of a walk.
 * Along the order, a box ends when the next one of its lane starts. */
static void test_the_memory_of_an_order_is_that_of_its_windows(void **state)
{
    static const struct mtlm_slot_rules rings = {.weight_share = .75};

    (void) state;
    for (int n = 0; n < FOLLOW_CASES; n++) {
        struct mtlm_window window[FOLLOW_MOST];
        struct follow_scene s;

        follow_scene_create(&s, &follow_cases[n]);
        mtlm_order_window_set(&s.walk, window);
        for (int r = 0; r < follow_cases[n].pp; r++) {
            double memory = 0;

            for (int c = 0; c < follow_cases[n].virtual_stages; c++) {
                const int k = mtlm_box_stage(&s.boxes, r, c);

                memory +=
                    s.one[k] * (window[k].w + rings.weight_share * window[k].q);
            }
            if (s.lanes > 1)
                assert_true(mtlm_order_memory(&s.order, &s.boxes, r, &rings)
                            >= memory - 1e-9);
            else
                assert_float_equal(
                    mtlm_order_memory(&s.order, &s.boxes, r, &rings), memory,
                    1e-9);
        }
        follow_scene_free(&s);
    }
}

static void test_slots_are_the_greatest_distance_of_numbers(void **state)
{
    static const double begin[] = {0, 1, 2, 3}, end[] = {1, 4, 3, 5};
    static const double late[] = {3, 2, 1, 0}, each[] = {4, 3, 2, 1};
    static const double far[] = {0, 5, 6, 1}, away[] = {2, 6, 7, 2};

    (void) state;
    assert_int_equal(mtlm_order_window_slots(begin, end, 4), 3);
    assert_int_equal(mtlm_order_window_slots(late, each, 4), 1);
    /* Microbatches 0 and 3 at once: slots 0 and 3 of four. */
    assert_int_equal(mtlm_order_window_slots(far, away, 4), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows_of_published_orders),
        cmocka_unit_test(test_the_memory_of_an_order_is_that_of_its_windows),
        cmocka_unit_test(test_slots_are_the_greatest_distance_of_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
