#ifndef MTLM_TESTS_CHOICE_FOR_H
#define MTLM_TESTS_CHOICE_FOR_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "launch/plan/layout_choice.h"
#include "tests/launch/parse.h"

#define GIB (1024.0 * 1024 * 1024)

/* The choice for what was parsed last, on ranks of which per_host share gib
 * GiB.  Fails the test if there is none. */
static inline struct mtlm_choice choice_for(int ranks, int per_host, double gib)
{
    const struct mtlm_hosts hosts = {
        .ranks = ranks, .per_host = per_host, .available = gib * GIB};
    const struct mtlm_wish wish = mtlm_layout_choice_wish(&options, 1);
    struct mtlm_choice choice;

    if (mtlm_layout_choice_make(&options, &wish, &hosts, &choice, NULL, &error)
        < 0)
        fail_msg("%s", error.text);
    return choice;
}

#endif /* MTLM_TESTS_CHOICE_FOR_H */
