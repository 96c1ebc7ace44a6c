/* How parameters are dealt out to buckets and buckets to data-parallel ranks,
 * and where their messages stand in the program. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "graph/build/bucket.h"
#include "graph/build/program_build.h"
#include "tests/graph/small.h"

static int64_t elems(const struct mtlm_tensor *tensor)
{
    return mtlm_shape_elems(&tensor->shape);
}

static int64_t begin_of(const struct mtlm_tensor *tensor)
{
    assert_true(tensor->block >= 0);
    assert_int_equal(tensor->offset % 64, 0);
    return tensor->offset / sizeof(mtlm_real);
}

static const struct way {
    int tp, pp, virtual_stages, dp;
    int64_t bucket_size;
} ways[] = {{1, 1, 1, 1, 0}, {1, 1, 1, 3, 1},     {2, 2, 1, 2, 0},
            {2, 2, 2, 4, 1}, {1, 4, 1, 5, 20000}, {1, 1, 2, 300, 0}};
enum { N_WAYS = sizeof(ways) / sizeof(ways[0]) };

static struct mtlm_program_config config_of(const struct way *way,
                                            bool distributed)
{
    struct mtlm_program_config config = small_config(way->tp, way->pp, 2);

    config.layout.virtual_stages = way->virtual_stages;
    config.layout.dp = way->dp;
    config.bucket_size = way->bucket_size;
    config.distributed_optimizer = distributed;
    return config;
}

static struct mtlm_program *program_of(const struct way *way, bool distributed,
                                       int rank)
{
    struct mtlm_program_config config = config_of(way, distributed);

    mtlm_layout_place(&config.layout, rank);
    return mtlm_program_build(&config);
}

/* Replicated parameters first, one behind the other, none overlapping. */
static void check_bucket(const struct mtlm_program *program,
                         const struct mtlm_bucket *bucket, int *seen)
{
    int64_t end = 0;

    assert_int_equal(bucket->elems % (program->config.layout.dp * 16), 0);
    for (int i = 0; i < bucket->n; i++) {
        const struct mtlm_parameter *p = &program->param[bucket->param[i]];

        seen[bucket->param[i]]++;
        assert_int_equal(p->weight->stage, program->stage[bucket->chunk].stage);
        assert_int_equal(p->info.split < 0, i < bucket->n_replicated);
        assert_int_equal(begin_of(p->grad), (end + 15) / 16 * 16);
        assert_int_equal(p->grad->block,
                         program->param[bucket->param[0]].grad->block);
        if (!p->weight->alias_of)
            assert_int_equal(begin_of(p->weight), begin_of(p->grad));
        end = begin_of(p->grad) + elems(p->grad);
    }
    assert_true(end <= bucket->elems
                && bucket->elems < end + 16 + program->config.layout.dp * 16);
    assert_true(
        program->graph->block[program->param[bucket->param[0]].grad->block]
        == bucket->elems * sizeof(mtlm_real));
}

static void test_every_parameter_is_in_one_bucket(void **state)
{
    (void) state;
    for (int w = 0; w < N_WAYS; w++)
        for (int pp = 0; pp < ways[w].pp; pp++) {
            struct mtlm_program *program =
                program_of(&ways[w], w % 2, pp * ways[w].tp * ways[w].dp);
            int *seen = mtlm_calloc(program->n_params, sizeof(*seen));

            for (int i = 0; i < program->n_buckets; i++)
                check_bucket(program, &program->bucket[i], seen);
            for (int i = 0; i < program->n_params; i++)
                assert_int_equal(seen[i], 1);
            free(seen);
            mtlm_program_destroy(program);
        }
}

