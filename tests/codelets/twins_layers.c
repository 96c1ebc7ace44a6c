/* Normalization, activations, dropout, embeddings and initial values: see
 * twin.h. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codelets/scores.h"
#include "tests/codelets/support.h"
#include "tests/codelets/twin.h"
#include "tests/codelets/twins.h"
#include "tests/tier.h"
#if HAVE_CUDA && MTLM_EMULATED
#include "tests/emulator/device_double.h"
#endif

#if HAVE_CUDA && !(MTLM_EMULATED && __SANITIZE_THREAD__)

/* Compares the calls in every value type. */
static void compare_all(const struct mtlm_call *calls, int n)
{
    for (int i = 0; i < n; i++)
        twin_compare(&(struct twin){.call = calls[i]});
}

/* Sequence, samples, columns: one column more than 16 bytes take, one row, and
 * so on. */
static const struct size {
    int64_t s, b, h;
} sizes[] = {
    {37, 3, 301}, {5, 2, 64}, {3, 1, 1032}, {1, 1, 8}, {19, 2, 7},
};
enum { N_SIZES = sizeof(sizes) / sizeof(*sizes) };

static void compare_layernorm_fwd(int64_t s, int64_t b, int64_t n)
{
    const struct mtlm_shape x = MTLM_SHAPE(s, b, n), h = MTLM_SHAPE(n);
    const struct mtlm_call call = {.kind = MTLM_OP_LAYERNORM_FWD,
                                   .attr.layernorm.epsilon = 1e-5,
                                   .shape = {x, h, h}};

    compare_all(&call, 1);
}

static void compare_layernorm_bwd(int64_t s, int64_t b, int64_t n)
{
    const struct mtlm_shape x = MTLM_SHAPE(s, b, n), h = MTLM_SHAPE(n);
    const struct mtlm_shape rows = MTLM_SHAPE(s, b), none = {0};
    const struct mtlm_call calls[] = {
        {.kind = MTLM_OP_LAYERNORM_BWD,
         .shape = {x, h, rows, rows, x, none, h, h}},
        {.kind = MTLM_OP_LAYERNORM_BWD_ADD,
         .shape = {x, h, rows, rows, x, x, h, h}},
    };

    compare_all(calls, 2);
}

void test_layernorm(void **state)
{
    (void) state;
    for (int i = 0; i < N_SIZES; i++) {
        compare_layernorm_fwd(sizes[i].s, sizes[i].b, sizes[i].h);
        compare_layernorm_bwd(sizes[i].s, sizes[i].b, sizes[i].h);
    }
    /* As many columns as threads keep in registers, and more: 4096 or 512, with
     * 16 bytes or one number at a time.  The emulator takes long for many. */
    compare_layernorm_fwd(5, 1, 4096);
    compare_layernorm_fwd(2, 1, 16392);
    compare_layernorm_bwd(5, 1, 2056);
    compare_layernorm_bwd(2, 1, 515);
    if (!MTLM_EMULATED || full_tier()) {
        compare_layernorm_bwd(5, 1, 4096);
        compare_layernorm_bwd(2, 1, 8200);
    }
}

void test_bias_gelu_and_bias_tanh(void **state)
{
    (void) state;
    for (int i = 0; i < N_SIZES; i++) {
        const struct mtlm_shape y =
            MTLM_SHAPE(sizes[i].s, sizes[i].b, sizes[i].h);
        const struct mtlm_shape h = MTLM_SHAPE(sizes[i].h), none = {0};
        const struct mtlm_call calls[] = {
            {.kind = MTLM_OP_BIAS_GELU_FWD, .shape = {y, h}},
            {.kind = MTLM_OP_BIAS_GELU_BWD, .shape = {y, h, y, none, h}},
            {.kind = MTLM_OP_BIAS_GELU_FWD,
             .attr.gelu.exact = true,
             .shape = {y, h}},
            {.kind = MTLM_OP_BIAS_GELU_BWD,
             .attr.gelu.exact = true,
             .shape = {y, h, y, none, h}},
            {.kind = MTLM_OP_BIAS_TANH_FWD, .shape = {y, h}},
            {.kind = MTLM_OP_BIAS_TANH_BWD, .shape = {y, y, none, h}},
            {.kind = MTLM_OP_BIAS_TANH_FWD,
             .attr.dropout = {.p = 0.3, .seed = 5, .site = MTLM_SITE_HEAD},
             .shape = {y, h}},
            {.kind = MTLM_OP_BIAS_TANH_BWD,
             .attr.dropout = {.p = 0.3, .seed = 5, .site = MTLM_SITE_HEAD},
             .shape = {y, y, none, h}},
        };

        compare_all(calls, 8);
    }
}

