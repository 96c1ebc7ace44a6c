/* Files of orders: what others write is read, what is wrong is refused with
 * rank, column and action, and what is written is read again. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "graph/order/order_file.h"
#include "graph/order/order_rows.h"
#include "graph/order/order_write.h"
#include "graph/order/rounds.h"

enum { MOST = 16 };

static const double rounding = 1e-6;

/* Two ranks; times of a stage are 1. */
struct scene {
    struct mtlm_layout layout;
    double time[MOST], memory[MOST];
    struct mtlm_boxes boxes;
    struct mtlm_box_order order;
    struct mtlm_order_file_notes notes;
    struct mtlm_error err;
    char path[32];
};

static void scene(struct scene *s, int v, int m, int pieces)
{
    *s = (struct scene){.path = "order-XXXXXX"};
    s->layout = (struct mtlm_layout){.tp = 1,
                                     .pp = 2,
                                     .dp = 1,
                                     .virtual_stages = v,
                                     .placement = MTLM_PLACEMENT_V,
                                     .workers = 1};
    for (int k = 0; k < 2 * v; k++)
        s->time[k] = s->memory[k] = 1.0 / v;
    s->boxes = (struct mtlm_boxes){.layout = &s->layout,
                                   .microbatches = m,
                                   .pieces = pieces,
                                   .forward = s->time,
                                   .backward = s->time,
                                   .weight = s->time,
                                   .memory = s->memory};
    s->order = mtlm_order_create(&s->boxes);
    close(mkstemp(s->path));
}

static void scene_free(struct scene *s)
{
    unlink(s->path);
    mtlm_order_free(&s->order);
}

/* most: MiB of each rank; 0: any. */
static int read_text(struct scene *s, const char *text, double most)
{
    const double each[] = {most, most};
    const struct mtlm_order_limit limit = {each, {.weight_share = 1}};
    FILE *file = fopen(s->path, "w");

    fputs(text, file);
    fclose(file);
    return mtlm_order_file_read(s->path, &s->boxes, most > 0 ? &limit : NULL,
                                &s->order, &s->notes, &s->err);
}

/* The makespan of a file's order. */
static double makespan_of(const char *text, int v, int m)
{
    struct scene s;
    struct mtlm_walk walk;
    double makespan;

    scene(&s, v, m, 1);
    if (read_text(&s, text, 0) < 0)
        fail_msg("%s", s.err.text);
    walk = mtlm_walk_create(&s.boxes);
    makespan = mtlm_walk(&walk, &s.order);
    mtlm_walk_free(&walk);
    scene_free(&s);
    return makespan;
}

/* The same order of 1F1B, by hand, in the forms that are in use.  The result of
 * B leaves before W: 8, not 9. */
static void test_all_dialects_and_levels_are_read(void **state)
{
    static const char *const files[] = {
        /* F, then B for I and W together. */
        "0F0,0F1,,0B0,0B1\n,1F0,1B0,1F1,1B1\n",
        "0F0,0F1,,,0I0,0W0,0I1,0W1\n,1F0,1I0,1W0,1F1,1I1,1W1\n",
        /* The older dialect: B for I, BW for both. */
        "0F0,0F1,0B0,0W0,0BW1\n1F0,1B0,1W0,1F1,1BW1\n",
        /* With messages, sharding, spaces, quotes and a carriage return. */
        "0UNSHARD,0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0, 0RECV_B1,0B1,"
        "0REDUCE_GRAD\r\n\"1RECV_F0\",1F0,\"1B0\",1SEND_B0,1WAIT_SEND_B0,1RECV_"
        "F1,"
        "1F1 ,1B1,1SEND_B1\r\n\n",
        /* With a byte order mark, and a carriage return at the end. */
        "\xEF\xBB\xBF"
        "0F0,0F1,0B0,0B1\r\n1F0,1B0,1F1,1B1\r",
    };

    (void) state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        assert_float_equal(makespan_of(files[i], 1, 2), 8, rounding);
}

static void test_overlapped_pairs_are_taken_in_turn(void **state)
{
    (void) state;
    assert_float_equal(
        makespan_of("0F0,0F1,0B0,0B1\n1F0,1I0,(1F1;1W0)OVERLAP_F_B,1B1\n", 1,
                    2),
        8, rounding);
}

