/* Slots that the layers of a stage share: planned bytes against closed counts.
 */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "graph/predict/plan.h"
#include "tests/graph/small.h"

enum { W = 2 }; /* window of the middle stage of three */

/* A pipeline of three stages of so many layers. */
static struct small_ranks make_ranks(const char *schedule, int layers,
                                     int workers, int tp)
{
    struct mtlm_program_config config = small_config(tp, 3, 6);

    config.schedule = small_schedule(schedule);
    config.model.num_layers = 3 * layers;
    config.layout.workers = workers;
    return small_ranks_create(&config);
}

/* Bytes of so many vectors [h] of a microbatch. */
static double vectors(const struct mtlm_program_config *config, double n)
{
    return n * config->model.seq_length * config->micro_batch
           * config->model.hidden_size * sizeof(float);
}

/* Vectors [h] in the slots of gradients that the middle stage of so many layers
 * makes. */
static double gradient_vectors(const char *schedule, int layers, int workers,
                               int tp)
{
    struct small_ranks ranks = make_ranks(schedule, layers, workers, tp);
    const struct mtlm_program *program = ranks.program[tp];
    double bytes = 0;

    for (int i = 0; i < program->graph->n_tensors; i++) {
        const struct mtlm_tensor *t = program->graph->tensor[i];

        if (t->storage == MTLM_STORE_ACTIVATION && mtlm_tensor_is_owner(t)
            && t->first_use == MTLM_PHASE_BACKWARD && !t->received)
            bytes += t->slots * mtlm_tensor_bytes(t);
    }
    bytes /= vectors(&program->config, 1);
    small_ranks_destroy(&ranks);
    return bytes;
}

/* A layer makes gradients of 12 vectors: five of [h], one of [3 h], one of
 * [4 h].  B and W apart have two slots of each.  Together they have slots of
 * two layers, for each worker, whatever the number of layers. */
static void test_gradients_have_slots_of_two_layers(void **state)
{
    (void) state;
    for (int workers = 1; workers <= 3; workers++)
        for (int layers = 3; layers <= 9; layers += 3) {
            const int apart = workers > 2 ? workers : 2;

            assert_true(gradient_vectors("1f1b", layers, workers, 1)
                        == 12 * 2 * workers);
            assert_true(gradient_vectors("zb-h1", layers, workers, 1)
                        >= 12 * apart * layers);
        }
}

/* A worker with tensor-parallel peers has slots for two microbatches: it waits
 * for the peers.  Four vectors are whole; [h] of attention, [3 h] and [4 h] are
 * halves. */
static void test_tensor_parallel_ranks_have_two(void **state)
{
    (void) state;
    assert_true(gradient_vectors("gpipe", 8, 1, 2) == 2 * 2 * (4 + 4));
}

/* What a further layer adds to the plan: a window of what B and W read.  That
 * is 16 vectors: the outputs of both layernorms and of the projections of
 * queries, keys and values (3), of attention, of both sums (2), and of the
 * larger product before and behind GELU (8); beside them two numbers of a row
 * for each layernorm, and one for each head. */
static void test_a_layer_adds_what_its_gradients_read(void **state)
{
    struct small_ranks few = make_ranks("1f1b", 4, 1, 1);
    struct small_ranks many = make_ranks("1f1b", 9, 1, 1);
    const struct mtlm_program_config *config = &few.program[1]->config;
    const double numbers = 4 + config->model.num_heads;
    const double layer =
        vectors(config, 16 + numbers / config->model.hidden_size);

    (void) state;
    assert_int_equal(few.program[1]->window[1].w, W);
    assert_true(mtlm_plan(many.program[1], 0).activation_bytes
                    - mtlm_plan(few.program[1], 0).activation_bytes
                == 5 * W * layer);
    small_ranks_destroy(&few);
    small_ranks_destroy(&many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients_have_slots_of_two_layers),
        cmocka_unit_test(test_tensor_parallel_ranks_have_two),
        cmocka_unit_test(test_a_layer_adds_what_its_gradients_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