/* The products on both sides of GELU, of inner width f: like has the rest. */
static void compare_mlp(int64_t h, int64_t f, struct twin like)
{
    const struct mtlm_shape x = MTLM_SHAPE(37, 3, h),
                            wide = MTLM_SHAPE(37, 3, f);
    const struct mtlm_shape up = MTLM_SHAPE(f, h), down = MTLM_SHAPE(h, f);
    const struct mtlm_call calls[] = {
        {.kind = MTLM_OP_LINEAR_GELU_FWD, .shape = {x, up, MTLM_SHAPE(f)}},
        {.kind = MTLM_OP_GELU_LINEAR_FWD, .shape = {wide, down, wide}},
        {.kind = MTLM_OP_GELU_LINEAR_DGRAD, .shape = {x, down, wide}},
    };
    const union mtlm_attr attr = like.call.attr;

    for (int i = 0; i < 3; i++) {
        like.call = calls[i];
        like.call.attr = attr;
        twin_compare(&like);
    }
}

/* As passes of their own, which round twice: for shapes, addresses and forms
 * that have no epilogue, and where the library's double refuses it when it is
 * asked for a way or takes it. */
void test_products_with_gelu(void **state)
{
    const char *refuse = "MTLM_DOUBLE_REFUSE_EPILOGUES";
    const struct twin twice = {.roundings = 2},
                      aligned = {.roundings = 2, .aligned = true};

    (void) state;
    compare_mlp(40, 64, twice);
    compare_mlp(301, 523, twice);
    compare_mlp(40, 64,
                (struct twin){.roundings = 2, .call.attr.gelu.exact = true});
    setenv(refuse, "run", 1);
    compare_mlp(40, 64, aligned);
    setenv(refuse, "ask", 1);
    compare_mlp(48, 72, aligned);
    unsetenv(refuse);
}

static long epilogues_wanted(void)
{
#if MTLM_EMULATED
    return mtlm_double_gelu_wanted() + mtlm_double_bias_gradients_wanted();
#else
    return 0;
#endif
}

static void assert_wanted(long before, bool wanted, int capability,
                          enum mtlm_epilogue_wish wish)
{
    if (MTLM_EMULATED && (epilogues_wanted() > before) != wanted)
        fail_msg("capability %d, wish %d: %ld epilogues", capability,
                 (int) wish, epilogues_wanted() - before);
}

/* cuBLASLt's double is asked for epilogues with GELU, which round once, on the
 * GPUs where they are taken to pay and where that is wished; never elsewhere.
 */
void test_gelu_as_an_epilogue(void **state)
{
    static const struct {
        int capability;
        enum mtlm_epilogue_wish wish;
        bool exact, fused;
    } cases[] = {
        {90, MTLM_EPILOGUE_AUTO, false, true},
        {90, MTLM_EPILOGUE_OFF, false, false},
        {90, MTLM_EPILOGUE_ON, true, false},
        {80, MTLM_EPILOGUE_AUTO, false, false},
        {80, MTLM_EPILOGUE_ON, false, true},
        {100, MTLM_EPILOGUE_AUTO, false, false},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const long before = epilogues_wanted();

        /* A width of its own: refusals are kept. */
        compare_mlp(
            40, 72,
            (struct twin){.roundings = MTLM_EMULATED && cases[i].fused ? 0 : 2,
                          .aligned = true,
                          .capability = cases[i].capability,
                          .epilogues = {cases[i].wish, cases[i].wish},
                          .call.attr.gelu.exact = cases[i].exact});
        assert_wanted(before, cases[i].fused, cases[i].capability,
                      cases[i].wish);
    }
}