/* Of one layer each, of all, of as many as it takes. */
static void test_buckets_hold_whole_layers(void **state)
{
    static const struct {
        int64_t size;
        int buckets;
    } want[] = {{1, 7}, {0, 3}, {13000, 5}, {25000, 4}, {1000000, 3}};

    (void) state;
    /* 4 layers of 12 h^2 + 13 h = 12704, positions, two word embeddings. */
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        const struct way way = {1, 1, 1, 2, want[i].size};
        struct mtlm_program *program = program_of(&way, false, 0);

        assert_int_equal(program->n_buckets, want[i].buckets);
        for (int b = 0; b < program->n_buckets; b++) {
            const struct mtlm_bucket *bucket = &program->bucket[b];
            int of_layer[4] = {0};

            for (int k = 0; k < bucket->n; k++) {
                const int64_t layer = program->param[bucket->param[k]].layer;

                if (layer >= 0)
                    of_layer[layer]++;
            }
            for (int l = 0; l < 4; l++)
                assert_true(of_layer[l] == 0
                            || of_layer[l] == MTLM_PARAM_PER_LAYER);
        }
        mtlm_program_destroy(program);
    }
}

/* Both sides of the word embedding are cut alike, on whatever ranks they
 * are. */
static void test_the_word_embedding_has_buckets_of_its_own(void **state)
{
    (void) state;
    for (int w = 0; w < N_WAYS; w++) {
        struct mtlm_program *first = program_of(&ways[w], true, 0);
        struct mtlm_program *last = program_of(
            &ways[w], true, (ways[w].pp - 1) * ways[w].tp * ways[w].dp);
        const struct mtlm_bucket *input = &first->bucket[0];
        const struct mtlm_bucket *head = &last->bucket[last->n_buckets - 1];
        const struct mtlm_parameter *p = &first->param[input->param[0]];
        const struct mtlm_parameter *q = &last->param[head->param[0]];

        assert_int_equal(input->n, 1);
        assert_int_equal(head->n, 1);
        assert_int_equal(p->kind, MTLM_PARAM_WORD);
        assert_int_equal(q->kind, MTLM_PARAM_WORD);
        assert_true(q->copy && !p->copy);
        assert_int_equal(input->elems, head->elems);
        assert_int_equal(p->first, q->first);
        assert_int_equal(elems(p->reduced), elems(q->reduced));
        mtlm_program_destroy(first);
        mtlm_program_destroy(last);
    }
}

/* Counts the rank's piece of every element of every parameter; its moments
 * are as large as the piece. */
static void add_pieces(const struct mtlm_program *program, int **times)
{
    const bool whole = program->config.layout.dp == 1;

    for (int i = 0; i < program->n_params; i++) {
        const struct mtlm_parameter *p = &program->param[i];

        if (!times[i])
            times[i] = mtlm_calloc(elems(p->weight), sizeof(**times));
        if (!p->reduced) {
            assert_null(p->m);
            continue;
        }
        assert_int_equal(p->reduced == p->grad, whole);
        for (int64_t e = 0; e < elems(p->reduced); e++)
            times[i][p->first + e]++;
        if (p->weight->alias_of)
            continue;
        assert_int_equal(elems(p->m), elems(p->reduced));
        assert_int_equal(elems(p->v), elems(p->reduced));
    }
    /* Received where they lie in the sum: in this rank's shard. */
    for (int b = 0; b < program->n_buckets; b++) {
        const struct mtlm_bucket *bucket = &program->bucket[b];
        const int64_t shard = bucket->elems / program->config.layout.dp;
        const int64_t begin = shard * program->config.layout.dp_rank;

        for (int i = 0; i < bucket->n; i++) {
            const struct mtlm_parameter *p = &program->param[bucket->param[i]];

            if (!p->reduced)
                continue;
            assert_int_equal(p->reduced->block, p->grad->block);
            assert_int_equal(begin_of(p->reduced),
                             begin_of(p->grad) + p->first);
            assert_true(begin_of(p->reduced) >= begin
                        && begin_of(p->reduced) + elems(p->reduced)
                               <= begin + shard);
        }
    }
}

static void test_ranks_step_every_element_once(void **state)
{
    (void) state;
    for (int w = 0; w < N_WAYS; w++) {
        int *times[200] = {0};

        for (int d = 0; d < ways[w].dp; d++) {
            struct mtlm_program *program =
                program_of(&ways[w], true, d * ways[w].tp);

            assert_true(program->n_params <= 200);
            add_pieces(program, times);
            if (d == ways[w].dp - 1)
                for (int i = 0; i < program->n_params; i++) {
                    for (int64_t e = 0; e < elems(program->param[i].weight);
                         e++)
                        assert_int_equal(times[i][e], 1);
                    free(times[i]);
                }
            mtlm_program_destroy(program);
        }
    }
}

