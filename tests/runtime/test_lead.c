/* When sends are announced: at the start of a pass of known duration, else when
 * the data is ready. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "runtime/comm/lead.h"

/* A pass of two tasks and a send, of a microbatch. */
struct pass {
    struct mtlm_lead_pass *pass;
    struct mtlm_lead_send send;
    struct mtlm_policy_announcement announcement;
};

static struct mtlm_lead_pass *enter(enum mtlm_policy_kind kind, int microbatch,
                                    int64_t modelled_ns)
{
    const struct mtlm_policy_node node = {.kind = kind,
                                          .microbatch = microbatch};

    return mtlm_lead_enter(&node, modelled_ns);
}

static void create_pass(struct pass *p, int microbatch,
                        struct mtlm_policy_times *times, int64_t modelled_ns)
{
    *p = (struct pass){.send = {.times = times, .modelled_ns = 7}};
    p->pass = enter(MTLM_POLICY_TASK, microbatch, modelled_ns);
    assert_ptr_equal(enter(MTLM_POLICY_TASK, microbatch, modelled_ns), p->pass);
    assert_ptr_equal(enter(MTLM_POLICY_SEND, microbatch, 7), p->pass);
}

static void post_send(struct pass *p)
{
    assert_null(mtlm_lead_post(p->pass, &p->send, &p->announcement));
}

static struct mtlm_policy_announcement *begin(struct pass *p, int layer,
                                              int64_t now_ns)
{
    const struct mtlm_policy_node task = {.layer = layer};

    return mtlm_lead_begin(p->pass, &task, now_ns);
}

static void leave_all(struct pass *p)
{
    mtlm_lead_leave(p->pass, NULL);
    mtlm_lead_leave(p->pass, NULL);
    mtlm_lead_leave(p->pass, &p->send);
    /* A node of no pass ends the pass. */
    assert_null(enter(MTLM_POLICY_TASK, -1, 0));
}

/* Gradients of weights may be computed among those of activations. */
static void test_b_and_w_are_one_pass(void **state)
{
    struct mtlm_policy_node node = {.microbatch = 3};
    struct mtlm_lead_pass *forward, *backward;

    (void) state;
    forward = mtlm_lead_enter(&node, 0);
    node.phase = MTLM_PHASE_BACKWARD;
    backward = mtlm_lead_enter(&node, 0);
    assert_ptr_not_equal(backward, forward);
    node.phase = MTLM_PHASE_WEIGHT;
    assert_ptr_equal(mtlm_lead_enter(&node, 0), backward);
    node.phase = MTLM_PHASE_BACKWARD;
    node.kind = MTLM_POLICY_SEND;
    assert_ptr_equal(mtlm_lead_enter(&node, 0), backward);
    mtlm_lead_leave(forward, NULL);
    for (int i = 0; i < 3; i++)
        mtlm_lead_leave(backward, NULL);
    assert_null(enter(MTLM_POLICY_TASK, -1, 0));
}

/* Those of inputs have a microbatch. */
static void test_loads_and_stores_leave_the_pass_open(void **state)
{
    struct mtlm_policy_times times = {.n_leads = 1, .lead_ns = 400};
    struct pass p = {.send = {.times = &times, .modelled_ns = 7}};

    (void) state;
    p.pass = enter(MTLM_POLICY_TASK, 0, 0);
    assert_null(enter(MTLM_POLICY_LOAD, -1, 0));
    assert_null(enter(MTLM_POLICY_STORE, 4, 0));
    assert_ptr_equal(enter(MTLM_POLICY_TASK, 0, 0), p.pass);
    assert_null(enter(MTLM_POLICY_LOAD, 0, 0));
    assert_ptr_equal(enter(MTLM_POLICY_SEND, 0, 7), p.pass);
    mtlm_lead_leave(NULL, NULL); /* the load's end */
    post_send(&p);
    assert_ptr_equal(begin(&p, 0, 1000), &p.announcement);
    assert_int_equal(p.announcement.when_ns, 1407);
    leave_all(&p);
}