/* Either way of a bias' gradient beside the product that makes the weight's. */
void test_bias_gradient_as_an_epilogue(void **state)
{
    static const struct {
        int capability;
        enum mtlm_epilogue_wish wish;
        bool fused;
    } cases[] = {
        {90, MTLM_EPILOGUE_AUTO, false}, {90, MTLM_EPILOGUE_OFF, false},
        {90, MTLM_EPILOGUE_ON, true},    {80, MTLM_EPILOGUE_AUTO, true},
        {80, MTLM_EPILOGUE_OFF, false},
    };
    const struct mtlm_shape x = MTLM_SHAPE(37, 3, 40), f = MTLM_SHAPE(72);
    const struct mtlm_shape y = MTLM_SHAPE(37, 3, 72), w = MTLM_SHAPE(72, 40);

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const long before = epilogues_wanted();

        twin_compare(&(struct twin){.call = {.kind = MTLM_OP_LINEAR_BIAS_WGRAD,
                                             .sets = i % 2 == 1,
                                             .shape = {x, y, w, f}},
                                    .capability = cases[i].capability,
                                    .epilogues.bias_gradient = cases[i].wish});
        assert_wanted(before, cases[i].fused, cases[i].capability,
                      cases[i].wish);
    }
}

/* Of a microbatch in the middle of the run, and of rows in the middle of its
 * samples.  A mask that differs in one element shows. */
static void compare_dropout(const struct size *size, double p)
{
    const struct mtlm_shape x = MTLM_SHAPE(size->s, size->b, size->h);
    const struct mtlm_shape h = MTLM_SHAPE(size->h), none = {0};
    const struct mtlm_shape position = MTLM_SHAPE(size->s + 20, size->h);
    const union mtlm_attr attr = {.dropout = {.p = p,
                                              .seed = 0x123456789abcdef0,
                                              .layer = 7,
                                              .site = MTLM_SITE_MLP,
                                              .first_row = 11}};
    const struct mtlm_call calls[] = {
        {.kind = MTLM_OP_BIAS_DROPOUT_ADD_FWD, .shape = {x, h, x}},
        {.kind = MTLM_OP_BIAS_DROPOUT_ADD_BWD, .shape = {x, none, h}},
        {.kind = MTLM_OP_POSITION_DROPOUT_FWD, .shape = {x, position}},
        {.kind = MTLM_OP_POSITION_DROPOUT_BWD, .shape = {x, none, position}},
        {.kind = MTLM_OP_EMBEDDING_DROPOUT_FWD, .shape = {x}},
        {.kind = MTLM_OP_EMBEDDING_DROPOUT_BWD, .shape = {x}},
    };

    for (int i = 0; i < 6; i++) {
        struct twin twin = {.call = calls[i], .sample = 123456789012};

        twin.call.attr = attr;
        twin_compare(&twin);
    }
}

void test_dropout(void **state)
{
    (void) state;
    for (int i = 0; i < N_SIZES; i++) {
        compare_dropout(&sizes[i], 0.1);
        compare_dropout(&sizes[i], 0);
    }
    compare_dropout(&sizes[0], 1);
}

/* Operand 0: words 0 .. 9 often, of which this shard holds 3 .. 6 and more. */
static void some_words(const struct mtlm_call *call, void *const operand[])
{
    const int64_t n = mtlm_shape_elems(&call->shape[0]);
    int32_t *tokens = operand[0];
    int32_t *few = new_tokens(n, 10, 1), *many = new_tokens(n, 1000, 2);

    for (int64_t i = 0; i < n; i++)
        tokens[i] = i % 3 ? few[i] : many[i];
    free(few), free(many);
}

/* Operand 0: 0 and 1. */
static void two_types(const struct mtlm_call *call, void *const operand[])
{
    const int64_t n = mtlm_shape_elems(&call->shape[0]);
    int32_t *types = new_tokens(n, 2, 3);

    memcpy(operand[0], types, n * sizeof(*types));
    free(types);
}

void test_embeddings(void **state)
{
    (void) state;
    for (int i = 0; i < N_SIZES; i++) {
        const int64_t s = sizes[i].s, b = sizes[i].b, n = sizes[i].h;
        const struct mtlm_shape x = MTLM_SHAPE(s, b, n);
        const struct mtlm_shape tokens = MTLM_SHAPE(s, b);
        const struct mtlm_shape word = MTLM_SHAPE(500, n);
        const struct mtlm_shape type = MTLM_SHAPE(2, n);
        const union mtlm_attr third = {.vocabulary.first = 3};
        const struct twin twins[] = {
            {.call = {.kind = MTLM_OP_EMBEDDING_FWD,
                      .attr = third,
                      .shape = {tokens, word}},
             .fill = some_words},
            {.call = {.kind = MTLM_OP_EMBEDDING_WGRAD,
                      .attr = third,
                      .shape = {tokens, x, word}},
             .fill = some_words},
            {.call = {.kind = MTLM_OP_EMBEDDING_WGRAD,
                      .shape = {tokens, x, type}},
             .fill = two_types},
            {.call = {.kind = MTLM_OP_TOKEN_TYPE_FWD,
                      .shape = {tokens, type, x}},
             .fill = two_types},
        };

        for (int t = 0; t < 4; t++)
            twin_compare(&twins[t]);
    }
}

