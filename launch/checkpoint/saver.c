/* Saves checkpoints from a thread per rank.  States: idle; writes files; ends
 * (commits). */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codelets/save.h"
#include "launch/checkpoint/checkpoint.h"
#include "launch/checkpoint/saver.h"
#include "launch/log/progress.h"
#include "launch/options/options_stored.h"
#include "models/weights/checkpoint_dir.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/standard_output.h"
#include "runtime/comm/activity.h"
#include "runtime/machine/background.h"

struct mtlm_saver {
    struct mtlm_job *job;
    struct mtlm_background *thread;
    struct mtlm_checkpoint_tensors list;
    enum { IDLE, WRITES, ENDS } state; /* the same on all ranks */
    bool good;                         /* no rank has failed so far */
    /* The pending checkpoint; the thread owns these fields while it works. */
    struct mtlm_manifest manifest;  /* rank 0; other ranks: iteration only */
    struct mtlm_manifest_file file; /* this rank's */
    int rc;                         /* result of the thread's last work */
    struct mtlm_error err;
    /* For the log line. */
    int64_t start_ns, disk_ns, held_ns, copies_ns;
    int64_t held_since_ns; /* 0: not held */
    double bytes;
    bool failed;
};

static bool is_committer(const struct mtlm_saver *s)
{
    return mtlm_ranks_rank(s->job->ranks) == 0;
}

struct mtlm_saver *mtlm_saver_create(struct mtlm_job *job)
{
    struct mtlm_saver *s;

    if (!job->options.save_dir || job->options.eval_only)
        return NULL;
    s = mtlm_calloc(1, sizeof(*s));
    s->job = job;
    s->thread = mtlm_background_create();
    mtlm_checkpoint_to_save(job->program, &s->list);
    return s;
}

void mtlm_saver_take_program(struct mtlm_saver *s)
{
    if (!s)
        return;
    mtlm_checkpoint_tensors_free(&s->list);
    mtlm_checkpoint_to_save(s->job->program, &s->list);
}

/* Waits for the thread; the watchdog stays quiet while the disk works. */
static void await_files(struct mtlm_saver *s)
{
    mtlm_activity_wait_begin(MTLM_WAITER_FILES, "a checkpoint to be written");
    mtlm_background_wait(s->thread);
    mtlm_activity_wait_end(MTLM_WAITER_FILES);
}

void mtlm_saver_destroy(struct mtlm_saver *s)
{
    if (!s)
        return;
    await_files(s);
    mtlm_background_destroy(s->thread);
    mtlm_checkpoint_tensors_free(&s->list);
    free(s);
}

bool mtlm_saver_pending(const struct mtlm_saver *s)
{
    return s && s->state != IDLE;
}

bool mtlm_saver_failed(const struct mtlm_saver *s)
{
    return s && s->failed;
}

/* ---- how long training stands still ---- */

static void begin_hold(struct mtlm_saver *s, bool held)
{
    s->held_since_ns = held ? mtlm_now_ns() : 0;
}

static void end_hold(struct mtlm_saver *s)
{
    if (s->held_since_ns)
        s->held_ns += mtlm_now_ns() - s->held_since_ns;
    s->held_since_ns = 0;
}

/* ---- what the thread does ---- */

/* Waits for the copies, then writes; only the write counts as disk time. */
static void write_file(void *arg)
{
    struct mtlm_saver *s = arg;
    int64_t start;

    for (int i = 0; i < s->list.n; i++)
        mtlm_run_saved(s->job->run, s->list.tensor[i].tensor);
    start = mtlm_now_ns();
    mtlm_activity_at_disk(true);
    s->rc = mtlm_checkpoint_write(s->job, s->manifest.iteration, &s->list,
                                  &s->file, &s->err);
    mtlm_activity_at_disk(false);
    s->disk_ns = mtlm_now_ns() - start;
}

