/* Where sentences end, and where they only look like it. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "models/text/sentences.h"

/* text with a | after each sentence but the last. */
static const char *split(const char *text)
{
    static char out[1000];
    /* Memory of its own, so that a read beyond the end is seen. */
    const int64_t n = strlen(text);
    char *copy = malloc(n ? n : 1), *to = out;

    assert_non_null(copy);
    memcpy(copy, text, n);
    for (int64_t at = 0; at < n;) {
        const int64_t some = mtlm_sentences_length(copy + at, n - at);

        assert_in_range(some, 1, n - at);
        memcpy(to, copy + at, some);
        to += some;
        at += some;
        if (at < n)
            *to++ = '|';
    }
    *to = '\0';
    free(copy);
    return out;
}

/* Every | of want, and no other place, ends a sentence. */
static void splits(const char *want)
{
    char text[1000], *to = text;

    for (const char *c = want; *c; c++)
        if (*c != '|')
            *to++ = *c;
    *to = '\0';
    assert_string_equal(split(text), want);
}

static void test_stops_end_sentences(void **state)
{
    (void) state;
    splits("");
    splits("No stop at all");
    splits("One. |Two? |Three! |Four.");
    splits("One.  |Two.\n|Three.");
    splits("He stopped... |Then he went.");
    splits("What?! |Yes.");
    splits("In 1936. |42 people came.");
    splits("\xc3\x89tat. |\xc3\x80 la carte.");
    splits("  Blanks before. |Blanks after.  ");
}

static void test_what_goes_on_is_one_sentence(void **state)
{
    (void) state;
    splits("He stopped... and went.");
    splits("\"Why?\" she asked.");
    splits("It is 3.14 or .5 of perl.org or file.txt");
    splits("1.2.3 is no date. |It is a version.");
    splits("She (who? nobody knows) left.");
    splits("caf\xc3\xa9. \xc3\xa9tat");
}

static void test_quotes_and_brackets_belong_to_their_sentence(void **state)
{
    (void) state;
    splits("\"One.\" |\"Two,\" he said. |(Three.) |[Four.] |Five.");
    splits("He said 'no.' |'Yes,' she said.");
    splits("\u201cOne.\u201d |\u201cTwo.\u201d |\u2018Three.\u2019 |Four.");
    splits("It is so (see below). |(Really.) |*Bold.* |_Italic._ |`Code` it.");
}

static void test_abbreviations_end_nothing(void **state)
{
    (void) state;
    splits("Mr. Smith met Dr. No and St. Peter vs. Paul. |They left.");
    splits("Cf. Proudhon, cf. Bakunin.");
    splits("See p. 7, pp. 8-9, vol. 2, no. 3 and Fig. 4. |Then stop.");
    splits("On Jan. 5 and (Kropotkin et al. 1902) it began.");
    splits("So no. |No. |Then Dec. |In came all.");
    splits("e.g. Spain, i.e. Catalonia, at 5 p.m. Friday");
    splits("The U.S. Army left. |It went home.");
}

static void test_initials_end_nothing_but_i_does(void **state)
{
    (void) state;
    splits("J. R. R. Smith and J.B. Jones wrote it. |We read it.");
    splits("So am I. |You are, too.");
    splits("I. The first chapter");
    splits("It's Bob's. |Ours is better.");
    splits("O'B. Smith");
}

static void test_the_number_of_an_item_stays_with_it(void **state)
{
    (void) state;
    splits("1. First of all. |2. Next. |B. An item.");
    splits("(12. Twelve.) |There were 12. |Then none.");
}

static void test_paragraphs_end_sentences(void **state)
{
    (void) state;
    splits("A title\n\n|Text goes\non here. |And here\n \t\n|again");
    splits("one\r\n\r\n|two\r\nthree");
    splits("page\f|page");
    splits("mr.\n\n|smith");
    splits("\n\nnothing before");
    splits("nothing after.\n\n\n");
}

/* Whatever the bytes are, the pieces are the text. */
static void test_any_bytes_can_be_split(void **state)
{
    static const char alphabet[] = ". .?!\n\fAaI1\"(\xc3\x80\xe2\x80\x9d";

    (void) state;
    srandom(1);
    for (int i = 0; i < 20000; i++) {
        char text[32], joined[64], *to = joined;
        const int n = random() % 31;
        const char *c;

        for (int j = 0; j < n; j++)
            text[j] = alphabet[random() % (sizeof(alphabet) - 1)];
        text[n] = '\0';
        for (c = split(text); *c; c++)
            if (*c != '|')
                *to++ = *c;
        *to = '\0';
        assert_string_equal(joined, text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stops_end_sentences),
        cmocka_unit_test(test_what_goes_on_is_one_sentence),
        cmocka_unit_test(test_quotes_and_brackets_belong_to_their_sentence),
        cmocka_unit_test(test_abbreviations_end_nothing),
        cmocka_unit_test(test_initials_end_nothing_but_i_does),
        cmocka_unit_test(test_the_number_of_an_item_stays_with_it),
        cmocka_unit_test(test_paragraphs_end_sentences),
        cmocka_unit_test(test_any_bytes_can_be_split),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
