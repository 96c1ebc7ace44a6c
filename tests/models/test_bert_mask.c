/* What BERT has to predict: how much, which words, and what it is shown. */
#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "models/text/bert_mask.h"
#include "models/text/byte_tokenizer.h"

enum { CLS = 1000, SEP, MASK, PAD, ORDINARY = 1000 };

/* Even tokens go on with the word. */
static bool even(const struct mtlm_bert_vocab *vocab, int32_t before,
                 int32_t token)
{
    (void) vocab, (void) before;
    return token % 2 == 0;
}

static bool never(const struct mtlm_bert_vocab *vocab, int32_t before,
                  int32_t token)
{
    (void) vocab, (void) before, (void) token;
    return false;
}

static struct mtlm_bert_vocab vocab(
    bool (*continues)(const struct mtlm_bert_vocab *, int32_t, int32_t))
{
    return (struct mtlm_bert_vocab){.cls = CLS,
                                    .sep = SEP,
                                    .mask = MASK,
                                    .pad = PAD,
                                    .ordinary = ORDINARY,
                                    .continues = continues};
}

enum { LONGEST = 2000 };
struct masked {
    int64_t n, chosen;
    int32_t before[LONGEST], tokens[LONGEST], mask[LONGEST];
};

/* before becomes masked, sample telling the random numbers. */
static void mask(struct masked *m, const struct mtlm_bert_vocab *v, double p,
                 int64_t target, uint64_t sample)
{
    static int32_t room[3 * LONGEST];
    struct mtlm_draw draw = mtlm_draw_start(7, sample);

    memcpy(m->tokens, m->before, sizeof(m->tokens));
    memset(m->mask, 0, sizeof(m->mask));
    m->chosen =
        mtlm_bert_mask(v, p, target, &draw, m->n, m->tokens, m->mask, room);
}

/* [CLS] n - 3 random tokens, with a [SEP] in the middle and at the end. */
static void set_text(struct masked *m, int64_t n)
{
    struct mtlm_draw draw = mtlm_draw_start(1, n);

    m->n = n;
    for (int64_t i = 0; i < n; i++)
        m->before[i] = mtlm_draw_below(&draw, ORDINARY);
    m->before[0] = CLS;
    m->before[n / 2] = m->before[n - 1] = SEP;
}

static void assert_share(int64_t hits, int64_t all, double p)
{
    const double sigma = sqrt(all * p * (1 - p));

    if (fabs(hits - all * p) > 5 * sigma)
        fail_msg("%ld of %ld, expected %g of them", (long) hits, (long) all, p);
}

static void test_tokens_are_masked_kept_or_random(void **state)
{
    const struct mtlm_bert_vocab v = vocab(even);
    static struct masked m;
    int64_t all = 0, masks = 0, kept = 0, random = 0, low = 0;

    (void) state;
    set_text(&m, 128);
    for (uint64_t sample = 0; sample < 20000; sample++) {
        mask(&m, &v, 0.15, 125, sample);
        for (int i = 0; i < m.n; i++) {
            if (!m.mask[i]) {
                assert_int_equal(m.tokens[i], m.before[i]);
                continue;
            }
            all++;
            masks += m.tokens[i] == MASK;
            kept += m.tokens[i] == m.before[i];
            if (m.tokens[i] != MASK && m.tokens[i] != m.before[i]) {
                assert_in_range(m.tokens[i], 0, ORDINARY - 1);
                random++;
                low += m.tokens[i] < ORDINARY / 4;
            }
        }
    }
    /* A random token is the old one by chance, once in a thousand. */
    assert_share(masks, all, 0.8);
    assert_share(kept, all, 0.1 + 0.1 / ORDINARY);
    assert_share(random, all, 0.1 - 0.1 / ORDINARY);
    assert_share(low, random, 0.25);
}

