/* Files of orders with lanes: rows of lanes are read, merged and written again,
 * and what is wrong is refused with rank, lane, column and action. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/order/order_rows.h"
#include "graph/order/order_write.h"
#include "runtime/base/philox.h"
#include "tests/graph/scene.h"

static const double one[3] = {1, 1, 1};

static const struct mtlm_slot_rules rules = {.weight_share = 1};

/* The boxes of a rank as "F0 B0 W0", of one lane or of all (-1). */
static void text_of(const struct scene *s, int rank, int lane, char *text)
{
    *text = '\0';
    for (int j = 0; j < s->order.n[rank]; j++) {
        const int number = s->order.box[rank][j];
        const struct mtlm_box box = mtlm_box_at(&s->boxes, number);

        if (lane >= 0 && mtlm_order_lane(&s->order, number) != lane)
            continue;
        text += sprintf(text, "%s%c%d", j > 0 ? " " : "",
                        box.phase == MTLM_PHASE_FORWARD    ? 'F'
                        : box.phase == MTLM_PHASE_BACKWARD ? 'B'
                                                           : 'W',
                        box.microbatch);
    }
}

static void assert_text(const struct scene *s, int rank, int lane,
                        const char *want)
{
    char text[400];

    text_of(s, rank, lane, text);
    assert_string_equal(text + (text[0] == ' '), want);
}

/* Two lanes halve a rank's time; columns are the order of starts. */
static void test_lanes_run_at_the_same_time(void **state)
{
    static const char csv[] = "0.0,0F0,,0I0,,0W0\n0.1,,0F1,,0I1,,0W1\n";
    struct mtlm_order_file_notes notes;
    struct scene s;

    (void) state;
    scene_create(&s, 1, 2, 1, 1, one, 0);
    scene_read(&s, csv, &s.order, &notes);
    assert_int_equal(mtlm_order_lanes(&s.order, 0), 2);
    assert_float_equal(mtlm_walk(&s.walk, &s.order), 3, scene_rounding);
    assert_text(&s, 0, -1, "F0 F1 B0 B1 W0 W1");
    assert_text(&s, 0, 0, "F0 B0 W0");
    assert_text(&s, 0, 1, "F1 B1 W1");
    scene_free(&s);
}

/* Where two lanes share a column, equal times say what starts first: F and B in
 * one lane, W in the other, without empty cells. */
static void test_dense_lanes_start_by_equal_times(void **state)
{
    static const char csv[] = "0.0,0F0,0I0,0F1,0I1\n0.1,0W0,0W1\n\n";
    struct mtlm_order_file_notes notes;
    struct scene s;

    (void) state;
    scene_create(&s, 1, 2, 1, 1, one, 0);
    scene_read(&s, csv, &s.order, &notes);
    assert_text(&s, 0, -1, "F0 B0 W0 F1 B1 W1");
    assert_string_equal(notes.late, "");
    assert_float_equal(mtlm_walk(&s.walk, &s.order), 5, scene_rounding);
    scene_free(&s);
}

/* Columns that lanes cannot follow are no order: F1 starts although the B to
 * its left waits for the other rank, which waits for F1. */
static void test_columns_yield_to_dependencies(void **state)
{
    static const char csv[] = "0.0,0F0,,0F1\n0.1,,0B0,,0B1\n"
                              "1.0,1F0,1F1,1B0,1B1\n";
    struct mtlm_order_file_notes notes;
    struct scene s;

    (void) state;
    scene_create(&s, 2, 2, 1, 1, one, 0);
    scene_read(&s, csv, &s.order, &notes);
    assert_true(mtlm_walk(&s.walk, &s.order) < INFINITY);
    assert_text(&s, 0, -1, "F0 F1 B0 W0 B1 W1");
    assert_int_equal(mtlm_order_lanes(&s.order, 1), 1);
    scene_free(&s);
}

/* Of a walk with the lanes apart and with starts in order: F1 need not wait
 * for the start of B0. */
static void test_lanes_apart_start_out_of_order(void **state)
{
    static const char csv[] = "0.0,0F0,,,0F1\n0.1,,0I0,0W0,,0I1,0W1\n"
                              "1.0,1F0,1B0,1F1,1B1\n";
    struct mtlm_order_file_notes notes;
    struct scene s;
    int f1;

    (void) state;
    scene_create(&s, 2, 2, 1, 1, one, 0);
    scene_read(&s, csv, &s.order, &notes);
    f1 = mtlm_box_number(&s.boxes,
                         (struct mtlm_box){MTLM_PHASE_FORWARD, 0, 1, 0});
    mtlm_walk(&s.walk, &s.order);
    assert_float_equal(s.walk.start[f1], 4, scene_rounding);
    s.walk.apart = true;
    mtlm_walk(&s.walk, &s.order);
    assert_float_equal(s.walk.start[f1], 1, scene_rounding);
    scene_free(&s);
}

