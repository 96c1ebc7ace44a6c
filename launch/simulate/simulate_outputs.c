/* Opens and closes the files of a simulation. */

#include "config.h"

#include <stdlib.h>
#include <unistd.h>

#include "launch/job/job_outputs.h"
#include "launch/simulate/graph_out.h"
#include "launch/simulate/simulate_outputs.h"
#include "launch/trace/export/export.h"
#include "runtime/base/memory.h"
#include "runtime/file/unfinished.h"

static void add_unfinished(struct mtlm_simulate_outputs *o, const char *path)
{
    mtlm_unfinished_add(path);
    o->unfinished++;
}

static int take_dir(struct mtlm_simulate_outputs *o, const char *dir,
                    struct mtlm_error *err)
{
    char *lock;

    if (!dir)
        return 0;
    if (mtlm_job_outputs_take(dir, "trace", &o->made_dir, &o->lock, err) < 0)
        return -1;
    o->trace_dir = dir;
    if (o->made_dir)
        add_unfinished(o, dir);
    lock = mtlm_sprintf("%s/lock", dir);
    add_unfinished(o, lock);
    free(lock);
    return 0;
}

static int open_metrics(struct mtlm_simulate_outputs *o,
                        const struct mtlm_options *options,
                        struct mtlm_error *err)
{
    o->made_metrics = options->metrics && access(options->metrics, F_OK) < 0;
    if (mtlm_metrics_open(options, &o->metrics, err) < 0) {
        o->made_metrics = false;
        return -1;
    }
    if (o->made_metrics)
        add_unfinished(o, options->metrics);
    return 0;
}

int mtlm_simulate_outputs_open(struct mtlm_simulate_outputs *outputs,
                               const struct mtlm_options *options,
                               struct mtlm_error *err)
{
    *outputs = (struct mtlm_simulate_outputs){0};
    if (take_dir(outputs, options->trace_dir, err) == 0
        && open_metrics(outputs, options, err) == 0
        && (!options->graph_out
            || mtlm_graph_out_check(options->graph_out, err) == 0))
        return 0;
    mtlm_simulate_outputs_close(outputs, false);
    return -1;
}

/* Closes the file, which no signal removes from now on. */
static int close_metrics(struct mtlm_simulate_outputs *o)
{
    const int rc = mtlm_metrics_close(o->metrics);

    o->metrics = NULL;
    if (o->made_metrics) {
        mtlm_unfinished_drop(1);
        o->unfinished--;
        o->made_metrics = false;
    }
    return rc;
}

int mtlm_simulate_outputs_write_metrics(struct mtlm_simulate_outputs *outputs,
                                        const struct mtlm_options *options,
                                        const struct mtlm_metrics_about *about,
                                        struct mtlm_error *err)
{
    mtlm_metrics_begin(outputs->metrics, options, about);
    if (close_metrics(outputs) == 0)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_IO,
                          "%s lacks the numbers of the simulation",
                          options->metrics);
}

/* Calls the function with the path of each file of the trace. */
static void each_file(struct mtlm_simulate_outputs *o,
                      void (*call)(struct mtlm_simulate_outputs *o,
                                   const char *path))
{
    const char *name;

    for (size_t i = 0; (name = mtlm_trace_export_name(i)); i++) {
        char *path = mtlm_sprintf("%s/%s", o->trace_dir, name);

        call(o, path);
        free(path);
    }
}

static void remove_file(struct mtlm_simulate_outputs *o, const char *path)
{
    (void) o;
    unlink(path);
}

void mtlm_simulate_outputs_begin_trace(struct mtlm_simulate_outputs *outputs)
{
    each_file(outputs, add_unfinished);
    outputs->traced = true;
}

void mtlm_simulate_outputs_close(struct mtlm_simulate_outputs *outputs,
                                 bool well)
{
    close_metrics(outputs);
    if (!well && outputs->traced)
        each_file(outputs, remove_file);
    if (outputs->trace_dir)
        mtlm_job_outputs_leave(outputs->trace_dir, &outputs->lock);
    if (!well && outputs->made_dir)
        rmdir(outputs->trace_dir); /* stays if files are in it */
    mtlm_unfinished_drop(outputs->unfinished);
    outputs->unfinished = 0;
}