static void test_the_budget_is_kept(void **state)
{
    static const struct {
        int64_t n, target;
        double p;
        int64_t budget;
    } cases[] = {
        {128, 125, 0.15, 18}, /* of the target length, 18.75 */
        {60, 125, 0.15, 9},   /* of the length, 9 */
        {64, 125, 0.15, 10},  /* 9.6 */
        {7, 125, 0.15, 1},    {5, 125, 0.05, 1}, /* at least one ... */
        {5, 6, 0.15, 1}, /* ... of a short target, too */
        {128, 125, 0, 0},     {128, 125, 0.5, 62},
    };
    const struct mtlm_bert_vocab single = vocab(never), v = vocab(even);
    static struct masked m;

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t most = 0;

        set_text(&m, cases[i].n);
        for (uint64_t sample = 0; sample < 200; sample++) {
            int64_t sum = 0;

            mask(&m, &v, cases[i].p, cases[i].target, sample);
            for (int j = 0; j < m.n; j++)
                sum += m.mask[j];
            assert_int_equal(sum, m.chosen);
            assert_in_range(sum, cases[i].budget > 0, cases[i].budget);
            most = sum > most ? sum : most;
            /* Words of one token always fit. */
            mask(&m, &single, cases[i].p, cases[i].target, sample);
            assert_int_equal(m.chosen, cases[i].budget);
        }
        assert_int_equal(most, cases[i].budget);
    }
}

static void test_words_are_chosen_whole_and_special_tokens_never(void **state)
{
    const struct mtlm_bert_vocab v = vocab(even);
    static struct masked m;
    int begins_after_sep = 0;

    (void) state;
    set_text(&m, 100);
    m.before[51] = 2; /* goes on with nothing: [SEP] is before it */
    for (uint64_t sample = 0; sample < 5000; sample++) {
        mask(&m, &v, 0.3, 97, sample);
        for (int i = 0; i < m.n; i++) {
            if (m.before[i] >= CLS)
                assert_false(m.mask[i]);
            else if (m.before[i] % 2 == 0 && m.before[i - 1] < CLS)
                assert_int_equal(m.mask[i], m.mask[i - 1]);
        }
        begins_after_sep += m.mask[51] && !m.mask[49];
    }
    assert_true(begins_after_sep > 100);
}

/* Every word is chosen about as often as every other, but at the ends of the
 * text, which fewer n-grams reach. */
static void test_no_word_is_preferred(void **state)
{
    const struct mtlm_bert_vocab v = vocab(never);
    static struct masked m;
    int64_t count[103] = {0}, sum = 0;

    (void) state;
    set_text(&m, 103);
    for (uint64_t sample = 0; sample < 20000; sample++) {
        mask(&m, &v, 0.15, 100, sample);
        for (int i = 0; i < m.n; i++)
            count[i] += m.mask[i];
    }
    for (int i = 10; i < 90; i++)
        sum += count[i];
    for (int i = 10; i < 90; i++)
        if (i != 51)
            assert_true(fabs(count[i] * 79. / sum - 1) < 0.1);
}

/* Lengths of the runs of chosen words, up to 8. */
enum { RUNS = 9 };
static void count_runs(const int32_t *chosen, int64_t n, int64_t count[RUNS])
{
    int run = 0;

    for (int64_t i = 0; i < n; i++) {
        if (chosen[i]) {
            run++;
        } else if (run) {
            count[run < RUNS ? run : RUNS - 1]++;
            run = 0;
        }
    }
}

/* Where few are chosen, n-grams hardly meet. */
static void test_ngrams_have_lengths_by_the_inverse_of_their_length(
    void **state)
{
    const struct mtlm_bert_vocab v = vocab(never);
    static struct masked m;
    int64_t count[RUNS] = {0}, all;

    (void) state;
    set_text(&m, LONGEST);
    for (uint64_t sample = 0; sample < 3000; sample++) {
        mask(&m, &v, 0.005, LONGEST, sample);
        count_runs(m.mask, m.n, count);
    }
    all = count[1] + count[2] + count[3];
    assert_true(all > 15000);
    /* The last of ten tokens shortens what would go beyond them: the share of
     * the long ones is a little smaller. */
    assert_true(fabs((double) count[1] / all - 6. / 11) < 0.07);
    assert_true(fabs((double) count[2] / all - 3. / 11) < 0.03);
    assert_true(fabs((double) count[3] / all - 2. / 11) < 0.06);
}

