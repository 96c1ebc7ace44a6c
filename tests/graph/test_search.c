/* --schedule auto: the schedule that the search finds. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/predict/search.h"
#include "graph/schedule/schedule.h"
#include "tests/graph/small.h"

enum { PP = 8, LAYERS = 16 };

static struct mtlm_program_config found(int64_t microbatches)
{
    struct mtlm_program_config config = small_config(1, PP, microbatches);

    config.model.num_layers = LAYERS;
    config.schedule = mtlm_schedule_find("auto");
    mtlm_search_schedule(&config, 0, &(struct mtlm_stage_cost){0});
    return config;
}

/* Beyond 8192 tasks only the first microbatches are evaluated: enough of them
 * that the choice stays. */
static void test_many_microbatches_get_the_schedule_of_few(void **state)
{
    const struct mtlm_program_config few = found(8 * PP), many = found(8192);

    (void) state;
    assert_int_equal(few.layout.virtual_stages, 2);
    assert_int_equal(many.layout.virtual_stages, few.layout.virtual_stages);
    assert_int_equal(many.layout.placement, few.layout.placement);
    assert_true(many.window > 0 && many.act_mem > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_microbatches_get_the_schedule_of_few),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
