/* What is refused of names and values, in which words. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "launch/options/suggest.h"
#include "tests/launch/parse.h"

static void test_every_value_out_of_range_is_refused(void **state)
{
    static const char *const bad[] = {
        "0",    "-1",  "2147483648", "4294967296", "9223372036854775808",
        "1e30", "nan", "inf",        "12abc",      "",
        "0x10", " 12", "1.5",        "--",         "18446744073709551617",
    };

    (void) state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char program[] = "mtlm-dag", flag[] = "--num-layers";
        char *value = strdup(bad[i]), want[128];
        char *argv[] = {program, flag, value, NULL};

        mtlm_options_free(&options);
        snprintf(want, sizeof(want),
                 "--num-layers is '%s', it must be a whole number from 1 to "
                 "32768",
                 bad[i]);
        assert_int_equal(mtlm_options_parse(&options, 3, argv, &error), -1);
        assert_string_equal(error.text, want);
        free(value);
    }
}

static int set(int option, double value)
{
    char text[64];

    snprintf(text, sizeof(text), "%.17g", value);
    return mtlm_option_value_set(&options, option, text,
                                 MTLM_SOURCE_COMMAND_LINE, "x", &error);
}

static void test_the_limits_of_the_table_hold(void **state)
{
    (void) state;
    mtlm_options_free(&options);
    for (int i = 0; i < MTLM_OPTION_COUNT; i++) {
        const struct mtlm_option *o = &mtlm_option_table[i];
        const double step = o->type == MTLM_OPTION_INT ? 1
                            : o->min > 0               ? o->min / 2
                                                       : 1e-9;

        if (o->type != MTLM_OPTION_INT && o->type != MTLM_OPTION_REAL)
            continue;
        assert_int_equal(set(i, o->min), 0);
        assert_int_equal(set(i, o->max), 0);
        assert_int_equal(set(i, o->min - step), -1);
        assert_int_equal(set(i, o->max * 1.001 + 1), -1);
    }
}

static void test_values_of_other_types_are_refused(void **state)
{
    (void) state;
    refuses("--model gpt-tiny --lr nan",
            "--lr is 'nan', it must be a number from 0 to 1000");
    refuses("--model gpt-tiny --hidden-dropout 1.1",
            "--hidden-dropout is '1.1', it must be a number from 0 to 1");
    refuses("--model gpt-tiny --lr-decay-style cosin",
            "--lr-decay-style is 'cosin', it must be one of "
            "constant/linear/cosine/inverse-square-root/WSD");
    refuses("--model gpt-tiny --split 0,0",
            "--split is '0,0', it must be one to three shares, not all of "
            "them 0, such as 969, 30, 1");
    refuses("--model gpt-tiny --trace-iterations 5:3",
            "--trace-iterations is '5:3', it must be A:B with A up to B, both "
            "from 1 to 1000000000");
    refuses("--model gpt-tiny --data-path ''",
            "--data-path is '', it must be a text that is not empty");
    refuses("--model gpt-tiny --data-path a\tb",
            "--data-path is 'a?b', it must be at most 1048576 printable "
            "characters, without ' ;', without ';' at its start and without "
            "spaces at its ends");
    refuses("--model gpt-tiny --save ;b",
            "--save is ';b', it must be at most 4095 printable characters, "
            "without ' ;', without ';' at its start and without spaces at its "
            "ends");
    accepts("--model gpt-tiny --save b;");
}

static void test_epilogues_are_a_list(void **state)
{
    static const char *const bad[] = {"on",
                                      "gelu",
                                      "gelu:",
                                      "gelu:on,",
                                      "gelu:on,,gelu:off",
                                      "bias:on",
                                      "gelu:on bias-gradient:on"};

    (void) state;
    accepts("--model gpt-tiny");
    assert_int_equal(options.epilogues.gelu, MTLM_EPILOGUE_AUTO);
    accepts("--model gpt-tiny --epilogues gelu:on,gelu-gradient:off");
    assert_int_equal(options.epilogues.gelu, MTLM_EPILOGUE_ON);
    assert_int_equal(options.epilogues.gelu_gradient, MTLM_EPILOGUE_OFF);
    assert_int_equal(options.epilogues.bias_gradient, MTLM_EPILOGUE_AUTO);
    accepts("--model gpt-tiny --epilogues gelu:on --epilogues auto");
    assert_int_equal(options.epilogues.gelu, MTLM_EPILOGUE_AUTO);
    mtlm_options_free(&options);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(mtlm_option_value_set(&options, MTLM_OPT_EPILOGUES,
                                               bad[i], MTLM_SOURCE_COMMAND_LINE,
                                               "x", &error),
                         -1);
}

static void test_unknown_names_are_answered_with_the_nearest(void **state)
{
    (void) state;
    refuses("--hiden-size 4",
            "unknown option --hiden-size; did you mean --hidden-size?");
    refuses("--layers 4",
            "unknown option --layers; did you mean --num-layers?");
    refuses("-num-layers 4",
            "unknown option -num-layers; did you mean --num-layers?");
    refuses("--xyzzy",
            "unknown option --xyzzy; mtlm-dag --help lists all options");
    refuses("--model gpt-tny", "unknown model 'gpt-tny'; did you mean "
                               "gpt-tiny?");
    refuses("--model zzz",
            "unknown model 'zzz'; mtlm-dag --list-models prints the names");
}

/* Insertions, deletions, replacements and swaps of neighbours, straight from
 * their definition. */