/* Nothing is known: announced when ready.  Then the lead is known. */
static void test_a_send_is_announced_by_measured_leads(void **state)
{
    struct mtlm_policy_times times = {0};
    struct pass p;

    (void) state;
    create_pass(&p, 0, &times, 0);
    post_send(&p);
    assert_null(begin(&p, 0, 1000));
    assert_ptr_equal(mtlm_lead_ready(p.pass, &p.send, 1300), &p.announcement);
    assert_int_equal(p.announcement.when_ns, 1307);
    leave_all(&p);
    create_pass(&p, 1, &times, 0);
    post_send(&p);
    assert_ptr_equal(begin(&p, 0, 2000), &p.announcement);
    assert_null(p.announcement.next);
    assert_int_equal(p.announcement.when_ns, 2307);
    /* Once. */
    assert_null(begin(&p, 0, 2100));
    assert_null(mtlm_lead_ready(p.pass, &p.send, 2500));
    leave_all(&p);
    /* The mean, and the measured duration of the message. */
    times.n = 1;
    times.mean_ns = 20;
    create_pass(&p, 2, &times, 0);
    post_send(&p);
    assert_ptr_equal(begin(&p, 0, 3000), &p.announcement);
    assert_int_equal(p.announcement.when_ns, 3000 + (300 + 500) / 2 + 20);
    leave_all(&p);
}

/* The sum of the nodes before the send. */
static void test_modelled_leads_serve_until_measured_ones(void **state)
{
    struct mtlm_policy_times times = {0};
    struct pass p;

    (void) state;
    create_pass(&p, 0, &times, 50);
    post_send(&p);
    assert_ptr_equal(begin(&p, 0, 1000), &p.announcement);
    assert_int_equal(p.announcement.when_ns, 1000 + 2 * 50 + 7);
    leave_all(&p);
}

static void test_a_send_posted_late_is_announced_at_once(void **state)
{
    struct mtlm_policy_times times = {.n_leads = 1, .lead_ns = 400};
    struct pass p;

    (void) state;
    create_pass(&p, 0, &times, 0);
    assert_null(begin(&p, 0, 1000));
    assert_ptr_equal(mtlm_lead_post(p.pass, &p.send, &p.announcement),
                     &p.announcement);
    assert_int_equal(p.announcement.when_ns, 1407);
    leave_all(&p);
}

static void test_a_task_outside_the_layers_begins_no_lead(void **state)
{
    struct mtlm_policy_times times = {.n_leads = 1, .lead_ns = 400};
    struct pass p;

    (void) state;
    create_pass(&p, 0, &times, 0);
    post_send(&p);
    assert_null(begin(&p, -1, 1000));
    assert_ptr_equal(begin(&p, 3, 9000), &p.announcement);
    assert_int_equal(p.announcement.when_ns, 9407);
    leave_all(&p);
}

static void test_each_pass_has_its_own_sends(void **state)
{
    struct mtlm_policy_times times = {.n_leads = 1, .lead_ns = 400};
    struct pass p, q;

    (void) state;
    create_pass(&p, 0, &times, 0);
    post_send(&p);
    create_pass(&q, 1, &times, 0);
    assert_ptr_not_equal(p.pass, q.pass);
    post_send(&q);
    assert_ptr_equal(begin(&q, 0, 1000), &q.announcement);
    assert_ptr_equal(begin(&p, 0, 1100), &p.announcement);
    leave_all(&p);
    leave_all(&q);
}

/* An ended send is not announced any more. */
static void test_a_send_leaves_its_pass(void **state)
{
    struct mtlm_policy_times times = {.n_leads = 1, .lead_ns = 400};
    struct pass p;

    (void) state;
    create_pass(&p, 0, &times, 0);
    post_send(&p);
    mtlm_lead_leave(p.pass, &p.send);
    assert_null(begin(&p, 0, 1000));
    mtlm_lead_leave(p.pass, NULL);
    mtlm_lead_leave(p.pass, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_b_and_w_are_one_pass),
        cmocka_unit_test(test_loads_and_stores_leave_the_pass_open),
        cmocka_unit_test(test_a_send_is_announced_by_measured_leads),
        cmocka_unit_test(test_modelled_leads_serve_until_measured_ones),
        cmocka_unit_test(test_a_send_posted_late_is_announced_at_once),
        cmocka_unit_test(test_a_task_outside_the_layers_begins_no_lead),
        cmocka_unit_test(test_each_pass_has_its_own_sends),
        cmocka_unit_test(test_a_send_leaves_its_pass)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
