/* Slots that the stages of a rank share: how orders deal them out, their
 * memory, and the programs that have them. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/order/order_memory.h"
#include "graph/order/order_slots.h"
#include "graph/order/order_write.h"
#include "graph/order/published.h"
#include "runtime/base/philox.h"
#include "tests/graph/scene.h"

static const double one[3] = {1, 1, 1};
static const struct mtlm_slot_rules pools = {.pooled = true}, rings = {0};

/* ---- dealing ---- */

static bool meet(struct mtlm_slot_life a, struct mtlm_slot_life b)
{
    return a.begin < b.end && b.begin < a.end;
}

/* The most lives at one place. */
static int most_lives(const struct mtlm_slot_life *life, int n, int places)
{
    int most = 0;

    for (int j = 0; j < places; j++) {
        int here = 0;

        for (int i = 0; i < n; i++)
            here += life[i].begin <= j && j < life[i].end;
        most = here > most ? here : most;
    }
    return most;
}

static void test_lives_that_meet_have_different_slots(void **state)
{
    enum { N = 40, PLACES = 60 };
    static const struct mtlm_slot_spare spares[] = {{0, 0}, {1, 0}, {0, N}};

    (void) state;
    for (int seed = 0; seed < 60; seed++) {
        struct mtlm_slot_life life[N];
        int slot[N], slots, need;

        for (int i = 0; i < N; i++) {
            uint32_t word[4];

            mtlm_philox(seed, 0, i, word);
            life[i].begin = word[0] % PLACES;
            life[i].end =
                life[i].begin + 1 + word[1] % (PLACES - life[i].begin);
        }
        need = most_lives(life, N, PLACES) + spares[seed % 3].more;
        slots = mtlm_order_slots_deal(life, N, spares[seed % 3], slot);
        assert_int_equal(slots, fmax(need, spares[seed % 3].least));
        for (int i = 0; i < N; i++) {
            assert_in_range(slot[i], 0, slots - 1);
            for (int j = 0; j < i; j++)
                assert_false(slot[i] == slot[j] && meet(life[i], life[j]));
        }
    }
}

/* As graph/order/order_slots.h says: a life takes the slot that is free for
 * longest, of equal ones the first. */
static int deal_plainly(const struct mtlm_slot_life *life, int n, int slots,
                        int *slot)
{
    int *free_at = calloc(n + slots, sizeof(*free_at));

    assert_non_null(free_at);
    for (int place = 0; place < n; place++)
        for (int i = 0; i < n; i++) {
            int best = 0;

            if (life[i].begin != place)
                continue;
            for (int j = 1; j < slots; j++)
                if (free_at[j] < free_at[best])
                    best = j;
            if (slots == 0 || free_at[best] > place)
                best = slots++;
            free_at[best] = life[i].end;
            slot[i] = best;
        }
    free(free_at);
    return slots;
}

/* Many lives meet at each place, and many end at the same place. */
static void test_a_life_takes_the_slot_that_rests_longest(void **state)
{
    enum { N = 500, LONG = 120 };
    static const int lengths[] = {2, 20, LONG};

    (void) state;
    for (int seed = 0; seed < 12; seed++) {
        struct mtlm_slot_life life[N];
        const struct mtlm_slot_spare spare = {seed % 3, seed % 2 ? LONG : 0};
        int slot[N], want[N], slots;

        for (int i = 0; i < N; i++) {
            uint32_t word[4];

            mtlm_philox(seed, 0, i, word);
            life[i].begin = word[0] % N;
            life[i].end = life[i].begin + 1 + word[1] % lengths[seed / 3 % 3];
        }
        slots = deal_plainly(life, N, 0, want) + spare.more;
        slots = slots > spare.least ? slots : spare.least;
        deal_plainly(life, N, slots, want);
        assert_int_equal(mtlm_order_slots_deal(life, N, spare, slot), slots);
        assert_memory_equal(slot, want, sizeof(want));
    }
}

/* A life takes the slot that is free for longest. */
static void test_slots_rest(void **state)
{
    static const struct mtlm_slot_life life[] = {
        {0, 1}, {1, 2}, {2, 3}, {3, 4}};
    static const int want[] = {0, 1, 2, 0};
    int slot[4];

    (void) state;
    assert_int_equal(
        mtlm_order_slots_deal(life, 4, (struct mtlm_slot_spare){2, 0}, slot),
        3);
    assert_memory_equal(slot, want, sizeof(want));
}

/* ---- memory ---- */