/* The rule once more, from its description, with other random numbers: on
 * words of one token, lists of candidates in shuffled order. */
static void choose_plainly(int64_t words, int64_t budget, int32_t *chosen)
{
    int64_t *order = calloc(words, sizeof(*order)), left = budget;

    memset(chosen, 0, words * sizeof(*chosen));
    for (int64_t i = 0; i < words; i++) {
        const int64_t j = random() % (i + 1);

        order[i] = order[j];
        order[j] = i;
    }
    for (int64_t i = 0; i < words; i++) {
        const double u = random() / 2147483648. * (1 + 1. / 2 + 1. / 3);
        int64_t n = u < 1 ? 1 : u < 1.5 ? 2 : 3;
        bool free = true;

        n = order[i] + n > words ? words - order[i] : n;
        n = n > left ? left : n;
        for (int64_t k = 0; k < n; k++)
            free &= !chosen[order[i] + k];
        for (int64_t k = 0; k < n && free; k++)
            chosen[order[i] + k] = 1;
        left -= free ? n : 0;
    }
    free(order);
}

static void test_ngrams_are_left_out_where_they_meet_or_go_beyond(void **state)
{
    enum { SAMPLES = 20000, WORDS = 100 };
    const struct mtlm_bert_vocab v = vocab(never);
    static struct masked m;
    int64_t ours[RUNS] = {0}, plain[RUNS] = {0};
    int32_t chosen[WORDS + 1] = {0};

    (void) state;
    set_text(&m, WORDS + 2);
    m.before[(WORDS + 2) / 2] = 1; /* one segment */
    srandom(1);
    for (uint64_t sample = 0; sample < SAMPLES; sample++) {
        mask(&m, &v, 0.15, WORDS, sample);
        count_runs(m.mask, m.n, ours);
        choose_plainly(WORDS, 15, chosen);
        count_runs(chosen, WORDS + 1, plain);
    }
    for (int run = 1; run < RUNS; run++) {
        const double sigma = sqrt(ours[run] + plain[run] + 1);

        print_message("# runs of %d words: %ld, %ld\n", run, (long) ours[run],
                      (long) plain[run]);
        assert_true(fabs((double) ours[run] - plain[run]) < 5 * sigma);
    }
}

/* One word of 30 tokens and ten of one, with a budget of 6. */
static void test_words_beyond_the_budget_are_left_out(void **state)
{
    const struct mtlm_bert_vocab v = vocab(even);
    static struct masked m = {.n = 42};

    (void) state;
    m.before[0] = CLS;
    m.before[41] = SEP;
    for (int i = 1; i < 41; i++)
        m.before[i] = i <= 10 || i == 11 ? 1 : 2;
    for (uint64_t sample = 0; sample < 1000; sample++) {
        mask(&m, &v, 0.15, 125, sample);
        for (int i = 11; i < 41; i++)
            assert_false(m.mask[i]);
        assert_int_equal(m.chosen, 6);
    }
}

