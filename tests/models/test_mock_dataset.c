/* Mock data: a pure function of the sample's number, and worth learning. */
#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "models/text/mock_dataset.h"
#include "tests/models/causal.h"

enum { S = 63 };

static void test_order_depends_on_nothing_but_the_number(void **state)
{
    struct mtlm_samples *a = mtlm_mock_dataset_create(257, S, 1);
    struct mtlm_samples *b = mtlm_mock_dataset_create(257, S, 1);

    (void) state;
    for (int64_t n = 300; n >= 0; n -= 3) {
        int32_t here[S + 1], there[S + 1];

        read_text(a, 300 - n, 0, S + 1, here);
        read_text(a, n, 0, S + 1, here);
        read_text(b, n, 10, S + 1 - 10, there + 10);
        read_text(b, n, 0, 10, there);
        assert_memory_equal(here, there, sizeof(here));
    }
    mtlm_samples_destroy(a);
    mtlm_samples_destroy(b);
}

static void test_tokens_are_spread_over_the_vocabulary(void **state)
{
    static const int64_t vocab[] = {1, 2, 255, 256, 257, 50257};

    (void) state;
    for (int i = 0; i < 6; i++) {
        struct mtlm_samples *samples = mtlm_mock_dataset_create(vocab[i], S, 1);
        int32_t largest = 0;

        for (int64_t n = 0; n < 500; n++) {
            int32_t tokens[S + 1];

            read_text(samples, n, 0, S + 1, tokens);
            for (int j = 0; j <= S; j++) {
                assert_in_range(tokens[j], 0, vocab[i] - 1);
                largest = largest > tokens[j] ? largest : tokens[j];
            }
        }
        assert_true(largest >= (vocab[i] - 1) * 9 / 10);
        mtlm_samples_destroy(samples);
    }
}

static void test_seeds_and_samples_differ(void **state)
{
    struct mtlm_samples *a = mtlm_mock_dataset_create(257, S, 1);
    struct mtlm_samples *b = mtlm_mock_dataset_create(257, S, 2);
    int32_t tokens[3][S + 1];

    (void) state;
    read_text(a, 0, 0, S + 1, tokens[0]);
    read_text(a, 1, 0, S + 1, tokens[1]);
    read_text(b, 0, 0, S + 1, tokens[2]);
    assert_memory_not_equal(tokens[0], tokens[1], sizeof(tokens[0]));
    assert_memory_not_equal(tokens[0], tokens[2], sizeof(tokens[0]));
    mtlm_samples_destroy(a);
    mtlm_samples_destroy(b);
}

/* H(last | the n - 1 before it) over all runs of n of V symbols. */
static double conditional(const int *count, int runs, int v)
{
    double sum = 0, all = 0;

    for (int context = 0; context < runs; context += v) {
        double n = 0;

        for (int i = 0; i < v; i++)
            n += count[context + i];
        for (int i = 0; i < v; i++)
            if (count[context + i])
                sum += count[context + i] * log(n / count[context + i]);
        all += n;
    }
    return sum / all;
}

/* Frequencies help, pairs help more, triples still more; nothing but the
 * chance in the chain remains. */
static void test_each_order_of_context_helps(void **state)
{
    enum { V = 16 };
    static int one[V], two[V * V], three[V * V * V];
    struct mtlm_samples *samples = mtlm_mock_dataset_create(V, S, 1);
    double h[3];

    (void) state;
    for (int64_t n = 0; n < 4000; n++) {
        int32_t t[S + 1];

        read_text(samples, n, 0, S + 1, t);
        for (int i = 2; i <= S; i++) {
            one[t[i]]++;
            two[t[i - 1] * V + t[i]]++;
            three[(t[i - 2] * V + t[i - 1]) * V + t[i]]++;
        }
    }
    h[0] = conditional(one, V, V);
    h[1] = conditional(two, V * V, V);
    h[2] = conditional(three, V * V * V, V);
    print_message("# entropy: uniform %.3f, order 0 %.3f, 1 %.3f, 2 %.3f\n",
                  log(V), h[0], h[1], h[2]);
    assert_true(h[0] < log(V) - 0.1);
    assert_true(h[1] < h[0] - 0.5);
    assert_true(h[2] < h[1] - 0.1);
    assert_true(h[2] > 0.5);
    mtlm_samples_destroy(samples);
}