void test_pool_and_add(void **state)
{
    (void) state;
    for (int i = 0; i < N_SIZES; i++) {
        const struct mtlm_shape x =
            MTLM_SHAPE(sizes[i].s, sizes[i].b, sizes[i].h);
        const struct mtlm_shape row = MTLM_SHAPE(1, sizes[i].b, sizes[i].h);
        const struct mtlm_call calls[] = {
            {.kind = MTLM_OP_POOL_FWD, .shape = {x}},
            {.kind = MTLM_OP_POOL_BWD, .shape = {row, x}},
            {.kind = MTLM_OP_ADD, .shape = {x, x}},
            {.kind = MTLM_OP_ADD_CLEAR, .shape = {x, x}},
        };

        compare_all(calls, 4);
    }
}

/* Some samples end in the middle of the positions. */
static void fill_lengths(const struct mtlm_call *call, void *const ptr[])
{
    const int operand =
        call->kind == MTLM_OP_SCORES_FWD ? SC_LENGTHS : SCB_LENGTHS;
    const int64_t n = mtlm_shape_elems(&call->shape[operand]);
    int32_t *length = ptr[operand];

    for (int64_t i = 0; i < n; i++)
        length[i] = 1 + (int32_t) (7 * i % 50);
}

/* Of positions in the middle of a row, and of choices. */
void test_scores(void **state)
{
    const struct mtlm_shape x = MTLM_SHAPE(37, 12, 2);
    const struct mtlm_shape spans = MTLM_SHAPE(1, 12, 50);
    const struct mtlm_shape one = MTLM_SHAPE(1, 300, 1);
    const struct mtlm_shape choices = MTLM_SHAPE(1, 75, 4);
    const struct mtlm_shape few = MTLM_SHAPE(1, 12), many = MTLM_SHAPE(1, 300);
    const union mtlm_attr position = {
        .scores = {.first = 11, .column = 1, .choices = 1}};
    const union mtlm_attr choice = {.scores = {.choices = 4}};
    const struct mtlm_call calls[] = {
        {MTLM_OP_SCORES_FWD, .attr = position, .shape = {x, few, spans}},
        {MTLM_OP_SCORES_BWD, .attr = position, .shape = {few, spans, x}},
        {MTLM_OP_SCORES_FWD, .attr = choice, .shape = {one, many, choices}},
        {MTLM_OP_SCORES_BWD, .attr = choice, .shape = {many, choices, one}},
    };

    (void) state;
    for (int i = 0; i < 4; i++)
        twin_compare(&(struct twin){.call = calls[i], .fill = fill_lengths});
}

void test_fill_and_zero(void **state)
{
    const struct mtlm_shape x = MTLM_SHAPE(37, 301);
    const struct mtlm_call calls[] = {
        {.kind = MTLM_OP_FILL,
         .attr.fill = {.mean = 0.5,
                       .std = 0.02,
                       .seed = 1234,
                       .param = 5,
                       .full_cols = 1003,
                       .first_row = 17,
                       .first_col = 602},
         .shape = {x}},
        /* A piece of that shard. */
        {.kind = MTLM_OP_FILL,
         .attr.fill = {.std = 0.02,
                       .seed = 1234,
                       .param = 5,
                       .full_cols = 1003,
                       .first_row = 17,
                       .first_col = 602,
                       .first = 1000,
                       .cols = 301},
         .shape = {MTLM_SHAPE(4001)}},
        {.kind = MTLM_OP_FILL, .attr.fill = {.mean = 1}, .shape = {x}},
        {.kind = MTLM_OP_ZERO, .shape = {MTLM_SHAPE(37)}},
    };

    (void) state;
    compare_all(calls, 4);
}

#endif