static void test_what_was_left_out_is_counted(void **state)
{
    struct scene s;

    (void) state;
    scene(&s, 1, 1, 1);
    assert_int_equal(
        read_text(&s, "0UNSHARD,0F0,0SEND_F0,0B0\n1RECV_F0,1F0,1B0\n", 0), 0);
    assert_int_equal(s.notes.messages, 2);
    assert_int_equal(s.notes.sharding, 1);
    assert_false(s.notes.older);
    scene_free(&s);
    scene(&s, 1, 1, 1);
    assert_int_equal(read_text(&s, "0F0,0BW0\n1F0,1BW0\n", 0), 0);
    assert_true(s.notes.older);
    scene_free(&s);
}

static void test_what_is_wrong_is_refused_with_its_place(void **state)
{
    static const struct {
        const char *text, *words;
        double most;
    } files[] = {
        {"", "has rows of 0 pipeline ranks; this job has 2 pipeline ranks", 0},
        {"0F0,0B0\n", "has rows of 1 pipeline rank;", 0},
        {"0F0,0B0\n1F0,1B0\n0F0\n", "has rows of 3 pipeline ranks", 0},
        {"0F0,0X0\n1F0,1B0\n", "rank 0, column 2: '0X0' is no action", 0},
        {"0F0,0B\n1F0,1B0\n", "rank 0, column 2: '0B' is no action", 0},
        {"0F0,0B0\n1F0,1B0x\n", "rank 1, column 2: '1B0x' is no action", 0},
        {"0F0,0B0\n1F0,(1F0;1B0)\n", "rank 1, column 2: '(1F0;1B0)' is no", 0},
        {"0F0,-1B0\n1F0,1B0\n", "rank 0, column 2: '-1B0' is no action", 0},
        {"0F0,0B999999999\n1F0,1B0\n", "'0B999999999' is no action", 0},
        {"0F0,2B0\n1F0,1B0\n",
         "column 2: 2B0 is of stage 2, this job has stages 0 to 1", 0},
        {"0F0,0B0,0F1\n1F0,1B0\n",
         "column 3: 0F1 is of microbatch 1, this job has 0 to 0", 0},
        {"0F0,1B0\n1F0,0B0\n",
         "rank 0, column 2: 1B0 is of stage 1, which is on rank 1", 0},
        {"0F0,0B0,0F0\n1F0,1B0\n",
         "rank 0, column 3: 0F0 stands in column 1 already", 0},
        {"0F0,0B0,0BW0\n1F0,1B0\n",
         "rank 0, column 3: 0BW0 stands in column 2 already", 0},
        {"0F0,0I0\n1F0,1B0\n", "rank 0 lacks 0W0", 0},
        {"0F0,0W0\n1F0,1I0,1W0\n", "rank 0 lacks 0I0", 0},
        {"0F0,0B0\n1F0\n", "rank 1 lacks 1B0", 0},
        {"0B0,0F0\n1F0,1B0\n",
         "rank 0, column 1: 0B0 never runs: it waits for 1B0 of rank 1, column "
         "2, which never runs either",
         0},
        /* Carriage returns alone end no row, and a mark stands at the start. */
        {"0F0,0B0\r1F0,1B0\r", "row 1: a carriage return inside the row", 0},
        {"0F0,0B0\n1F0,1B0\r,1F1\r\n",
         "row 2: a carriage return inside the row", 0},
        {"0F0,0B0\n\xEF\xBB\xBF"
         "1F0,1B0\n",
         "rank 1, column 1: '\xEF\xBB\xBF"
         "1F0' is no action",
         0},
        /* Messages. */
        {"0F0,0SEND_F\n1F0,1B0\n", "column 2: '0SEND_F' is no action", 0},
        {"0F0,0SEND_F1\n1F0,1B0\n",
         "column 2: 0SEND_F1 is of microbatch 1, this job has 0 to 0", 0},
        {"0F0,3SEND_F0\n1F0,1B0\n",
         "column 2: 3SEND_F0 is of stage 3, this job has stages 0 to 1", 0},
        {"0F0,1RECV_F0\n1F0,1B0\n",
         "column 2: 1RECV_F0 is of stage 1, which is on rank 1", 0},
        {"0F0,0SEND_F0,0SEND_F0,0B0\n1F0,1B0\n",
         "column 3: 0SEND_F0 stands in this row already", 0},
        {"0SEND_F0,0F0,0B0\n1F0,1B0\n",
         "column 1: 0SEND_F0 stands before the pass that it sends from", 0},
        {"0F0,0B0\n1F0,1SEND_B0,1B0\n",
         "rank 1, column 2: 1SEND_B0 stands before the pass", 0},
        {"0F0,0B0\n1F0,1RECV_F0,1B0\n",
         "column 2: 1RECV_F0 stands behind the pass that it receives for", 0},
        {"0F0,0B0,0RECV_B0\n1F0,1B0\n",
         "column 3: 0RECV_B0 stands behind the pass that it receives for", 0},
        {"0F0,0B0,0SEND_B0\n1F0,1B0\n",
         "column 3: 0SEND_B0 has no stage to send to", 0},
        {"0F0,0B0\n1RECV_B0,1F0,1B0\n",
         "column 1: 1RECV_B0 has no stage to receive from", 0},
        {"1UNSHARD,0F0,0B0\n1F0,1B0\n",
         "column 1: 1UNSHARD is of stage 1, which is on rank 1", 0},
        {"0F0,0B0\n1F0,1B0\n",
         "rank 0, column 1: with 0F0 the activations take 1 MiB, and the rank "
         "has 0.5 MiB for them",
         .5},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct scene s;

        scene(&s, 1, 1, 1);
        assert_int_equal(read_text(&s, files[i].text, files[i].most), -1);
        assert_int_equal(s.err.code, MTLM_EXIT_USAGE);
        if (!strstr(s.err.text, files[i].words))
            fail_msg("no '%s' in: %s", files[i].words, s.err.text);
        scene_free(&s);
    }
}

