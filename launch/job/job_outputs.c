/* Files that the job writes: probed and opened before the run. */

#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/job/job_outputs.h"
#include "launch/job/job_transport.h"
#include "models/weights/checkpoint_dir.h"
#include "runtime/base/memory.h"
#include "runtime/machine/machine.h"

/* One name for all probes: the next probe removes a file that a killed process
 * left. */
#define PROBE ".mtlm-dag.probe"

/* Makes dir and refuses a dir that cannot be written.  Other ranks may probe
 * the same dir at the same time. */
static int probe(struct mtlm_job *job, const char *dir, struct mtlm_error *err)
{
    char *path;
    int rc;

    if (!dir)
        return 0;
    if (mkdir(dir, 0777) == 0)
        job->made_dir[job->n_made_dirs++] = dir;
    else if (errno != EEXIST)
        return mtlm_error_set(err, MTLM_EXIT_IO, "%s: cannot be made: %s", dir,
                              strerror(errno));
    path = mtlm_sprintf("%s/" PROBE, dir);
    rc = (unlink(path) < 0 && errno != ENOENT)
                 || (mknod(path, S_IFREG | 0600, 0) < 0 && errno != EEXIST)
             ? -1
             : 0;
    if (rc < 0)
        mtlm_error_set(err, MTLM_EXIT_IO, "%s: cannot be written: %s", dir,
                       strerror(errno));
    else
        unlink(path);
    free(path);
    return rc;
}

/* Traces and logits need an empty directory: nothing is overwritten or
 * mixed. */
static int check_empty(const char *dir, const char *option,
                       struct mtlm_error *err)
{
    DIR *d = opendir(dir);
    struct dirent *e = NULL;
    int rc = 0;

    /* probe() makes a missing directory, and refuses what is no directory. */
    if (!d && errno != ENOENT && errno != ENOTDIR)
        return mtlm_error_set(err, MTLM_EXIT_IO, "%s: cannot be read: %s", dir,
                              strerror(errno));
    while (d && (e = readdir(d)))
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")
            && strcmp(e->d_name, PROBE)) {
            rc = mtlm_error_set(err, MTLM_EXIT_IO,
                                "%s: holds %s already; --%s needs a new "
                                "directory, or an empty one",
                                dir, e->d_name, option);
            break;
        }
    if (d)
        closedir(d);
    return rc;
}

static int probe_empty(struct mtlm_job *job, const char *dir,
                       const char *option, struct mtlm_error *err)
{
    return dir && check_empty(dir, option, err) < 0 ? -1 : probe(job, dir, err);
}

int mtlm_job_outputs_probe(struct mtlm_job *job, struct mtlm_error *err)
{
    const struct mtlm_options *o = &job->options;

    if (mtlm_ranks_rank(job->ranks) == 0
        && (probe_empty(job, o->trace_dir, "trace", err) < 0
            || probe_empty(job, o->logits_dir, "dump-logits", err) < 0
            || probe(job, o->save_dir, err) < 0))
        return -1;
    return probe(job, o->dump_dir, err);
}

int mtlm_job_outputs_open_metrics(struct mtlm_job *job, struct mtlm_error *err)
{
    /* The rank that prints the log lines, as in Megatron-LM. */
    if (mtlm_ranks_rank(job->ranks) != mtlm_ranks_size(job->ranks) - 1)
        return 0;
    if (probe(job, job->options.tensorboard_dir, err) < 0)
        return -1;
    return mtlm_metrics_open(&job->options, &job->metrics, err);
}

void mtlm_job_outputs_begin_metrics(struct mtlm_job *job)
{
    const struct mtlm_layout *l = &job->layout;

    mtlm_metrics_begin(
        job->metrics, &job->options,
        &(struct mtlm_metrics_about){
            .ranks = mtlm_ranks_size(job->ranks),
            .tensor = l->tp,
            .pipeline = l->pp,
            .data = l->dp,
            .parameters = mtlm_model_parameters(&job->options.model),
            .policy = mtlm_machine_policy(),
            .starpu_version = mtlm_machine_starpu_version(),
            .transport = mtlm_job_transport_name(job),
            .gpu = job->gpu_text});
}

void mtlm_job_outputs_remove(struct mtlm_job *job)
{
    mtlm_metrics_close(job->metrics);
    job->metrics = NULL;
    for (int i = 0; i < job->n_made_dirs; i++) {
        if (job->made_dir[i] == job->options.save_dir)
            mtlm_checkpoint_dir_unlock(job->made_dir[i]);
        rmdir(job->made_dir[i]);
    }
}
