/* Published orders: sound, of the published makespan and memory, and, box by
 * box, the orders that others write. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/order/published.h"
#include "graph/schedule/schedule.h"
#include "tests/graph/scene.h"
#include "tests/tier.h"

static const double one[3] = {1, 1, 1};

/* Makes the pipeline of a published schedule. */
static void create(struct scene *s, const struct mtlm_published *published,
                   int p, int m, int v, const double times[3], double hop)
{
    scene_create(s, p, m, v, 1, times, hop);
    s->layout.placement = published->placement;
    s->boxes.fused = published->fused;
    scene_update(s);
}

/* The longest time from the first start to the last end on one rank. */
static double span_of(const struct scene *s)
{
    double span = 0;

    for (int r = 0; r < s->order.ranks; r++) {
        const int *box = s->order.box[r];

        span = fmax(span, s->walk.end[box[s->order.n[r] - 1]]
                              - s->walk.start[box[0]]);
    }
    return span;
}

static void check_formulas(const struct mtlm_published *published, int p, int m,
                           int v)
{
    const struct mtlm_published_size size = {p, v, m, 1, 1, 1};
    const double memory = published->memory(&size);
    struct scene s;
    double makespan;

    create(&s, published, p, m, v, one, 0);
    assert_null(mtlm_published_lacks(published, &s.boxes));
    makespan = mtlm_published_build(published, &s.walk, memory, &s.order);
    scene_assert_sound(&s, memory);
    if (published->build != NULL)
        assert_float_equal(mtlm_order_peak(&s.order, &s.boxes), memory,
                           scene_rounding);
    if (published->time != NULL)
        assert_float_equal(published->by_span ? span_of(&s) : makespan,
                           published->time(&size), scene_rounding);
    /* Half an activation less is too little for a fixed order. */
    if (published->build != NULL)
        assert_true(
            mtlm_published_build(published, &s.walk, memory - .5, &s.order)
            == INFINITY);
    scene_free(&s);
}

static void test_orders_have_the_published_makespan_and_memory(void **state)
{
    const int most = full_tier() ? 16 : 8;

    (void) state;
    for (int i = 0; i < MTLM_PUBLISHED_COUNT; i++) {
        const struct mtlm_published *published = &mtlm_published[i];
        const int chunks =
            published->most_chunks > 0 ? published->most_chunks : 4;

        for (int p = 2; p <= most; p += p < 5 ? 1 : 3)
            for (int v = published->least_chunks; v <= chunks; v++)
                for (int m = 2 * p; m <= 4 * p; m += p)
                    check_formulas(published, p, m, v);
    }
}

/* ---- the same boxes as others have ---- */

struct rows {
    const char *name;
    int p, v, m;
    const char *csv;
};

/* torch.distributed.pipelining 2.15: ScheduleDualPipeV,
 * ScheduleInterleaved1F1B.  Chapters 2.2.1 and 2.2.2 of arXiv 2104.04473 draw
 * 1F1B; arXiv 2401.10241 draws ZB-H1 and ZB-H2. */