/* Words of 30, 8 and 9 tokens, and a budget of less. */
static void test_a_part_of_the_shortest_word_where_no_word_fits(void **state)
{
    static const struct {
        double p;
        int64_t target, budget;
    } cases[] = {{0.14, 125, 7}, {0.01, 125, 1}, {0.14, 6, 1}};
    const struct mtlm_bert_vocab v = vocab(even);
    static struct masked m = {.n = 50};

    (void) state;
    for (int i = 1; i < 49; i++)
        m.before[i] = i == 1 || i == 31 || i == 39 ? 1 : 2;
    m.before[0] = CLS;
    m.before[48] = m.before[49] = SEP;
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++)
        for (uint64_t sample = 0; sample < 100; sample++) {
            mask(&m, &v, cases[c].p, cases[c].target, sample);
            assert_int_equal(m.chosen, cases[c].budget);
            for (int i = 0; i < m.n; i++)
                assert_int_equal(m.mask[i],
                                 i >= 31 && i < 31 + cases[c].budget);
        }
}

/* Of equally short words each is as likely. */
static void test_each_shortest_word_is_as_likely(void **state)
{
    enum { SAMPLES = 9000 };
    const struct mtlm_bert_vocab v = vocab(even);
    static struct masked m = {.n = 11,
                              .before = {CLS, 1, 2, 2, 1, 2, 1, 2, 1, 2, SEP}};
    int64_t count[4] = {0};

    (void) state;
    for (uint64_t sample = 0; sample < SAMPLES; sample++) {
        mask(&m, &v, 0.1, 125, sample);
        assert_int_equal(m.chosen, 1);
        for (int i = 0; i < 4; i++)
            count[i] += m.mask[i ? 2 * i + 2 : 1];
    }
    assert_int_equal(count[0], 0);
    for (int i = 1; i < 4; i++)
        assert_share(count[i], SAMPLES, 1. / 3);
}

static void test_nothing_to_choose_from(void **state)
{
    const struct mtlm_bert_vocab v = vocab(even);
    static struct masked m = {.n = 3, .before = {CLS, SEP, SEP}};

    (void) state;
    mask(&m, &v, 0.9, 125, 1);
    assert_int_equal(m.chosen, 0);
}

/* The words of a text as "a| b|." */
static void split_bytes(const char *text, char *out)
{
    const struct mtlm_bert_vocab *v = &mtlm_bert_vocab_byte;

    for (int i = 0; text[i]; i++) {
        if (i > 0
            && !v->continues(v, (unsigned char) text[i - 1],
                             (unsigned char) text[i]))
            *out++ = '|';
        *out++ = text[i];
    }
    *out = '\0';
}

static void test_words_of_bytes(void **state)
{
    static const char *const cases[][2] = {
        {"The cat, 42 x.", "The| cat|,| 42| x|."},
        {"don't stop--now", "don|'|t| stop|-|-|now"},
        {"a  b\nc", "a| | b|\n|c"},
        {"caf\xc3\xa9 \xe2\x82\xac"
         "5",
         "caf\xc3\xa9| \xe2\x82\xac"
         "5"},
        {" (x_y)", " |(|x|_|y|)"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char out[100];

        split_bytes(cases[i][0], out);
        assert_string_equal(out, cases[i][1]);
    }
    assert_false(mtlm_bert_vocab_byte.continues(&mtlm_bert_vocab_byte,
                                                MTLM_BYTE_EOD, 'a'));
    assert_false(mtlm_bert_vocab_byte.continues(&mtlm_bert_vocab_byte, 'a',
                                                MTLM_BYTE_EOD));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens_are_masked_kept_or_random),
        cmocka_unit_test(test_the_budget_is_kept),
        cmocka_unit_test(test_words_are_chosen_whole_and_special_tokens_never),
        cmocka_unit_test(test_no_word_is_preferred),
        cmocka_unit_test(
            test_ngrams_have_lengths_by_the_inverse_of_their_length),
        cmocka_unit_test(test_ngrams_are_left_out_where_they_meet_or_go_beyond),
        cmocka_unit_test(test_words_beyond_the_budget_are_left_out),
        cmocka_unit_test(test_a_part_of_the_shortest_word_where_no_word_fits),
        cmocka_unit_test(test_each_shortest_word_is_as_likely),
        cmocka_unit_test(test_nothing_to_choose_from),
        cmocka_unit_test(test_words_of_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