static void build(struct scene *s, const char *name, int p, int m, int v)
{
    const struct mtlm_published *published = mtlm_published_find(name);

    scene_create(s, p, m, v, 1, one, 0);
    if (v > 1)
        s->layout.placement = published->placement;
    s->boxes.fused = published->fused;
    scene_update(s);
    assert_true(mtlm_published_build(published, &s->walk, 0, &s->order)
                < INFINITY);
}

static double memory_of(const struct scene *s,
                        const struct mtlm_slot_rules *rules)
{
    double most = 0;

    for (int r = 0; r < s->layout.pp; r++)
        most = fmax(most, mtlm_order_memory(&s->order, &s->boxes, r, rules));
    return most;
}

/* Stages that share slots need what the published order says, and no more. */
static void test_shared_slots_are_the_published_memory(void **state)
{
    static const struct {
        const char *name;
        int p, m, v;
        double rings; /* what rings of each stage need; 0: whatever */
    } cases[] = {{"zb-v", 4, 8, 2, 4.5},       {"zb-v", 8, 32, 2, 0},
                 {"v-half", 4, 8, 2, 3.5},     {"v-half", 8, 32, 2, 0},
                 {"v-min", 4, 8, 2, 2.5},      {"v-min", 8, 32, 2, 0},
                 {"dualpipe-v", 4, 8, 2, 4.5}, {"dualpipe-v", 8, 32, 2, 0},
                 {"interleaved", 4, 16, 2, 0}, {"interleaved", 4, 16, 3, 0},
                 {"interleaved", 8, 32, 4, 0}, {"breadth-first", 4, 8, 2, 8}};

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct mtlm_published *published =
            mtlm_published_find(cases[i].name);
        const struct mtlm_published_size size = {
            cases[i].p, cases[i].v, cases[i].m, 1, 1, 1};
        struct scene s;

        build(&s, cases[i].name, cases[i].p, cases[i].m, cases[i].v);
        assert_float_equal(memory_of(&s, &pools),
                           mtlm_order_peak(&s.order, &s.boxes), scene_rounding);
        assert_true(memory_of(&s, &pools)
                    <= published->memory(&size) + scene_rounding);
        assert_true(memory_of(&s, &rings)
                    >= memory_of(&s, &pools) - scene_rounding);
        if (cases[i].rings > 0)
            assert_float_equal(memory_of(&s, &rings), cases[i].rings,
                               scene_rounding);
        scene_free(&s);
    }
}

/* One rank, stages of memory 1 and 3, F and F, then B and B: two slots of 1,
 * and the rest of the larger stage has one of its own. */
static void test_stages_share_what_is_equal(void **state)
{
    static const struct mtlm_box box[] = {
        {MTLM_PHASE_FORWARD, 0, 0, 0},  {MTLM_PHASE_FORWARD, 1, 0, 0},
        {MTLM_PHASE_BACKWARD, 1, 0, 0}, {MTLM_PHASE_WEIGHT, 1, 0, 0},
        {MTLM_PHASE_FORWARD, 0, 1, 0},  {MTLM_PHASE_BACKWARD, 0, 0, 0},
        {MTLM_PHASE_WEIGHT, 0, 0, 0},   {MTLM_PHASE_FORWARD, 1, 1, 0},
        {MTLM_PHASE_BACKWARD, 1, 1, 0}, {MTLM_PHASE_WEIGHT, 1, 1, 0},
        {MTLM_PHASE_BACKWARD, 0, 1, 0}, {MTLM_PHASE_WEIGHT, 0, 1, 0}};
    const double most = 3.5;
    const struct mtlm_order_limit limit = {&most, pools};
    struct scene s;
    double memory;

    (void) state;
    scene_create(&s, 1, 2, 2, 1, one, 0);
    s.memory[0] = 1;
    s.memory[1] = 3;
    for (size_t i = 0; i < sizeof(box) / sizeof(box[0]); i++)
        mtlm_order_append(&s.order, &s.boxes,
                          mtlm_box_number(&s.boxes, box[i]));
    assert_float_equal(mtlm_order_memory(&s.order, &s.boxes, 0, &pools), 4,
                       scene_rounding);
    assert_float_equal(mtlm_order_memory(&s.order, &s.boxes, 0, &rings), 5,
                       scene_rounding);
    assert_int_equal(
        mtlm_order_memory_exceeds(&s.order, &s.boxes, 0, &limit, &memory), 1);
    assert_float_equal(memory, 4, scene_rounding);
    scene_free(&s);
}

/* ZB-H1's last rank: B and W in turn.  GPipe with late W: gradients of all
 * microbatches wait, and two of them take no memory. */