static bool is_bucket_message(const struct mtlm_item *item)
{
    return mtlm_ops[item->node->call.kind]->op_class == MTLM_CLASS_COLLECTIVE
           && mtlm_ops[item->node->call.kind]->n_operands == 0;
}

/* Every weight gradient that is added to before it, none after it. */
static void check_reductions(const struct mtlm_program *program, int *reduced)
{
    const struct mtlm_items *items = &program->train;

    for (int i = 0; i < items->n; i++) {
        const struct mtlm_item *item = &items->item[i];

        if (item->microbatch >= 0) {
            for (int j = 0; j < mtlm_node_n_uses(item->node); j++) {
                const struct mtlm_use use = mtlm_node_use(item->node, j);

                if (use.tensor->storage == MTLM_STORE_GRAD)
                    assert_int_equal(reduced[use.tensor->id], 0);
            }
        } else if (is_bucket_message(item)
                   && item->node->call.kind != MTLM_OP_BUCKET_ALL_GATHER) {
            for (int j = 0; j < item->node->extra.n; j++)
                reduced[item->node->extra.use[j].tensor->id]++;
        }
    }
}

static void test_gradients_are_reduced_once_when_they_are_complete(void **state)
{
    (void) state;
    for (int w = 1; w < N_WAYS; w++)
        for (int distributed = 0; distributed < 2; distributed++) {
            struct mtlm_program *program = program_of(&ways[w], distributed, 0);
            int *reduced = mtlm_calloc(program->graph->n_tensors, sizeof(int));

            check_reductions(program, reduced);
            for (int i = 0; i < program->n_params; i++) {
                const struct mtlm_parameter *p = &program->param[i];

                assert_int_equal(reduced[p->grad->id], 1);
                if (distributed && p->reduced)
                    assert_int_equal(reduced[p->reduced->id], 1);
            }
            free(reduced);
            mtlm_program_destroy(program);
        }
}

/* How the node uses the tensor: 'R', 'W', or 'w' for the sake of order; 0: not
 * at all. */
static char use_of(const struct mtlm_node *node,
                   const struct mtlm_tensor *tensor)
{
    for (int i = 0; i < mtlm_node_n_uses(node); i++) {
        const struct mtlm_use use = mtlm_node_use(node, i);

        if (use.tensor == tensor)
            return use.access == MTLM_R ? 'R' : use.control ? 'w' : 'W';
    }
    return 0;
}

/* The sum of a piece lies where the gradient did: what clears the gradient
 * comes after all that needs the piece, and in between nobody looks at the
 * gradient.  Others' pieces are cleared, too. */
static void check_clearing(const struct mtlm_program *program,
                           const struct mtlm_parameter *p)
{
    enum { ADDED, SUMMED, CLEAR } is = ADDED;

    for (int i = 0; i < program->train.n; i++) {
        const struct mtlm_node *node = program->train.item[i].node;
        const char grad = use_of(node, p->grad);
        const char piece = p->reduced ? use_of(node, p->reduced) : 0;

        if (node->call.kind == MTLM_OP_BUCKET_REDUCE_SCATTER && grad) {
            assert_true(is == ADDED && grad == 'R');
            assert_int_equal(piece, p->reduced ? 'W' : 0);
            is = SUMMED;
        } else if (node->call.kind == MTLM_OP_FILL && grad) {
            assert_true(is == SUMMED && grad == 'W');
            assert_int_equal(piece, p->reduced ? 'w' : 0);
            is = CLEAR;
        } else {
            assert_true(!grad || is == ADDED);
            assert_true(!piece || is == SUMMED);
        }
    }
    assert_int_equal(is, CLEAR);
}

static void test_gradients_are_cleared_behind_the_last_use(void **state)
{
    (void) state;
    for (int w = 1; w < N_WAYS; w++) {
        struct mtlm_program *program = program_of(&ways[w], true, 0);

        for (int i = 0; i < program->n_params; i++)
            check_clearing(program, &program->param[i]);
        mtlm_program_destroy(program);
    }
}

/* Deeper chunks and layers are complete first; the first ones' weights are
 * needed first. */
