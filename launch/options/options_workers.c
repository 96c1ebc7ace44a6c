/* Counts the compute workers of a rank on CPUs. */

#include "config.h"

#include "launch/options/options_note.h"
#include "launch/options/options_workers.h"
#include "runtime/machine/machine.h"

/* Sets *workers to the number that is asked for, and returns the name of the
 * option or variable that holds the number; NULL: none does. */
static const char *asked_by(const struct mtlm_options *options, int *workers)
{
    *workers = options->workers;
    return *workers > 0 ? "--workers" : mtlm_machine_wanted_workers(workers);
}

static bool has_messages(const struct mtlm_options *options)
{
    return options->comm_node == MTLM_COMM_TASK;
}

int mtlm_options_workers_check(const struct mtlm_options *options,
                               struct mtlm_error *err)
{
    const bool messages = has_messages(options);
    const int most = mtlm_machine_most_workers(messages);
    int workers;
    const char *name = asked_by(options, &workers);

    if (!name || workers <= most)
        return 0;
    return mtlm_error_set(
        err, MTLM_EXIT_USAGE, "%s=%d: this StarPU has %d workers for a rank%s",
        name, workers, most,
        messages ? ", beside the one of --comm-node task" : "");
}

int mtlm_options_workers(struct mtlm_options *options, int cores)
{
    const int most = mtlm_machine_most_workers(has_messages(options));
    int workers;

    if (asked_by(options, &workers))
        return workers;
    if (cores <= most)
        return cores;
    mtlm_options_note(options,
                      "a rank takes %d of its %d cores, as this StarPU has no "
                      "more workers; several ranks take all",
                      most, cores);
    return most;
}