/* Commits the checkpoint; if a rank failed, removes the checkpoint's files. */
static void commit_checkpoint(void *arg)
{
    struct mtlm_saver *s = arg;
    const int64_t start = mtlm_now_ns();

    mtlm_activity_at_disk(true);
    if (s->good && s->rc == 0)
        s->rc = mtlm_checkpoint_complete(s->job, &s->manifest, &s->err);
    if (!s->good || s->rc < 0)
        mtlm_checkpoint_dir_discard(s->job->options.save_dir,
                                    s->manifest.iteration);
    s->disk_ns += mtlm_now_ns() - start;
    if (s->good && s->rc == 0)
        mtlm_checkpoint_remove_old(s->job, s->manifest.iteration);
    mtlm_activity_at_disk(false);
}

/* ---- the manifest ---- */

/* Rank 0 receives the descriptions of the other ranks' files. */
static struct mtlm_swap *exchange_texts(struct mtlm_saver *s, int *n)
{
    const bool first = is_committer(s);
    const size_t word = sizeof(int64_t);
    struct mtlm_swap *swap;

    *n = first ? mtlm_ranks_size(s->job->ranks) - 1 : 1;
    swap = mtlm_calloc(*n + 1, sizeof(*swap));
    for (int i = 0; i < *n; i++)
        swap[i].peer = first ? i + 1 : 0;
    if (!first) {
        char *text = mtlm_manifest_file_text(&s->file);

        swap[0].n_out = (int64_t) (strlen(text) / word + 1);
        swap[0].out = mtlm_calloc(swap[0].n_out, word);
        memcpy(swap[0].out, text, strlen(text));
        free(text);
    }
    mtlm_ranks_swap(s->job->ranks, swap, *n);
    return swap;
}

static int take_texts(struct mtlm_saver *s, const struct mtlm_swap *swap, int n)
{
    struct mtlm_manifest *m = &s->manifest;

    m->files = n + 1;
    m->file = mtlm_calloc(n + 1, sizeof(*m->file));
    m->file[0] = s->file;
    s->file = (struct mtlm_manifest_file){0};
    for (int i = 0; i < n; i++)
        if (mtlm_manifest_file_parse((const char *) swap[i].in, &m->file[i + 1])
            < 0)
            return mtlm_error_set(&s->err, MTLM_EXIT_PEER,
                                  "rank %d sent no description of its file",
                                  i + 1);
    return 0;
}

static void collect_manifest(struct mtlm_saver *s)
{
    int n;
    struct mtlm_swap *swap;

    s->bytes = (double) s->file.bytes;
    mtlm_ranks_sum_all(s->job->ranks, &s->bytes, 1);
    swap = exchange_texts(s, &n);
    if (is_committer(s))
        s->rc = take_texts(s, swap, n);
    for (int i = 0; i < n; i++) {
        free(swap[i].out);
        free(swap[i].in);
    }
    free(swap);
}

/* ---- step by step ---- */

static void print_saved(const struct mtlm_saver *s, double disk_s,
                        double held_ms, double copies_ms)
{
    const struct mtlm_ranks *ranks = s->job->ranks;

    if (mtlm_ranks_rank(ranks) != mtlm_ranks_size(ranks) - 1)
        return; /* the last rank prints the log, as in Megatron-LM */
    mtlm_progress_hide();
    printf("checkpoint: iteration %" PRId64
           " saved in %.2f s, %.1f MB, written in %.2f s (%.1f MB/s); stall "
           "%.1f ms (copies %.1f, waits %.1f)\n",
           s->manifest.iteration, (mtlm_now_ns() - s->start_ns) * 1e-9,
           s->bytes / 1e6, disk_s, s->bytes / 1e6 / fmax(disk_s, 1e-9),
           copies_ms + held_ms, copies_ms, held_ms);
    mtlm_standard_output_flush();
}

