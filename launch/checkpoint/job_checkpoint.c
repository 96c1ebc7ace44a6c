/* Checkpoints at the start and the end of a job: finds and checks the
 * checkpoint to load, and locks the directory for new ones. */

#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/checkpoint/checkpoint.h"
#include "launch/checkpoint/job_checkpoint.h"
#include "launch/job/job_finetune.h"
#include "launch/options/option_table.h"
#include "launch/options/options_stored.h"
#include "launch/options/options_trace.h"
#include "models/weights/checkpoint_dir.h"
#include "runtime/file/dir_lock.h"
#include "runtime/file/disk.h"
#include "runtime/file/json_file.h"

static bool is_first(const struct mtlm_job *job)
{
    return mtlm_ranks_rank(job->ranks) == 0;
}

/* Returns 1: dir exists; 0: it does not; -1: unknown. */
static int stat_dir(const char *dir, struct stat *st, struct mtlm_error *err)
{
    if (stat(dir, st) == 0)
        return 1;
    if (errno == ENOENT || errno == ENOTDIR)
        return 0;
    return mtlm_disk_cannot_read(dir, err);
}

/* Whether --save and --load name one directory. */
static int find_same_dir(struct mtlm_job *job, struct mtlm_error *err)
{
    const struct mtlm_options *o = &job->options;
    struct stat x, y;
    int rc = o->load_dir ? stat_dir(o->save_dir, &x, err) : 0;

    if (rc > 0)
        rc = stat_dir(o->load_dir, &y, err);
    job->saves_there = rc > 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    return rc < 0 ? -1 : 0;
}

int mtlm_job_checkpoint_lock(struct mtlm_job *job, struct mtlm_error *err)
{
    struct mtlm_options *o = &job->options;
    struct mtlm_checkpoint_id id;
    char *path;
    int rc;

    job->checkpoint_lock = -1;
    if (!o->save_dir || !is_first(job))
        return 0;
    if (mtlm_options_stored_check(o, err) < 0
        || mtlm_dir_lock_take(o->save_dir, &job->checkpoint_lock, err) < 0)
        return -1;
    mtlm_checkpoint_dir_discard(o->save_dir, -1);
    if (find_same_dir(job, err) < 0)
        return -1;
    if (job->saves_there && !o->finetune)
        return 0;
    rc = mtlm_checkpoint_dir_newest(o->save_dir, NULL, &id, err);
    if (rc > 0) {
        path = mtlm_checkpoint_dir_path(o->save_dir, &id);
        /* With --pretrained-checkpoint, --load DIR would continue. */
        rc = o->finetune && !o->new_head
                 ? mtlm_error_set(
                     err, MTLM_EXIT_USAGE,
                     "--save %s: --finetune begins a new training, "
                     "and %s exists; choose another directory%s%s%s",
                     o->save_dir, path, job->saves_there ? "" : "; --load ",
                     job->saves_there ? "" : o->save_dir,
                     job->saves_there ? "" : " without --finetune continues it")
                 : mtlm_error_set(
                     err, MTLM_EXIT_USAGE,
                     "--save %s: %s exists, from another training; "
                     "continue it with --load %s, or choose another "
                     "directory",
                     o->save_dir, path, o->save_dir);
        free(path);
    }
    return rc;
}

int mtlm_job_checkpoint_space(struct mtlm_job *job, struct mtlm_error *err)
{
    const struct mtlm_options *o = &job->options;
    const int64_t header = 4096; /* bytes, besides 512 for each tensor */
    struct mtlm_checkpoint_tensors list;
    int64_t bytes = header;

    if (!o->save_dir)
        return 0;
    mtlm_checkpoint_to_save(job->program, &list);
    for (int i = 0; i < list.n; i++)
        bytes += list.tensor[i].slice.count * (int64_t) sizeof(float) + 512;
    mtlm_checkpoint_tensors_free(&list);
    job->checkpoint_bytes = (int64_t) mtlm_ranks_sum(job->ranks, bytes);
    job->begin_is_saved = mtlm_ranks_min(
        job->ranks,
        !is_first(job) || (job->load_path && !o->finetune && job->saves_there));
    return is_first(job) ? mtlm_checkpoint_dir_space(o->save_dir,
                                                     job->checkpoint_bytes, err)
                         : mtlm_dir_lock_check(o->save_dir, err);
}