/* Slots: a box is in use until the next box of its lane starts. */
static void test_memory_counts_both_lanes(void **state)
{
    static const struct {
        const char *csv;
        double memory;
    } files[] = {
        {"0.0,0F0,,0B0\n0.1,,0F1,,0B1\n", 2},
        {"0.0,0F0,0I0,0W0\n0.1,,,,0F1,0B1\n", 2},
        {"0.0,0F0,0B0,,0F1\n0.1,,,,,0B1\n", 1},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct mtlm_order_file_notes notes;
        struct scene s;

        scene_create(&s, 1, 2, 1, 1, one, 0);
        scene_read(&s, files[i].csv, &s.order, &notes);
        assert_float_equal(mtlm_order_memory(&s.order, &s.boxes, 0, &rules),
                           files[i].memory, scene_rounding);
        scene_free(&s);
    }
}

static int read_text(const struct scene *s, const char *csv, const double *most,
                     struct mtlm_order_file_notes *notes,
                     struct mtlm_error *err)
{
    const struct mtlm_order_limit limit = {most, rules};
    struct mtlm_box_order order = mtlm_order_create(&s->boxes);
    FILE *file = fopen("lanes.csv", "w");
    int rc;

    fputs(csv, file);
    fclose(file);
    rc = mtlm_order_file_read("lanes.csv", &s->boxes, most ? &limit : NULL,
                              &order, notes, err);
    remove("lanes.csv");
    mtlm_order_free(&order);
    return rc;
}

static void test_what_is_wrong_is_refused_with_its_lane(void **state)
{
    static const double little[] = {.5, .5};
    static const struct {
        const char *csv, *words;
        const double *most;
    } files[] = {
        {"0.0,0F0,0B0\n1F0,1B0\n",
         "row 2 has no rank and lane, and row 1 has; either all rows begin", 0},
        {"0F0,0B0\n1.0,1F0,1B0\n",
         "row 2 begins with rank and lane, and row 1 does not", 0},
        {"0.1,0F0,0B0\n1.0,1F0,1B0\n", "row 1 begins with 0.1; the first row",
         0},
        {"0.0,0F0,0B0\n0.2,1F0,1B0\n",
         "row 2 begins with 0.2, and the row before with 0.0; the next is 0.1 "
         "or 1.0",
         0},
        {"0.0,0F0,0B0\n1.1,1F0,1B0\n", "row 2 begins with 1.1", 0},
        {"0.0,0F0\n0.1,0B0\n2.0,1F0,1B0\n", "row 3 begins with 2.0", 0},
        {"0.,0F0,0B0\n", "rank 0, column 1: '0.' is no action", 0},
        {"0.0,0F0\n0.1,0B0x\n1.0,1F0,1B0\n",
         "rank 0, lane 1, column 2: '0B0x' is no action", 0},
        {"0.0,0F0\n0.1,0F0,0B0\n1.0,1F0,1B0\n",
         "rank 0, lane 1, column 2: 0F0 stands in rank 0, lane 0, column 2 "
         "already",
         0},
        {"0.0,0F0\n0.1,1B0\n1.0,1F0,1B0\n",
         "rank 0, lane 1, column 2: 1B0 is of stage 1, which is on rank 1", 0},
        {"0.0,0F0\n0.1\n1.0,1F0,1B0\n", "rank 0 lacks 0B0", 0},
        {"0.0,0F0\n0.1,0W0,0I0\n1.0,1F0,1B0\n",
         "rank 0, lane 1, column 2: 0W0 never runs: it waits for 0I0 of rank "
         "0, lane 1, column 3, which never runs either",
         0},
        {"0.0,0F0\n0.1,0B0\n1.0,1F0,1B0\n",
         "rank 0, lane 0, column 2: with 0F0 the activations take 1 MiB",
         little},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct mtlm_order_file_notes notes;
        struct mtlm_error err = {0};
        struct scene s;

        scene_create(&s, 2, 1, 1, 1, one, 0);
        assert_int_equal(
            read_text(&s, files[i].csv, files[i].most, &notes, &err), -1);
        assert_int_equal(err.code, MTLM_EXIT_USAGE);
        if (!strstr(err.text, files[i].words))
            fail_msg("no '%s' in: %s", files[i].words, err.text);
        scene_free(&s);
    }
}

