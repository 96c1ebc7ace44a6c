/* --seeds: its list, and the options of each run. */

#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "launch/options/option_table.h"
#include "launch/options/options_prefer.h"
#include "launch/options/options_seeds.h"
#include "runtime/base/memory.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static bool is_listed(const struct mtlm_options *o, int64_t seed)
{
    for (int i = 0; i < o->n_seeds; i++)
        if (o->seed_of_run[i] == seed)
            return true;
    return false;
}

/* Reads the seed at `at`; NULL: there is none.  Returns the text behind it. */
static const char *read_seed(const char *at, int64_t *seed)
{
    const struct mtlm_option *option = &mtlm_option_table[MTLM_OPT_SEED];
    char *end;

    at += strspn(at, " ");
    if (!isdigit((unsigned char) *at))
        return NULL;
    errno = 0;
    *seed = strtoll(at, &end, 10);
    return errno || (double) *seed > option->max ? NULL
                                                 : end + strspn(end, " ");
}

static int read_list(struct mtlm_options *o, struct mtlm_error *err)
{
    const char *at = o->seeds;
    int64_t seed;

    o->seed_of_run = mtlm_calloc(strlen(at) + 1, sizeof(*o->seed_of_run));
    while ((at = read_seed(at, &seed))) {
        if (is_listed(o, seed))
            return mtlm_error_set(err, MTLM_EXIT_USAGE,
                                  "--seeds has %" PRId64 " twice", seed);
        o->seed_of_run[o->n_seeds++] = seed;
        if (!*at)
            return 0;
        if (*at++ != ',')
            break;
    }
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "--seeds is '%.56s', it must be a list of seeds, "
                          "such as 1,2,3,4,5",
                          o->seeds);
}

/* Whether an option for one run is given.  --seeds replaces a seed of a file,
 * and a file may say "eval-only = no". */
static bool is_wanted(const struct mtlm_options *o, enum mtlm_option_id option)
{
    switch (option) {
    case MTLM_OPT_SEED:
        return mtlm_options_source(o, option) == MTLM_SOURCE_COMMAND_LINE;
    case MTLM_OPT_EVAL_ONLY:
        return o->eval_only;
    default:
        return mtlm_options_given(o, option);
    }
}

static int check_given(const struct mtlm_options *o, struct mtlm_error *err)
{
    static const enum mtlm_option_id of_one_run[] = {
        MTLM_OPT_SEED,        MTLM_OPT_EVAL_ONLY,       MTLM_OPT_PREDICTIONS,
        MTLM_OPT_TRACE,       MTLM_OPT_DUMP_FIRST_STEP, MTLM_OPT_METRICS,
        MTLM_OPT_DUMP_LOGITS, MTLM_OPT_TENSORBOARD_DIR};
    const struct mtlm_task_entry *task =
        o->task_name ? mtlm_task_find(o->task_name) : NULL;

    if (!task || !task->open)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--seeds is for --task mnli, qqp, race or squad");
    if (o->load_dir)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--seeds continues each seed in its directory of "
                              "--save; leave out --load");
    for (size_t i = 0; i < LENGTH(of_one_run); i++)
        if (is_wanted(o, of_one_run[i]))
            return mtlm_error_set(err, MTLM_EXIT_USAGE,
                                  "--%s is for one run, and --seeds starts "
                                  "several",
                                  mtlm_option_name(of_one_run[i]));
    return 0;
}

int mtlm_options_seeds_read(struct mtlm_options *options,
                            struct mtlm_error *err)
{
    if (!options->seeds)
        return 0;
    return check_given(options, err) < 0 ? -1 : read_list(options, err);
}

void mtlm_options_seeds_choose(struct mtlm_options *options, int64_t seed)
{
    char *dir;

    mtlm_options_forget(options, MTLM_OPT_SEEDS);
    options->seed = seed;
    options->source[MTLM_OPT_SEED] = MTLM_SOURCE_COMMAND_LINE;
    if (!options->save_dir)
        return;
    dir = mtlm_sprintf("%s/seed-%" PRId64, options->save_dir, seed);
    free(options->save_dir);
    options->save_dir = dir;
    options->load_dir = mtlm_strdup(dir);
    options->source[MTLM_OPT_LOAD] = MTLM_SOURCE_COMMAND_LINE;
}