int mtlm_job_checkpoint_compare(struct mtlm_job *job, struct mtlm_error *err)
{
    char *owner, *text;
    int rc;

    if (!job->options.save_dir)
        return 0;
    owner = mtlm_dir_lock_owner(job->options.save_dir);
    text = mtlm_sprintf("the lock there is of %s", owner);
    rc = mtlm_ranks_same(job->ranks, text, "has another --save directory",
                         MTLM_EXIT_IO, err);
    free(text);
    free(owner);
    return rc;
}

/* ---- which one ---- */

/* Sets *id on all ranks to the newest checkpoint before *id, found by rank 0.
 * id->again -1: the newest of all, or the best one.  Returns 1; 0 if there is
 * none; -1 if the directory cannot be read. */
static int next_checkpoint(struct mtlm_job *job, struct mtlm_checkpoint_id *id,
                           struct mtlm_error *err)
{
    const struct mtlm_checkpoint_id before = *id;
    struct mtlm_error mine;
    int rc = 1, print;

    if (is_first(job) && job->options.load_best)
        rc = mtlm_best_checkpoint_find(job->options.load_dir, id, &mine) < 0
                 ? -1
                 : 1;
    else if (is_first(job))
        rc = mtlm_checkpoint_dir_newest(job->options.load_dir,
                                        before.again < 0 ? NULL : &before, id,
                                        &mine);
    if (mtlm_ranks_agree(job->ranks, rc < 0 ? &mine : NULL, err, &print) < 0)
        return -1;
    id->iteration = mtlm_ranks_min(job->ranks, !is_first(job) ? INT64_MAX
                                               : rc > 0       ? id->iteration
                                                              : INT64_MIN);
    id->again =
        (int) mtlm_ranks_min(job->ranks, is_first(job) ? id->again : INT64_MAX);
    return id->iteration != INT64_MIN;
}

/* Verifies the files of a checkpoint; each rank verifies some of them.  A whole
 * checkpoint of another program is an error: no older one is tried. */
static int verify_checkpoint(struct mtlm_job *job,
                             const struct mtlm_checkpoint_id *id,
                             struct mtlm_error *err, int *print)
{
    const int ranks = mtlm_ranks_size(job->ranks);
    struct mtlm_manifest *m = &job->loaded;
    struct mtlm_error mine;
    /* The manifest's iteration must be the directory's: otherwise, the
     * checkpoint would stay the newest. */
    int rc = mtlm_manifest_read_of(m, job->load_path, id->iteration, &mine);

    for (int64_t i = mtlm_ranks_rank(job->ranks); i < m->files && rc == 0;
         i += ranks)
        rc = mtlm_manifest_verify(&m->file[i], job->load_path, &mine);
    return mtlm_ranks_agree(job->ranks, rc < 0 ? &mine : NULL, err, print);
}

void mtlm_job_checkpoint_forget(struct mtlm_job *job)
{
    mtlm_manifest_free(&job->loaded);
    free(job->load_path);
    job->load_path = NULL;
}

/* Decides what follows if there is nothing to load.  Accepts a first start that
 * saves to the same directory; refuses anything else on rank 0. */