static void test_gradients_that_wait_take_memory(void **state)
{
    static const struct mtlm_slot_rules rules = {
        .weight_share = .75, .gradient_share = .25, .pooled = true};
    static const enum mtlm_phase phases[] = {
        MTLM_PHASE_FORWARD, MTLM_PHASE_BACKWARD, MTLM_PHASE_WEIGHT};
    struct scene s;

    (void) state;
    scene_create(&s, 1, 5, 1, 1, one, 0);
    for (int phase = 0; phase < 3; phase++)
        for (int i = 0; i < 5; i++)
            mtlm_order_append_phase(&s.order, &s.boxes, phases[phase], 0, i);
    assert_float_equal(mtlm_order_memory(&s.order, &s.boxes, 0, &rules),
                       5 + (5 - 2) * .25, scene_rounding);
    scene_free(&s);
}

static void test_columns_are_those_of_the_file(void **state)
{
    char action[MTLM_ORDER_WRITE_ACTION];
    struct scene s;

    (void) state;
    scene_create(&s, 1, 2, 1, 1, one, 0);
    for (int i = 0; i < 2; i++)
        for (int phase = 0; phase < 3; phase++)
            mtlm_order_append(&s.order, &s.boxes, 3 * i + phase);
    /* 0F0,0B0,0F1,0B1: B stands for B and W. */
    assert_int_equal(mtlm_order_write_column(&s.boxes, &s.order, 0, 3, action),
                     3);
    assert_string_equal(action, "0F1");
    assert_int_equal(mtlm_order_write_column(&s.boxes, &s.order, 0, 4, action),
                     4);
    assert_string_equal(action, "0B1");
    scene_free(&s);
}

static void test_ascending_orders(void **state)
{
    struct mtlm_order_file_notes notes;
    struct scene s;

    (void) state;
    scene_create(&s, 1, 3, 1, 1, one, 0);
    scene_read(&s, "0F0,0F1,0I0,0F2,0I1,0W0,0I2,0W1,0W2\n", &s.order, &notes);
    assert_true(mtlm_order_ascends(&s.order, &s.boxes));
    s.order.n[0] = 0;
    scene_read(&s, "0F0,0F1,0I0,0F2,0I1,0W1,0I2,0W0,0W2\n", &s.order, &notes);
    assert_false(mtlm_order_ascends(&s.order, &s.boxes));
    scene_free(&s);
}

/* Six places of one rank: F of microbatch 1 takes the slot of microbatch 0's
 * activations that B has read, not of its gradients. */
static void test_gradients_take_turns_with_activations(void **state)
{
    struct mtlm_slot_edge edge[4];
    struct mtlm_order_file_notes notes;
    struct scene s;
    int n;

    (void) state;
    scene_create(&s, 1, 2, 1, 1, one, 0);
    scene_read(&s, "0F0,0I0,0F1,0W0,0I1,0W1\n", &s.order, &notes);
    assert_int_equal(mtlm_order_slots_edges(&s.order, &s.boxes, 0,
                                            MTLM_SLOT_UNTIL_BACKWARD, edge, &n),
                     1);
    assert_int_equal(mtlm_order_slots_edges(&s.order, &s.boxes, 0,
                                            MTLM_SLOT_UNTIL_WEIGHT, edge, &n),
                     2);
    assert_int_equal(n, 0);
    assert_int_equal(mtlm_order_slots_edges(&s.order, &s.boxes, 0,
                                            MTLM_SLOT_EXCHANGED, edge, &n),
                     2);
    assert_int_equal(n, 2);
    assert_int_equal(edge[0].last.phase, MTLM_PHASE_BACKWARD);
    assert_int_equal(edge[0].next.phase, MTLM_PHASE_FORWARD);
    assert_int_equal(edge[0].next.microbatch, 1);
    assert_int_equal(edge[1].last.phase, MTLM_PHASE_WEIGHT);
    assert_int_equal(edge[1].last.microbatch, 0);
    assert_int_equal(edge[1].next.phase, MTLM_PHASE_BACKWARD);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lives_that_meet_have_different_slots),
        cmocka_unit_test(test_a_life_takes_the_slot_that_rests_longest),
        cmocka_unit_test(test_slots_rest),
        cmocka_unit_test(test_shared_slots_are_the_published_memory),
        cmocka_unit_test(test_stages_share_what_is_equal),
        cmocka_unit_test(test_gradients_that_wait_take_memory),
        cmocka_unit_test(test_columns_are_those_of_the_file),
        cmocka_unit_test(test_ascending_orders),
        cmocka_unit_test(test_gradients_take_turns_with_activations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