enum { BERT_VOCAB = 261, CLS = 257, SEP, MASK, PAD };
static const struct mtlm_bert_recipe recipe = {.seq_length = S,
                                               .mask_prob = 0.15,
                                               .short_seq_prob = 0.1,
                                               .binary_head = true,
                                               .seed = 1};

/* The labels of a BERT sample are [CLS] A [SEP] B [SEP] [PAD] ..., and which
 * of A and B has the highest token in front tells their order. */
static void test_bert_samples_are_pairs_whose_order_shows(void **state)
{
    struct mtlm_samples *samples =
        mtlm_mock_dataset_create_bert(BERT_VOCAB, &recipe);
    int swapped = 0, masked = 0, padded = 0;

    (void) state;
    for (int64_t n = 0; n < 1000; n++) {
        int32_t label[S], token[S], mask[S], type[S], length, order, b = 0;

        mtlm_samples_read(samples, n, MTLM_FIELD_LABELS, 0, S, label);
        mtlm_samples_read(samples, n, MTLM_FIELD_TOKENS, 0, S, token);
        mtlm_samples_read(samples, n, MTLM_FIELD_LOSS_MASK, 0, S, mask);
        mtlm_samples_read(samples, n, MTLM_FIELD_TYPES, 0, S, type);
        mtlm_samples_read(samples, n, MTLM_FIELD_LENGTH, 0, 1, &length);
        mtlm_samples_read(samples, n, MTLM_FIELD_ORDER, 0, 1, &order);
        assert_int_equal(label[0], CLS);
        assert_int_equal(label[length - 1], SEP);
        for (int i = 0; i < S; i++) {
            assert_int_equal(label[i] == PAD, i >= length);
            if (!b && type[i]) {
                b = i;
                assert_int_equal(label[i - 1], SEP);
            }
            if (!mask[i])
                assert_int_equal(token[i], label[i]);
            masked += mask[i];
        }
        assert_int_equal(label[order ? b : 1], 0);
        assert_int_equal(label[order ? 1 : b], CLS - 1);
        swapped += order;
        padded += length < S;
    }
    assert_in_range(swapped, 420, 580);
    assert_in_range(padded, 50, 150);
    assert_in_range(masked, 1000 * 7, 1000 * 9);
    mtlm_samples_destroy(samples);
}

static void test_bert_samples_of_any_vocabulary(void **state)
{
    static const int64_t vocab[] = {MTLM_MOCK_BERT_VOCAB, 100, 30522};

    (void) state;
    for (int i = 0; i < 3; i++) {
        struct mtlm_samples *samples =
            mtlm_mock_dataset_create_bert(vocab[i], &recipe);
        int masks = 0;

        for (int64_t n = 0; n < 300; n++) {
            int32_t token[S], part[S];

            mtlm_samples_read(samples, n, MTLM_FIELD_TOKENS, 0, S, token);
            mtlm_samples_read(samples, n, MTLM_FIELD_TOKENS, 5, S - 5, part);
            assert_memory_equal(part, token + 5, (S - 5) * sizeof(*part));
            for (int j = 0; j < S; j++) {
                assert_in_range(token[j], 0, vocab[i] - 1);
                masks += token[j] == vocab[i] - 2;
            }
        }
        assert_true(masks > 300);
        mtlm_samples_destroy(samples);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_depends_on_nothing_but_the_number),
        cmocka_unit_test(test_tokens_are_spread_over_the_vocabulary),
        cmocka_unit_test(test_seeds_and_samples_differ),
        cmocka_unit_test(test_each_order_of_context_helps),
        cmocka_unit_test(test_bert_samples_are_pairs_whose_order_shows),
        cmocka_unit_test(test_bert_samples_of_any_vocabulary),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
