/* The modes in which StarPU is asked for the data of tasks and messages, beside
 * the uses of the graph.  Another mode is an edge between nodes that only
 * StarPU knows: with it an evaluated order of collectives may deadlock. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "codelets/codelet.h"
#include "graph/run/message.h"
#include "graph/run/run_private.h"
#include "runtime/base/memory.h"
#include "runtime/comm/engine_private.h"
#include "runtime/machine/machine.h"
#include "tests/graph/small.h"

/* The task that item.c submitted last, in place of StarPU's function. */
static struct starpu_task *submitted;

int(starpu_task_submit)(struct starpu_task *task)
{
    submitted = task;
    return 0;
}

static const struct way {
    int tp, pp, dp, virtual_stages;
    const char *schedule;
    bool sequence_parallel, distributed, recompute;
} ways[] = {{1, 1, 1, 1, "zb-h1", false, false, false},
            {2, 2, 1, 1, "1f1b", true, false, false},
            {2, 2, 2, 1, "gpipe", true, true, false},
            {2, 2, 2, 2, "interleaved", true, true, true},
            {2, 2, 2, 1, "zb-h1", true, false, true},
            {1, 2, 2, 1, "1f1b", false, true, false},
            {2, 1, 1, 1, "1f1b", false, false, true}};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static struct mtlm_program_config config_of(const struct way *way)
{
    struct mtlm_program_config config = small_config(way->tp, way->pp, 3);

    config.layout.dp = way->dp;
    config.layout.virtual_stages = way->virtual_stages;
    config.schedule = small_schedule(way->schedule);
    config.sequence_parallel = way->sequence_parallel;
    config.distributed_optimizer = way->distributed;
    config.params_norm = config.count_zeros = true;
    config.save = MTLM_SAVE_ALL;
    if (way->recompute)
        config.recompute = (struct mtlm_recompute){MTLM_RECOMPUTE_FULL,
                                                   MTLM_RECOMPUTE_UNIFORM, 1};
    return config;
}

/* ---- one node ---- */

static const struct mtlm_submission first = {0};

/* Each handle and its mode. */
struct asked {
    struct starpu_data_descr *data; /* [n] */
    int n;
};

static void add(struct asked *asked, starpu_data_handle_t handle,
                enum starpu_data_access_mode mode)
{
    asked->data = mtlm_realloc(asked->data, asked->n + 1, sizeof(*asked->data));
    asked->data[asked->n++] = (struct starpu_data_descr){handle, mode};
}

static void ask_for_message(const struct mtlm_run_data *data,
                            const struct mtlm_node *node, struct asked *asked)
{
    const int n = mtlm_node_n_uses(node);
    starpu_data_handle_t *handles = mtlm_calloc(n, sizeof(*handles));
    struct starpu_data_descr *control = mtlm_calloc(n, sizeof(*control));
    struct mtlm_message m = {0};
    int at = 0;

    mtlm_run_message_of(data, node, &first, handles, control, &m);
    for (int i = 0; i < m.n_handles; i++, at++)
        add(asked, m.handle[i], mtlm_engine_message_mode(&m, at));
    for (int i = 0; i < m.n_into; i++, at++)
        add(asked, m.into[i], mtlm_engine_message_mode(&m, at));
    for (int i = 0; i < m.n_control; i++, at++)
        add(asked, m.control[i].handle, mtlm_engine_message_mode(&m, at));
    free(control);
    free(handles);
}

static void ask_for_task(struct mtlm_run *run, const struct mtlm_node *node,
                         struct asked *asked)
{
    const struct mtlm_item item = {.node = node, .microbatch = -1};

    mtlm_run_submit_item(run, &item,
                         &(struct mtlm_list_submission){.flops = 1});
    for (int i = 0; i < submitted->nbuffers; i++)
        add(asked, STARPU_TASK_GET_HANDLE(submitted, i),
            STARPU_TASK_GET_MODE(submitted, i));
    submitted->destroy = 0;
    starpu_task_destroy(submitted);
}

static bool is_message(const struct mtlm_node *node)
{
    const enum mtlm_op_class class = mtlm_ops[node->call.kind]->op_class;

    return class == MTLM_CLASS_P2P || class == MTLM_CLASS_COLLECTIVE;
}