static void test_messages_go_in_the_order_of_the_need(void **state)
{
    const struct way way = {1, 2, 2, 2, 1};
    struct mtlm_program *program = program_of(&way, true, 0);
    int last = program->n_buckets, gathered = 0;

    (void) state;
    for (int i = 0; i < program->train.n; i++) {
        const struct mtlm_item *item = &program->train.item[i];
        int bucket = -1;

        if (!is_bucket_message(item))
            continue;
        for (int b = 0; b < program->n_buckets; b++) {
            const struct mtlm_parameter *p =
                &program->param[program->bucket[b].param[0]];

            if (item->node->extra.use[0].tensor == p->grad
                || item->node->extra.use[0].tensor == p->weight)
                bucket = b;
        }
        assert_true(bucket >= 0);
        if (item->node->call.kind == MTLM_OP_BUCKET_ALL_GATHER)
            assert_int_equal(bucket, gathered++);
        else
            assert_int_equal(bucket, --last);
    }
    assert_int_equal(last, 0);
    assert_int_equal(gathered, program->n_buckets);
    mtlm_program_destroy(program);
}

/* What the replicas of a rank do together, they do in one order. */
static void test_replicas_meet_in_one_order(void **state)
{
    (void) state;
    for (int w = 1; w < N_WAYS - 1; w++)
        for (int distributed = 0; distributed < 2; distributed++) {
            struct mtlm_program *a = program_of(&ways[w], distributed, 0);

            for (int d = 1; d < ways[w].dp; d++) {
                struct mtlm_program *b =
                    program_of(&ways[w], distributed, d * ways[w].tp);
                int j = 0, met = 0;

                for (int i = 0; i < a->train.n; i++) {
                    if (!is_bucket_message(&a->train.item[i]))
                        continue;
                    while (!is_bucket_message(&b->train.item[j]))
                        assert_true(++j < b->train.n);
                    assert_int_equal(a->train.item[i].node->call.kind,
                                     b->train.item[j].node->call.kind);
                    assert_int_equal(mtlm_node_elems(a->train.item[i].node),
                                     mtlm_node_elems(b->train.item[j].node));
                    j++;
                    met++;
                }
                assert_true(met >= a->n_buckets);
                mtlm_program_destroy(b);
            }
            mtlm_program_destroy(a);
        }
}

/* Sequence parallelism: each rank has a part of the gradient of what all hold
 * whole, and the sum of the parts before the sum of the replicas. */
static void test_replicated_parameters_are_added_up_first(void **state)
{
    struct mtlm_program_config config = small_config(2, 1, 2);
    struct mtlm_program *program;
    int tensor_parallel = 0, data_parallel = 0;

    (void) state;
    config.sequence_parallel = true;
    config.layout.dp = 2;
    program = mtlm_program_build(&config);
    for (int i = 0; i < program->train.n; i++) {
        const struct mtlm_item *item = &program->train.item[i];
        const struct mtlm_node *node = item->node;

        if (!is_bucket_message(item))
            continue;
        if (node->call.attr.collective.group == MTLM_GROUP_DP) {
            data_parallel++;
            continue;
        }
        /* Of the layers' bucket, between those of the two word embeddings. */
        assert_int_equal(data_parallel, 1);
        tensor_parallel++;
        assert_int_equal(node->extra.n, program->bucket[1].n_replicated);
        assert_true(node->extra.n > 0);
    }
    assert_int_equal(tensor_parallel, 1);
    assert_int_equal(data_parallel, 3);
    mtlm_program_destroy(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_parameter_is_in_one_bucket),
        cmocka_unit_test(test_buckets_hold_whole_layers),
        cmocka_unit_test(test_the_word_embedding_has_buckets_of_its_own),
        cmocka_unit_test(test_ranks_step_every_element_once),
        cmocka_unit_test(
            test_gradients_are_reduced_once_when_they_are_complete),
        cmocka_unit_test(test_gradients_are_cleared_behind_the_last_use),
        cmocka_unit_test(test_messages_go_in_the_order_of_the_need),
        cmocka_unit_test(test_replicas_meet_in_one_order),
        cmocka_unit_test(test_replicated_parameters_are_added_up_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