static int shape_of(const char *text, struct mtlm_order_shape *shape,
                    struct mtlm_error *err)
{
    struct scene s;
    int rc;

    scene(&s, 1, 1, 1);
    read_text(&s, text, 0);
    rc = mtlm_order_rows_shape(s.path, shape, err);
    scene_free(&s);
    return rc;
}

static void test_a_file_says_for_which_job_it_is_made(void **state)
{
    static const struct {
        const char *text;
        struct mtlm_order_shape shape;
    } files[] = {
        {"0F0,0F1,0B0,0B1\n", {1, 1, 2, MTLM_PLACEMENT_LOOP}},
        {"0F0,0B0\n1F0,1B0\n\n", {2, 1, 1, MTLM_PLACEMENT_LOOP}},
        {"0F0,2F0,2B0,0B0\n1F0,3F0,3B0,1B0\n", {2, 2, 1, MTLM_PLACEMENT_LOOP}},
        {"0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n", {2, 2, 1, MTLM_PLACEMENT_V}},
    };
    static const struct {
        const char *text, *words;
    } wrong[] = {
        {"", "has no F"},
        {"0B0\n", "has no F"},
        {"0F0,0X0\n", "'0X0' is no action"},
        {"0F0\n1F0,2F0\n", "its 2 pipeline ranks"},
        {"0F0,0F99999999\n",
         "rank 0, column 2: with 0F99999999, stages 0 to 0 have 100000000 F, "
         "and the file has 2"},
        {"0F0\n99999998F0,99999999F0\n", "have 100000000 F"},
    };
    struct mtlm_order_shape shape;
    struct mtlm_error err;

    (void) state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        if (shape_of(files[i].text, &shape, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(shape.ranks, files[i].shape.ranks);
        assert_int_equal(shape.virtual_stages, files[i].shape.virtual_stages);
        assert_int_equal(shape.microbatches, files[i].shape.microbatches);
        assert_int_equal(shape.placement, files[i].shape.placement);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(shape_of(wrong[i].text, &shape, &err), -1);
        if (!strstr(err.text, wrong[i].words))
            fail_msg("no '%s' in: %s", wrong[i].words, err.text);
    }
}

static void test_descending_microbatches_are_noted(void **state)
{
    struct scene s;

    (void) state;
    scene(&s, 1, 2, 1);
    assert_int_equal(read_text(&s, "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n", 0), 0);
    assert_string_equal(s.notes.late, "");
    scene_free(&s);
    scene(&s, 1, 2, 1);
    assert_int_equal(read_text(&s, "0F0,0F1,0B1,,0B0\n1F0,1F1,1B1,1B0\n", 0),
                     0);
    assert_string_equal(s.notes.late,
                        "rank 0, column 5: 0B0 stands behind microbatch 1");
    scene_free(&s);
}

/* 0F0 is there twice: the reader of the order names the place. */
static void test_doubles_do_not_change_the_shape(void **state)
{
    struct mtlm_order_shape shape;
    struct mtlm_error err;

    (void) state;
    assert_int_equal(shape_of("0F0,0F0,0F1\n", &shape, &err), 0);
    assert_int_equal(shape.microbatches, 2);
    assert_int_equal(shape_of("0F0,0F3,0B0\n", &shape, &err), 0);
    assert_int_equal(shape.microbatches, 4);
}

/* Slots are memory: microbatch i has slot i modulo their number. */
static void test_memory_is_that_of_slots(void **state)
{
    static const struct {
        const char *text;
        double share, memory;
    } files[] = {
        {"0F0,0B0,0F1,0B1,0F2,0B2\n", 1, 1},
        {"0F0,0F1,0B0,0F2,0B1,0B2\n", 1, 2},
        /* W of 0 is late: three slots until W, one until I. */
        {"0F0,0I0,0F1,0I1,0F2,0I2,0W0,0W1,0W2\n", 1, 3},
        {"0F0,0I0,0F1,0I1,0F2,0I2,0W0,0W1,0W2\n", .5, 2},
        /* Microbatches 2 and 0 at once: slots 2 and 0 of three. */
        {"0F2,0F0,0B2,0B0,0F1,0B1\n", 1, 3},
        {"0F2,0B2,0F1,0B1,0F0,0B0\n", 1, 1},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct mtlm_order_limit limit = {&files[i].memory,
                                         {.weight_share = files[i].share}};
        double less = files[i].memory - .1, memory;
        struct scene s;

        scene(&s, 1, 3, 1);
        s.layout.pp = 1;
        if (read_text(&s, files[i].text, 0) < 0)
            fail_msg("%s", s.err.text);
        assert_float_equal(
            mtlm_order_memory(&s.order, &s.boxes, 0, &limit.slots),
            files[i].memory, rounding);
        assert_int_equal(
            mtlm_order_memory_exceeds(&s.order, &s.boxes, 0, &limit, &memory),
            -1);
        limit.most = &less;
        assert_true(
            mtlm_order_memory_exceeds(&s.order, &s.boxes, 0, &limit, &memory)
            >= 0);
        assert_float_equal(memory, files[i].memory, rounding);
        s.layout.pp = 2;
        scene_free(&s);
    }
}

static void test_only_regular_files_are_read(void **state)
{
    struct scene s;

    (void) state;
    scene(&s, 1, 1, 1);
    unlink(s.path);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(mtlm_order_file_read(i ? "/dev/zero" : s.path,
                                              &s.boxes, NULL, &s.order,
                                              &s.notes, &s.err),
                         -1);
        assert_int_equal(s.err.code, MTLM_EXIT_USAGE);
    }
    assert_non_null(strstr(s.err.text, "not a regular file"));
    mtlm_order_free(&s.order);
}

