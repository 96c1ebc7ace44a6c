/* Where a job writes to: found out, and opened, before it starts. */

#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/job/job.h"
#include "models/weights/checkpoint_dir.h"
#include "runtime/base/memory.h"
#include "runtime/machine/machine.h"

/* What finds out is called so everywhere: the next one removes it, should its
 * process have been killed. */
#define PROBE ".mtlm-dag.probe"

/* Finds out now whether dir can be written, not at the end.  Others may do the
 * same at the same time. */
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

/* A trace is neither overwritten nor mixed with another, nor are logits. */
static int check_empty(const char *dir, const char *option,
                       struct mtlm_error *err)
{
    DIR *d = opendir(dir);
    struct dirent *e = NULL;
    int rc = 0;

    /* What is not there is made; what is no directory, probe() finds out. */
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

int mtlm_job_probe_outputs(struct mtlm_job *job, struct mtlm_error *err)
{
    const struct mtlm_options *o = &job->options;

    if (mtlm_ranks_rank(job->ranks) == 0
        && (probe_empty(job, o->trace_dir, "trace", err) < 0
            || probe_empty(job, o->logits_dir, "dump-logits", err) < 0
            || probe(job, o->save_dir, err) < 0))
        return -1;
    return probe(job, o->dump_dir, err);
}

int mtlm_job_open_metrics(struct mtlm_job *job, struct mtlm_error *err)
{
    /* As in Megatron-LM, where the log lines are. */
    if (mtlm_ranks_rank(job->ranks) != mtlm_ranks_size(job->ranks) - 1)
        return 0;
    if (probe(job, job->options.tensorboard_dir, err) < 0)
        return -1;
    return mtlm_metrics_open(&job->options, &job->metrics, err);
}

void mtlm_job_begin_metrics(struct mtlm_job *job)
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
            .transport = mtlm_job_transport(job),
            .gpu = job->gpu_text});
}

void mtlm_job_remove_outputs(struct mtlm_job *job)
{
    mtlm_metrics_close(job->metrics);
    job->metrics = NULL;
    for (int i = 0; i < job->n_made_dirs; i++) {
        if (job->made_dir[i] == job->options.save_dir)
            mtlm_checkpoint_dir_unlock(job->made_dir[i]);
        rmdir(job->made_dir[i]);
    }
}