/* Ends a checkpoint that is committed or has failed: prints the log line. */
static void end_checkpoint(struct mtlm_saver *s)
{
    const int64_t held_ns =
        s->held_ns + (s->held_since_ns ? mtlm_now_ns() - s->held_since_ns : 0);
    const int64_t copies_ns = mtlm_save_copies_ns() - s->copies_ns;
    double most[] = {s->disk_ns, held_ns, (double) copies_ns / s->job->workers};

    mtlm_ranks_max_all(s->job->ranks, most, 3);
    if (s->good)
        print_saved(s, most[0] * 1e-9, most[1] * 1e-6, most[2] * 1e-6);
    s->failed = !s->good;
    s->state = IDLE;
    s->held_ns = 0;
    s->copies_ns += copies_ns;
    begin_hold(s, s->held_since_ns != 0);
    mtlm_manifest_file_free(&s->file);
    mtlm_manifest_free(&s->manifest);
}

static void start_end(struct mtlm_saver *s)
{
    s->state = ENDS;
    if (is_committer(s))
        mtlm_background_start(s->thread, commit_checkpoint, s);
}

/* Returns whether the threads of all ranks are done.  A rank that failed prints
 * the reason. */
static bool all_done(struct mtlm_saver *s)
{
    const bool done = mtlm_background_done(s->thread);
    double value[] = {!done, done && s->rc < 0};

    mtlm_ranks_max_all(s->job->ranks, value, 2);
    if (value[0] > 0)
        return false;
    if (s->rc < 0) {
        mtlm_progress_hide();
        mtlm_warn("rank %d: no checkpoint of iteration %" PRId64 ": %s",
                  mtlm_ranks_rank(s->job->ranks), s->manifest.iteration,
                  s->err.text);
    }
    s->rc = 0;
    s->good = s->good && value[1] == 0;
    return true;
}

static void advance_state(struct mtlm_saver *s)
{
    if (!all_done(s))
        return;
    if (s->state == ENDS) {
        end_checkpoint(s);
        return;
    }
    if (s->good)
        collect_manifest(s);
    start_end(s);
}

/* Blocks the main thread: its time counts as stall. */
static int make_directory(struct mtlm_saver *s)
{
    const char *dir = s->job->options.save_dir;
    int rc;

    mtlm_activity_wait_begin(MTLM_WAITER_FILES, "a checkpoint's directory");
    mtlm_activity_at_disk(true);
    rc = mtlm_checkpoint_dir_space(dir, s->job->checkpoint_bytes, &s->err);
    if (rc == 0)
        rc = mtlm_checkpoint_dir_begin(dir, s->manifest.iteration, &s->err);
    mtlm_activity_at_disk(false);
    mtlm_activity_wait_end(MTLM_WAITER_FILES);
    if (!s->held_since_ns)
        s->held_ns += mtlm_now_ns() - s->start_ns;
    return rc;
}

void mtlm_saver_begin(struct mtlm_saver *s, int64_t iteration, int64_t samples,
                      const double control[MTLM_CONTROL_COUNT], bool held)
{
    begin_hold(s, held);
    s->start_ns = mtlm_now_ns();
    s->disk_ns = 0;
    s->manifest = (struct mtlm_manifest){.iteration = iteration};
    s->good = true;
    if (is_committer(s)) {
        s->manifest.samples = samples;
        s->manifest.settings = mtlm_checkpoint_settings(s->job);
        s->manifest.options = mtlm_options_stored_others(&s->job->options);
        s->manifest.state = mtlm_checkpoint_state(s->job, control);
        s->rc = make_directory(s);
    }
    all_done(s);
    if (s->good) {
        s->state = WRITES;
        mtlm_background_start(s->thread, write_file, s);
    } else {
        start_end(s);
    }
    end_hold(s);
}

void mtlm_saver_poll(struct mtlm_saver *s, bool held)
{
    if (!mtlm_saver_pending(s))
        return;
    begin_hold(s, held);
    advance_state(s);
    end_hold(s);
}

void mtlm_saver_finish(struct mtlm_saver *s)
{
    if (!mtlm_saver_pending(s))
        return;
    begin_hold(s, true);
    while (mtlm_saver_pending(s)) {
        await_files(s);
        advance_state(s);
    }
    end_hold(s);
}