/* 0F1 starts in lane 0 before 0F0 in lane 1: microbatches ascend all the same.
 * Within a lane, nothing changes. */
static void test_lanes_start_microbatches_in_ascending_order(void **state)
{
    struct mtlm_order_file_notes notes;
    struct scene s;

    (void) state;
    scene_create(&s, 1, 2, 1, 1, one, 0);
    scene_read(&s, "0.0,0F1,,0I1,,0W1\n0.1,,0F0,,0B0\n", &s.order, &notes);
    assert_string_equal(notes.late, "");
    assert_text(&s, 0, -1, "F0 F1 B0 B1 W0 W1");
    assert_text(&s, 0, 0, "F1 B1 W1");
    scene_free(&s);
    scene_create(&s, 1, 2, 1, 1, one, 0);
    scene_read(&s, "0.0,0F1,0F0,,0B1\n0.1,,,0B0\n", &s.order, &notes);
    assert_string_equal(
        notes.late, "rank 0, lane 0, column 3: 0F0 stands behind microbatch 1");
    scene_free(&s);
}

/* Gives each box of the order a lane. */
static void choose_lanes(struct scene *s, int lanes, uint64_t seed)
{
    mtlm_order_add_lanes(&s->order, &s->boxes);
    for (int i = 0; i < s->walk.n; i++) {
        uint32_t word[4];

        mtlm_philox(seed, 0, i, word);
        s->order.lane[i] = word[0] % lanes;
    }
}

/* Appends F, B and W of a microbatch, stage by stage. */
static void append_in_turn(struct scene *s)
{
    const int stages = mtlm_layout_stages(&s->layout);

    for (int i = 0; i < s->boxes.microbatches; i++) {
        for (int k = 0; k < stages; k++)
            mtlm_order_append_phase(&s->order, &s->boxes, MTLM_PHASE_FORWARD, k,
                                    i);
        for (int k = stages - 1; k >= 0; k--) {
            mtlm_order_append_phase(&s->order, &s->boxes, MTLM_PHASE_BACKWARD,
                                    k, i);
            mtlm_order_append_phase(&s->order, &s->boxes, MTLM_PHASE_WEIGHT, k,
                                    i);
        }
    }
}

static void test_what_is_written_is_read_again(void **state)
{
    (void) state;
    for (int lanes = 2; lanes <= 4; lanes++) {
        struct mtlm_box_order again;
        struct mtlm_order_shape shape;
        struct mtlm_order_file_notes notes;
        struct mtlm_error err = {0};
        struct scene s;

        scene_create(&s, 3, 5, 2, 1, one, 0);
        append_in_turn(&s);
        choose_lanes(&s, lanes, lanes);
        assert_int_equal(
            mtlm_order_write("lanes.csv", &s.boxes, &s.order, &err), 0);
        assert_int_equal(mtlm_order_rows_shape("lanes.csv", &shape, &err), 0);
        assert_int_equal(shape.ranks, 3);
        assert_int_equal(shape.virtual_stages, 2);
        assert_int_equal(shape.microbatches, 5);
        assert_int_equal(shape.placement, MTLM_PLACEMENT_V);
        again = mtlm_order_create(&s.boxes);
        if (mtlm_order_file_read("lanes.csv", &s.boxes, NULL, &again, &notes,
                                 &err)
            < 0)
            fail_msg("%s", err.text);
        assert_memory_equal(again.lane, s.order.lane, s.walk.n * sizeof(int));
        for (int r = 0; r < 3; r++)
            assert_memory_equal(again.box[r], s.order.box[r],
                                s.order.n[r] * sizeof(int));
        mtlm_order_free(&again);
        scene_free(&s);
    }
    remove("lanes.csv");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lanes_run_at_the_same_time),
        cmocka_unit_test(test_dense_lanes_start_by_equal_times),
        cmocka_unit_test(test_columns_yield_to_dependencies),
        cmocka_unit_test(test_lanes_apart_start_out_of_order),
        cmocka_unit_test(test_memory_counts_both_lanes),
        cmocka_unit_test(test_what_is_wrong_is_refused_with_its_lane),
        cmocka_unit_test(test_lanes_start_microbatches_in_ascending_order),
        cmocka_unit_test(test_what_is_written_is_read_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