static void check_use(const struct mtlm_node *node, struct mtlm_use use,
                      starpu_data_handle_t handle, const struct asked *asked)
{
    int found = 0;

    for (int i = 0; i < asked->n; i++) {
        const enum starpu_data_access_mode mode = asked->data[i].mode;

        if (asked->data[i].handle != handle)
            continue;
        found++;
        if (!(mode & STARPU_W) != (use.access == MTLM_R)
            || (!(mode & STARPU_R) && use.access != MTLM_W))
            fail_msg("%s of stage %d: %s in mode %d, %s by the graph",
                     mtlm_ops[node->call.kind]->name, node->stage,
                     use.tensor->name, (int) mode,
                     use.access == MTLM_R   ? "read"
                     : use.access == MTLM_W ? "written"
                                            : "read and written");
    }
    assert_int_equal(found, 1);
}

/* Returns how many uses the node reads for their order alone. */
static int check_node(struct mtlm_run *run, const struct mtlm_node *node)
{
    struct asked asked = {0};
    int ordered = 0;

    if (is_message(node))
        ask_for_message(&run->data, node, &asked);
    else
        ask_for_task(run, node, &asked);
    assert_int_equal(asked.n, mtlm_node_n_uses(node));
    for (int i = 0; i < asked.n; i++) {
        const struct mtlm_use use = mtlm_node_use(node, i);

        check_use(node, use,
                  mtlm_run_data_handle(&run->data, use.tensor, &first), &asked);
        ordered += is_message(node) && use.control && use.access == MTLM_R;
    }
    free(asked.data);
    return ordered;
}

/* ---- all nodes ---- */

static int check_program(const struct mtlm_program *program, bool synthetic)
{
    struct mtlm_run run = {.program = program, .poison = -1};
    int ordered = 0;

    run.priority = mtlm_program_priority(program);
    mtlm_run_data_create(&run.data, program, synthetic, false);
    for (int i = 0; i < program->graph->all.n; i++) {
        const struct mtlm_node *node = program->graph->all.node[i];

        if (mtlm_ops[node->call.kind]->op_class != MTLM_CLASS_ALIAS)
            ordered += check_node(&run, node);
    }
    mtlm_run_data_destroy(&run.data);
    return ordered;
}

/* Of the ranks of a stage, those of one replica and another. */
static int check_ranks(const struct mtlm_program_config *config)
{
    struct small_ranks ranks = small_ranks_create(config);
    int ordered = 0;

    for (int r = 0; r < ranks.n; r += config->layout.tp)
        for (int synthetic = 0; synthetic < 2; synthetic++)
            ordered += check_program(ranks.program[r], synthetic);
    small_ranks_destroy(&ranks);
    return ordered;
}

static void test_starpu_knows_the_edges_of_the_graph(void **state)
{
    int ordered = 0;

    (void) state;
    for (int w = 0; w < WAYS; w++) {
        const struct mtlm_program_config config = config_of(&ways[w]);

        ordered += check_ranks(&config);
    }
    assert_true(ordered > 0); /* or the test would miss the deadlock */
}

static void test_starpu_knows_the_edges_of_generation(void **state)
{
    struct mtlm_program_config config = small_config(2, 2, 1);

    (void) state;
    config.eval_only = true;
    config.eval_microbatches = 0;
    config.micro_batch = 1;
    config.decoding = (struct mtlm_decoding){
        .sequences = 3, .positions = 12, .prompt_rows = 4, .top_p = 1};
    check_ranks(&config);
}

static int start(void **state)
{
    const struct mtlm_machine_config config = {
        .workers = 1, .gpu = -1, .shared = true};
    struct mtlm_error err;

    (void) state;
    if (mtlm_machine_start(&config, &err) < 0)
        return -1;
    mtlm_codelets_start(false);
    return 0;
}

static int stop(void **state)
{
    (void) state;
    mtlm_codelets_stop();
    mtlm_machine_stop();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_starpu_knows_the_edges_of_the_graph),
        cmocka_unit_test(test_starpu_knows_the_edges_of_generation),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