static int allow_first_start(const struct mtlm_job *job, struct mtlm_error *err)
{
    const struct mtlm_options *o = &job->options;
    struct stat st;
    int there;

    if (!is_first(job) || (!o->finetune && job->saves_there))
        return 0;
    there = stat_dir(o->load_dir, &st, err);
    if (there < 0)
        return -1;
    if (!there)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "--load %s: there is no such directory",
                              o->load_dir);
    return mtlm_error_set(err, MTLM_EXIT_INPUT,
                          "--load %s: there is no checkpoint to %s%s",
                          o->load_dir,
                          o->eval_only  ? "evaluate"
                          : o->finetune ? "finetune"
                                        : "continue",
                          o->eval_only || o->finetune
                              ? ""
                              : "; a new training saves to the same directory "
                                "(--save)");
}

/* Remembers a damaged checkpoint: --keep-last does not count it. */
static void skip_damaged(struct mtlm_job *job,
                         const struct mtlm_checkpoint_id *id)
{
    struct mtlm_checkpoint_list *list = &job->damaged;

    list->id = mtlm_realloc(list->id, list->n + 1, sizeof(*list->id));
    list->id[list->n++] = *id;
}

/* Finds the newest whole checkpoint, and reports damaged ones.  All ranks get
 * the same result. */
static int find_newest(struct mtlm_job *job, struct mtlm_error *err)
{
    struct mtlm_checkpoint_id id = {.again = -1};
    int print, rc;
    bool any = false;

    while ((rc = next_checkpoint(job, &id, err)) > 0) {
        any = true;
        job->load_path = mtlm_checkpoint_dir_path(job->options.load_dir, &id);
        if (verify_checkpoint(job, &id, err, &print) == 0)
            return 0;
        mtlm_job_checkpoint_forget(job);
        if (err->code != MTLM_EXIT_INPUT || job->options.load_best)
            return -1;
        if (print)
            mtlm_warn("checkpoint skipped: %s", err->text);
        skip_damaged(job, &id);
    }
    if (rc < 0)
        return -1;
    if (any)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "--load %s: none of its checkpoints is whole",
                              job->options.load_dir);
    return allow_first_start(job, err);
}

/* ---- whether it fits ---- */

bool mtlm_job_checkpoint_leaves(const struct mtlm_job *job,
                                const struct mtlm_checkpoint_tensor *tensor)
{
    return tensor->of_task && job->options.new_head;
}

bool mtlm_job_checkpoint_may_lack(const struct mtlm_job *job,
                                  const struct mtlm_checkpoint_tensor *tensor)
{
    return tensor->optional || (tensor->head && job->options.finetune);
}

/* Checks that the checkpoint holds the rank's part of t. */
static int check_tensor(const struct mtlm_job *job,
                        const struct mtlm_checkpoint_tensor *t,
                        struct mtlm_error *err)
{
    const int64_t want = mtlm_slice_count(&t->slice, t->rows);
    const int64_t found =
        mtlm_manifest_count(&job->loaded, t->name, &t->slice, t->rows);

    if (mtlm_job_checkpoint_leaves(job, t) || found == want
        || (found == 0 && mtlm_job_checkpoint_may_lack(job, t)))
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_INPUT,
                          "%s: tensor \"%s\": expected %" PRId64
                          " elements for this rank, found %" PRId64 "%s",
                          job->load_path, t->name, want, found,
                          t->moment ? "; --no-load-optim continues without the "
                                      "optimizer's state"
                                    : "");
}

static int check_tensors(const struct mtlm_job *job, bool moments,
                         struct mtlm_error *err)
{
    struct mtlm_checkpoint_tensors list;
    int rc = 0;

    mtlm_checkpoint_to_load(job->program, moments, &list);
    for (int i = 0; i < list.n && rc == 0; i++)
        rc = check_tensor(job, &list.tensor[i], err);
    mtlm_checkpoint_tensors_free(&list);
    return rc;
}

bool mtlm_job_checkpoint_loads_moments(const struct mtlm_job *job)
{
    const struct mtlm_options *o = &job->options;

    return !o->finetune && !o->no_load_optim && !o->eval_only;
}

int mtlm_job_checkpoint_find(struct mtlm_job *job, struct mtlm_error *err)
{
    const struct mtlm_options *o = &job->options;

    job->begin = mtlm_ramp_begin(&o->ramp);
    return o->load_dir ? find_newest(job, err) : 0;
}