static const struct rows theirs[] = {
    {"dualpipe-v", 3, 2, 6,
     "0F0,0F1,0F2,0F3,0F4,5F0,5I0,5W0,5F1,5I1,5W1,5F2,(0F5;5B2)OVERLAP_F_B,"
     "(5F3;0B0)OVERLAP_F_B,5B3,(5F4;0B1)OVERLAP_F_B,5B4,(5F5;0B2)OVERLAP_F_B,"
     "5B5,0I3,0W3,0I4,0W4,0I5,0W5\n"
     "1F0,1F1,1F2,4F0,1F3,4F1,4I0,4W0,4F2,(1F4;4B1)OVERLAP_F_B,"
     "(4F3;1B0)OVERLAP_F_B,(1F5;4B2)OVERLAP_F_B,(4F4;1B1)OVERLAP_F_B,4B3,"
     "(4F5;1B2)OVERLAP_F_B,4B4,1B3,4I5,1I4,4W5,1I5,1W4,1W5\n"
     "2F0,3F0,2F1,3F1,2F2,3F2,2F3,3B0,(3F3;2B0)OVERLAP_F_B,"
     "(2F4;3B1)OVERLAP_F_B,(3F4;2B1)OVERLAP_F_B,(2F5;3B2)OVERLAP_F_B,"
     "(3F5;2B2)OVERLAP_F_B,3B3,2B3,3B4,2I4,3I5,2I5,2W4,3W5,2W5\n"},
    {"interleaved", 2, 3, 4,
     "0F0,0F1,2F0,2F1,4F0,4F1,0F2,4B0,0F3,4B1,2F2,2B0,2F3,2B1,4F2,0B0,4F3,0B1,"
     "4B2,4B3,2B2,2B3,0B2,0B3\n"
     "1F0,1F1,3F0,3F1,5F0,5B0,5F1,5B1,1F2,3B0,1F3,3B1,3F2,1B0,3F3,1B1,5F2,5B2,"
     "5F3,5B3,3B2,3B3,1B2,1B3\n"},
    {"1f1b", 3, 1, 4,
     "0F0,0F1,0F2,0B0,0F3,0B1,0B2,0B3\n"
     "1F0,1F1,1B0,1F2,1B1,1F3,1B2,1B3\n"
     "2F0,2B0,2F1,2B1,2F2,2B2,2F3,2B3\n"},
    {"zb-h1", 2, 1, 4,
     "0F0,0F1,0I0,0W0,0F2,0I1,0W1,0F3,0I2,0W2,0I3,0W3\n"
     "1F0,1I0,1F1,1I1,1W0,1F2,1I2,1W1,1F3,1I3,1W2,1W3\n"},
    {"zb-h2", 2, 1, 4,
     "0F0,0F1,0F2,0I0,0W0,0F3,0I1,0W1,0I2,0W2,0I3,0W3\n"
     "1F0,1I0,1F1,1I1,1F2,1I2,1W0,1F3,1I3,1W1,1W2,1W3\n"},
    {"gpipe", 2, 1, 3, "0F0,0F1,0F2,0B0,0B1,0B2\n1F0,1F1,1F2,1B0,1B1,1B2\n"},
};

static void test_orders_are_those_of_others(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++) {
        const struct rows *rows = &theirs[i];
        const struct mtlm_published *published =
            mtlm_published_find(rows->name);
        struct mtlm_order_file_notes notes;
        struct mtlm_box_order order;
        struct scene s;

        assert_non_null(published);
        create(&s, published, rows->p, rows->m, rows->v, one, 0);
        order = mtlm_order_create(&s.boxes);
        scene_read(&s, rows->csv, &order, &notes);
        assert_true(mtlm_published_build(published, &s.walk, 0, &s.order)
                    < INFINITY);
        for (int r = 0; r < rows->p; r++) {
            assert_int_equal(s.order.n[r], order.n[r]);
            assert_memory_equal(s.order.box[r], order.box[r],
                                order.n[r] * sizeof(int));
        }
        mtlm_order_free(&order);
        scene_free(&s);
    }
}

/* The makespan of torch's published file of DualPipeV, 4 x 10: 4.8 % idle. */
static void test_dualpipe_v_idles_as_its_file_does(void **state)
{
    struct scene s;

    (void) state;
    create(&s, mtlm_published_find("dualpipe-v"), 4, 10, 2, one, 0);
    assert_float_equal(mtlm_published_build(mtlm_published_find("dualpipe-v"),
                                            &s.walk, 0, &s.order),
                       31.5, scene_rounding);
    scene_free(&s);
}

/* The zero-bubble authors' own schedulers give these makespans, walked
 * (sail-sg/zero-bubble-pipeline-parallelism, revision 39f2c18; zb.py, zbv.py,
 * zbv_greedy.py). */
