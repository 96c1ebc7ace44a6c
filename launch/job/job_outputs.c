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
#include "runtime/base/memory.h"
#include "runtime/file/dir_lock.h"
#include "runtime/file/disk.h"
#include "runtime/machine/machine.h"

/* One name for all probes: the next probe removes a file that a killed process
 * left. */
#define PROBE ".mtlm-dag.probe"

/* Makes dir and refuses a dir that cannot be written.  *made: dir is new.
 * Other ranks may probe the same dir at the same time. */
static int probe_dir(const char *dir, bool *made, struct mtlm_error *err)
{
    char *path;
    int rc;

    *made = mkdir(dir, 0777) == 0;
    if (!*made && errno != EEXIST)
        return mtlm_disk_cannot_make(dir, err);
    if (mtlm_disk_is_lost_link(dir))
        return mtlm_error_set(err, MTLM_EXIT_IO,
                              "%s: is a symbolic link to nothing", dir);
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

static int probe(struct mtlm_job *job, const char *dir, struct mtlm_error *err)
{
    bool made = false;
    const int rc = dir ? probe_dir(dir, &made, err) : 0;

    if (made)
        job->made_dir[job->n_made_dirs++] = dir;
    return rc;
}

/* Whether an empty directory may hold the name.  A lock's file stays behind a
 * killed job. */
static bool may_stay(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0
           || strcmp(name, PROBE) == 0 || strcmp(name, "lock") == 0;
}

/* Traces and logits need an empty directory: nothing is overwritten or
 * mixed. */
static int check_empty(const char *dir, const char *option,
                       struct mtlm_error *err)
{
    DIR *d = mtlm_disk_open_dir(dir);
    const char *name = NULL;
    int rc = 0;

    /* probe() makes a missing directory, and refuses what is no directory. */
    if (!d && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    while (d && (name = mtlm_disk_next_name(d)) && may_stay(name))
        ;
    if (name)
        rc = mtlm_error_set(err, MTLM_EXIT_IO,
                            "%s: holds %s already; --%s needs a new "
                            "directory, or an empty one",
                            dir, name, option);
    else if (errno)
        rc = mtlm_error_set(err, MTLM_EXIT_IO, "%s: cannot be read: %s", dir,
                            strerror(errno));
    if (d)
        closedir(d);
    return rc;
}

/* The directories that rank 0 makes for the job; the first LOCKED of them have
 * to be empty. */
enum { LOCKED = 2, DIRS = 3 };
static const char *const option_of[DIRS] = {"trace", "dump-logits", "save"};

static void list_dirs(const struct mtlm_options *o, const char *dir[DIRS])
{
    dir[0] = o->trace_dir;
    dir[1] = o->logits_dir;
    dir[2] = o->save_dir;
}

static bool is_same(const char *a, const char *b)
{
    struct stat x, y;

    return a && b && stat(a, &x) == 0 && stat(b, &y) == 0
           && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Refuses one directory for two purposes: a directory is locked once. */
static int check_distinct(const char *const dir[DIRS], struct mtlm_error *err)
{
    for (int i = 0; i < DIRS; i++)
        for (int j = 0; j < i; j++)
            if (is_same(dir[i], dir[j]))
                return mtlm_error_set(err, MTLM_EXIT_USAGE,
                                      "--%s and --%s both name %s; each needs "
                                      "a directory of its own",
                                      option_of[j], option_of[i], dir[i]);
    return 0;
}

/* Takes an empty directory for this job.  The second look sees the files of a
 * job that held the lock until now. */
static int take_empty(const char *dir, const char *option, int *lock,
                      struct mtlm_error *err)
{
    if (mtlm_dir_lock_take(dir, lock, err) < 0)
        return -1;
    return check_empty(dir, option, err);
}

int mtlm_job_outputs_take(const char *dir, const char *option, bool *made,
                          int *lock, struct mtlm_error *err)
{
    *made = false;
    if (check_empty(dir, option, err) == 0 && probe_dir(dir, made, err) == 0
        && take_empty(dir, option, lock, err) == 0)
        return 0;
    if (*made)
        rmdir(dir);
    return -1;
}

void mtlm_job_outputs_leave(const char *dir, int *lock)
{
    if (*lock <= 0) /* a file system without locks */
        return;
    mtlm_dir_lock_remove(dir);
    close(*lock);
    *lock = 0;
}

static int probe_dirs(struct mtlm_job *job, struct mtlm_error *err)
{
    const char *dir[DIRS];

    list_dirs(&job->options, dir);
    for (int i = 0; i < DIRS; i++)
        if (dir[i]
            && ((i < LOCKED && check_empty(dir[i], option_of[i], err) < 0)
                || probe(job, dir[i], err) < 0))
            return -1;
    if (check_distinct(dir, err) < 0)
        return -1;
    for (int i = 0; i < LOCKED; i++)
        if (dir[i]
            && take_empty(dir[i], option_of[i], &job->output_lock[i], err) < 0)
            return -1;
    return 0;
}

int mtlm_job_outputs_probe(struct mtlm_job *job, struct mtlm_error *err)
{
    if (mtlm_ranks_rank(job->ranks) == 0 && probe_dirs(job, err) < 0)
        return -1;
    return probe(job, job->options.dump_dir, err);
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

void mtlm_job_outputs_end(struct mtlm_job *job)
{
    const char *dir[DIRS];

    list_dirs(&job->options, dir);
    for (int i = 0; i < LOCKED; i++)
        if (dir[i])
            mtlm_job_outputs_leave(dir[i], &job->output_lock[i]);
}

void mtlm_job_outputs_remove(struct mtlm_job *job)
{
    mtlm_job_outputs_end(job);
    mtlm_metrics_close(job->metrics);
    job->metrics = NULL;
    for (int i = 0; i < job->n_made_dirs; i++) {
        /* Another job may hold the lock; then the directory stays, too. */
        if (job->made_dir[i] == job->options.save_dir
            && job->checkpoint_lock > 0)
            mtlm_dir_lock_remove(job->made_dir[i]);
        rmdir(job->made_dir[i]);
    }
}