/* With --train-samples, sets train_iters to the iterations that the remaining
 * samples make. */
static void count_iterations(struct mtlm_job *job)
{
    struct mtlm_options *o = &job->options;

    if (mtlm_options_given(o, MTLM_OPT_TRAIN_SAMPLES))
        o->train_iters = mtlm_ramp_iterations_from(
            &o->ramp, job->begin, o->train_samples, 1000000000);
}

/* Places the default --trace-iterations; refuses those that the run does not
 * reach, and records of a run without an iteration.  Notes an --inject-nan that
 * the run does not reach. */
static int place_iterations(struct mtlm_job *job, struct mtlm_error *err)
{
    const struct mtlm_options *o = &job->options;
    const struct mtlm_range *trace = &o->trace_iterations;
    const int64_t begin = job->begin.iteration;
    const int64_t last = mtlm_options_last_iteration(o, begin);

    mtlm_options_note_nan(&job->options, begin);
    if ((o->trace_dir || o->dump_dir) && begin == last)
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "--%s has nothing to record: the checkpoint is of iteration "
            "%" PRId64 ", the run ends with %" PRId64,
            o->trace_dir ? "trace" : "dump-first-step", begin, o->train_iters);
    if (!o->trace_dir)
        return 0;
    mtlm_options_trace_place(&job->options, begin);
    if (trace->first > begin && trace->last <= last)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "--trace-iterations %" PRId64 ":%" PRId64
                          ": the run begins with iteration %" PRId64
                          " and ends with %" PRId64,
                          trace->first, trace->last, begin + 1, last);
}

/* Refuses to go on with a fine-tuning whose epochs had other iterations: the
 * iteration of the checkpoint would be another place of another epoch. */
static int check_epochs(const struct mtlm_job *job, struct mtlm_error *err)
{
    const struct mtlm_manifest *m = &job->loaded;
    const struct mtlm_options *o = &job->options;
    const char *kept = mtlm_json_file_text(
        m->options, mtlm_option_name(MTLM_OPT_KEEP_LAST_BATCH));
    int64_t batch, iterations;

    if (!job->finetune || o->finetune || o->eval_only || m->iteration == 0)
        return 0;
    batch = m->samples / m->iteration;
    iterations = mtlm_job_finetune_iterations(job, batch,
                                              kept && strcmp(kept, "yes") == 0);
    if (batch == o->global_batch_size && iterations == o->eval_interval)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "%s: its epochs have %" PRId64
                          " iterations of %" PRId64
                          " samples, those of this job %" PRId64 " of %" PRId64
                          " (--global-batch-size, --keep-last-batch)",
                          job->load_path, iterations, batch, o->eval_interval,
                          o->global_batch_size);
}

int mtlm_job_checkpoint_check(struct mtlm_job *job, struct mtlm_error *err)
{
    const struct mtlm_options *o = &job->options;

    if (!job->load_path)
        return place_iterations(job, err);
    if (mtlm_checkpoint_settings_check(job, job->loaded.settings,
                                       job->load_path, err)
            < 0
        || (mtlm_job_checkpoint_loads_moments(job)
            && mtlm_checkpoint_state_check(job->loaded.state, job->load_path,
                                           err)
                   < 0)
        || check_epochs(job, err) < 0
        || check_tensors(job, mtlm_job_checkpoint_loads_moments(job), err) < 0)
        return -1;
    if (!o->finetune)
        job->begin =
            mtlm_ramp_at(&o->ramp, job->loaded.iteration, job->loaded.samples);
    count_iterations(job);
    return place_iterations(job, err);
}

void mtlm_job_checkpoint_end(struct mtlm_job *job)
{
    mtlm_job_checkpoint_forget(job);
    free(job->damaged.id);
    if (job->checkpoint_lock > 0)
        close(job->checkpoint_lock);
}