static void test_orders_take_the_times_of_their_authors(void **state)
{
    static const struct {
        const char *name;
        int p, m;
        double times[3], hop, makespan;
    } known[] = {
        {"v-half", 4, 8, {1, 1, 1}, 0, 26.5},
        {"v-half", 8, 32, {1, 1, 1}, 0, 104.5},
        {"v-half", 4, 16, {1, 1.2, .9}, .05, 54.15},
        {"v-half", 8, 32, {1, 1.2, .9}, .05, 112.45},
        {"v-min", 4, 8, {1, 1, 1}, 0, 29.5},
        {"v-min", 8, 32, {1, 1, 1}, 0, 109.5},
        {"v-min", 4, 16, {1, 1.3, .8}, .1, 75.3},
        {"v-min", 8, 32, {1, 1.55, 1}, .03, 169.96},
        {"zb-1p", 4, 8, {1, 1, 1}, .1, 28.2},
        {"zb-2p", 4, 8, {1, 1, 1}, .1, 27.3},
        {"zb-v", 8, 32, {1, .976, .504}, .0324, 83.99},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const struct mtlm_published *published =
            mtlm_published_find(known[i].name);
        struct scene s;

        create(&s, published, known[i].p, known[i].m, published->least_chunks,
               known[i].times, known[i].hop);
        assert_float_equal(
            mtlm_published_build(published, &s.walk, 0, &s.order),
            known[i].makespan, .005);
        scene_free(&s);
    }
}

static void test_what_a_schedule_lacks_is_said(void **state)
{
    struct scene s;

    (void) state;
    assert_null(mtlm_published_find("zb-h3"));
    scene_create(&s, 4, 6, 2, 1, one, 0);
    assert_string_equal(
        mtlm_published_lacks(mtlm_published_find("zb-h1"), &s.boxes),
        "one virtual stage per rank");
    assert_string_equal(
        mtlm_published_lacks(mtlm_published_find("interleaved"), &s.boxes),
        "placement loop");
    assert_string_equal(
        mtlm_published_lacks(mtlm_published_find("dualpipe-v"), &s.boxes),
        "two microbatches for each rank");
    assert_null(mtlm_published_lacks(mtlm_published_find("zb-v"), &s.boxes));
    s.layout.placement = MTLM_PLACEMENT_LOOP;
    assert_string_equal(
        mtlm_published_lacks(mtlm_published_find("interleaved"), &s.boxes),
        "a number of microbatches that is a multiple of the ranks");
    assert_string_equal(
        mtlm_published_lacks(mtlm_published_find("zb-v"), &s.boxes),
        "placement v");
    scene_free(&s);
    scene_create(&s, 4, 2, 1, 1, one, 0);
    assert_string_equal(
        mtlm_published_lacks(mtlm_published_find("interleaved"), &s.boxes),
        "two virtual stages per rank");
    scene_free(&s);
}

/* An order and the schedule of its name are for the same pipelines. */
static void test_each_order_has_a_schedule_of_its_name(void **state)
{
    int followed = 0;

    (void) state;
    for (int i = 0; i < MTLM_PUBLISHED_COUNT; i++) {
        const struct mtlm_published *published = &mtlm_published[i];
        const struct mtlm_schedule *schedule =
            mtlm_schedule_find(published->name);

        assert_non_null(schedule);
        assert_non_null(schedule->source);
        assert_int_equal(schedule->fused, published->fused);
        assert_int_equal(schedule->least_chunks, published->least_chunks);
        assert_int_equal(schedule->most_chunks, published->most_chunks);
        assert_int_equal(schedule->placed, published->least_chunks > 1);
        assert_int_equal(schedule->placement, published->placement);
        followed += schedule->followed;
    }
    for (int i = 0; i < MTLM_SCHEDULE_COUNT; i++)
        followed -= mtlm_schedules[i].followed;
    assert_int_equal(followed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders_have_the_published_makespan_and_memory),
        cmocka_unit_test(test_orders_are_those_of_others),
        cmocka_unit_test(test_dualpipe_v_idles_as_its_file_does),
        cmocka_unit_test(test_orders_take_the_times_of_their_authors),
        cmocka_unit_test(test_what_a_schedule_lacks_is_said),
        cmocka_unit_test(test_each_order_has_a_schedule_of_its_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