static int edits(const char *a, int na, const char *b, int nb)
{
    int least = na + nb, other;

    if (na == 0 || nb == 0)
        return least;
    if (a[na - 1] == b[nb - 1])
        return edits(a, na - 1, b, nb - 1);
    for (int how = 1; how < 4; how++) {
        other = edits(a, na - (how & 1), b, nb - (how >> 1)) + 1;
        least = other < least ? other : least;
    }
    if (na > 1 && nb > 1 && a[na - 1] == b[nb - 2] && a[na - 2] == b[nb - 1]) {
        other = edits(a, na - 2, b, nb - 2) + 1;
        least = other < least ? other : least;
    }
    return least;
}

static void test_near_is_what_few_edits_make(void **state)
{
    uint32_t draw = 1;
    int near = 0;

    (void) state;
    for (int i = 0; i < 3000; i++) {
        char text[2][8] = {"", ""};
        struct mtlm_suggest nearest = {.name = text[0]};
        int n[2], most;

        for (int k = 0; k < 2; k++) {
            n[k] = (int) ((draw = draw * 1664525 + 1013904223) >> 24) % 8;
            for (int c = 0; c < n[k]; c++)
                text[k][c] =
                    "abc"[((draw = draw * 1664525 + 1013904223) >> 24) % 3];
        }
        most = (n[0] + 2) / 3; /* a typing error in three letters */
        mtlm_suggest_offer(&nearest, text[1]);
        if (n[0] >= 4 && strstr(text[1], text[0]))
            continue;
        if (edits(text[0], n[0], text[1], n[1]) > most) {
            assert_null(nearest.best);
            continue;
        }
        assert_ptr_equal(nearest.best, text[1]);
        assert_int_equal(nearest.distance, edits(text[0], n[0], text[1], n[1]));
        near++;
    }
    assert_in_range(near, 200, 2800);
}

static void test_malformed_lines_are_refused(void **state)
{
    (void) state;
    refuses("--model gpt-tiny --num-layers",
            "--num-layers needs a value: --num-layers N");
    refuses("--mock-data=yes", "--mock-data takes no value");
    refuses("--adam 1", "--adam can stand for 3 options; write more letters: "
                        "--adam-beta1, --adam-beta2, --adam-eps");
    refuses("--num-layer 2",
            "--num-layer can stand for 2 options; write more letters: "
            "--num-layers, --num-layers-per-virtual-pipeline-stage");
    refuses("--model gpt-tiny foo", "unexpected argument 'foo'; the name of "
                                    "an option begins with --");
    refuses("", "--num-layers is missing; give it, or start from a preset "
                "such as --model gpt-tiny");
    accepts("--model=gpt-tiny --num-a 2"); /* as getopt does */
    assert_int_equal(options.model.num_heads, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_value_out_of_range_is_refused),
        cmocka_unit_test(test_the_limits_of_the_table_hold),
        cmocka_unit_test(test_values_of_other_types_are_refused),
        cmocka_unit_test(test_epilogues_are_a_list),
        cmocka_unit_test(test_unknown_names_are_answered_with_the_nearest),
        cmocka_unit_test(test_near_is_what_few_edits_make),
        cmocka_unit_test(test_malformed_lines_are_refused),
    };

    return cmocka_run_group_tests(tests, parse_setup, parse_teardown);
}