/* With W apart, in pieces, and with W right behind B. */
static void test_what_is_written_is_read_again(void **state)
{
    (void) state;
    for (int v = 1; v <= 2; v++)
        for (int pieces = 1; pieces <= 3; pieces++) {
            const struct mtlm_rounds rounds = {.most_memory = 2};
            struct scene s;
            struct mtlm_box_order again;
            struct mtlm_walk walk;
            double makespan;

            scene(&s, v, 6, pieces);
            walk = mtlm_walk_create(&s.boxes);
            makespan = mtlm_rounds_build(&rounds, &walk, &s.order);
            again = mtlm_order_create(&s.boxes);
            assert_int_equal(
                mtlm_order_write(s.path, &s.boxes, &s.order, &s.err), 0);
            if (mtlm_order_file_read(s.path, &s.boxes, NULL, &again, &s.notes,
                                     &s.err)
                < 0)
                fail_msg("%s", s.err.text);
            if (pieces == 1)
                for (int r = 0; r < 2; r++)
                    assert_memory_equal(again.box[r], s.order.box[r],
                                        s.order.n[r] * sizeof(int));
            assert_true(mtlm_walk(&walk, &again) >= makespan - rounding);
            mtlm_order_free(&again);
            mtlm_walk_free(&walk);
            scene_free(&s);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_dialects_and_levels_are_read),
        cmocka_unit_test(test_overlapped_pairs_are_taken_in_turn),
        cmocka_unit_test(test_what_was_left_out_is_counted),
        cmocka_unit_test(test_what_is_wrong_is_refused_with_its_place),
        cmocka_unit_test(test_a_file_says_for_which_job_it_is_made),
        cmocka_unit_test(test_descending_microbatches_are_noted),
        cmocka_unit_test(test_doubles_do_not_change_the_shape),
        cmocka_unit_test(test_memory_is_that_of_slots),
        cmocka_unit_test(test_only_regular_files_are_read),
        cmocka_unit_test(test_what_is_written_is_read_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
