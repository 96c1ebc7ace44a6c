/* The watchdog's thread.  Each look reads the notes of this rank and the signs
 * of life of its neighbours, and ends the job after a missed deadline. */

#include "config.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/comm/activity.h"
#include "runtime/comm/launcher.h"
#include "runtime/comm/mpi_turn.h"
#include "runtime/comm/policy_nodes.h"
#include "runtime/comm/pulse.h"
#include "runtime/comm/watchdog.h"
#include "runtime/machine/machine.h"
#include "runtime/machine/policy_guard.h"
#include "runtime/machine/signals.h"

/* Longest time between two looks. */
enum { LOOK_NS = 1000000000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards these: */
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static bool stopping;
static struct mtlm_pulse *pulse; /* NULL: no signs of life */
static int64_t turn_ns;          /* when the thread last had a turn of MPI */
static int64_t job_ns;           /* of the last progress of any rank */
static int64_t stuck_tasks, stuck_ns; /* ended tasks, unchanged since */
static int64_t held_tasks, held_ns;   /* begun tasks, unchanged since */
static int64_t ended_tasks, ended_ns; /* of busy workers, unchanged since */
static int64_t longest_ns;            /* between two ends of tasks */

/* What the launcher says.  The thread reads no environment: others write it. */
static int launched_rank, launched_together;
static bool joined;     /* MPI_Init() has returned */
static bool start_said; /* that a rank is missing at the start */

static pthread_t thread;
static int64_t limit_ns; /* the deadline; 0: there is no thread */

static void __attribute__((noreturn))
end_late_job(double waited_s, const char *what, const char *why)
{
    mtlm_end_job(MTLM_EXIT_PEER,
                 "waited %.3g s for %s; %s (--distributed-timeout-minutes "
                 "%.3g)",
                 waited_s, what, why, limit_ns / 60e9);
}

/* The time in which this process was stopped does not count. */
static void shift_times(int64_t late)
{
    const int64_t now = mtlm_now_ns();

    turn_ns = turn_ns + late < now ? turn_ns + late : now;
    stuck_ns = held_ns = ended_ns = now;
    mtlm_activity_shift(late);
    if (pulse)
        mtlm_pulse_shift(pulse, late);
}

/* Exchanges signs of life; false: there was no turn of MPI within within_ns. */
static bool exchange_signs(int64_t within_ns)
{
    if (!mtlm_mpi_turn_try(within_ns))
        return false;
    job_ns = mtlm_pulse_beat(pulse, mtlm_activity_progress_ns());
    mtlm_mpi_turn_end();
    turn_ns = mtlm_now_ns();
    return true;
}

static void judge_ranks(const char *what, double waited_s)
{
    const int64_t now = mtlm_now_ns();
    int64_t since;
    const int silent = mtlm_pulse_silent(pulse, &since);
    char why[80];

    if (silent >= 0 && now - since > limit_ns) {
        snprintf(why, sizeof(why),
                 "rank %d has given no sign of life for %.3g s", silent,
                 (now - since) * 1e-9);
        if (!what)
            mtlm_end_job(MTLM_EXIT_PEER,
                         "%s (--distributed-timeout-minutes %.3g)", why,
                         limit_ns / 60e9);
        end_late_job(waited_s, what, why);
    }
    if (what && now - job_ns > limit_ns) {
        snprintf(why, sizeof(why), "no rank has done anything for %.3g s",
                 (now - job_ns) * 1e-9);
        end_late_job(waited_s, what, why);
    }
}

int mtlm_watchdog_disk_deadlines(const struct mtlm_activity *seen,
                                 bool signalled)
{
    if (seen->disk_waits)
        return MTLM_DISK_DEADLINES;
    if (!seen->offload_waits)
        return 0;
    return signalled ? 1 : MTLM_DISK_DEADLINES;
}

static void judge_disk(const struct mtlm_activity *seen)
{
    const int deadlines = mtlm_watchdog_disk_deadlines(
        seen, mtlm_stop_requested() >= MTLM_STOP_SIGNAL);
    char why[80] = "a signal asks the job to stop";

    if (deadlines == 0 || seen->disk_ns / deadlines <= limit_ns)
        return;
    if (deadlines > 1)
        snprintf(why, sizeof(why),
                 "a call of the disk may take %d times the deadline",
                 MTLM_DISK_DEADLINES);
    end_late_job(seen->disk_ns * 1e-9,
                 seen->disk_waits ? "a call of the disk to return"
                                  : "a call of the disk of --offload to return",
                 why);
}

/* Returns the longest time between the ends of two tasks so far, while workers
 * were busy. */
static int64_t longest_task(int64_t now, int64_t tasks)
{
    const bool busy = mtlm_machine_busy();

    if (busy && tasks != ended_tasks && now - ended_ns > longest_ns)
        longest_ns = now - ended_ns;
    if (!busy || tasks != ended_tasks) {
        ended_tasks = tasks;
        ended_ns = now;
    }
    return longest_ns;
}

/* After a signal the job waits for its tasks, which may hang.  A task may take
 * twice as long as others did. */
static void judge_tasks(void)
{
    const int64_t now = mtlm_now_ns(), tasks = mtlm_activity_tasks();
    const int64_t least = limit_ns < MTLM_STUCK_S * 1e9
                              ? limit_ns
                              : (int64_t) (MTLM_STUCK_S * 1e9);
    const int64_t twice = 2 * longest_task(now, tasks);
    const int64_t most = twice > least ? twice : least;

    if (mtlm_stop_requested() < MTLM_STOP_SIGNAL || tasks != stuck_tasks
        || !mtlm_machine_busy()) {
        stuck_tasks = tasks;
        stuck_ns = now;
    } else if (now - stuck_ns > most) {
        mtlm_end_job(MTLM_EXIT_PEER,
                     "a signal asks the job to stop, but no task has ended for "
                     "%.3g s: a worker hangs",
                     (now - stuck_ns) * 1e-9);
    }
}

/* A policy may keep a ready task from all workers. */
static void judge_policy(void)
{
    const int64_t now = mtlm_now_ns(), begun = mtlm_activity_begun();
    char task[160];

    if (begun != held_tasks || mtlm_activity_tasks() < begun
        || !mtlm_machine_busy()) {
        held_tasks = begun;
        held_ns = now;
    } else if (now - held_ns > limit_ns) {
        if (!mtlm_policy_guard_withheld(task, sizeof(task)))
            mtlm_policy_nodes_describe_ready(task, sizeof(task));
        mtlm_end_job(MTLM_EXIT_PEER,
                     "the scheduling policy %s has withheld %s for %.3g s "
                     "(--distributed-timeout-minutes %.3g)",
                     mtlm_machine_policy(), task, (now - held_ns) * 1e-9,
                     limit_ns / 60e9);
    }
}

/* A rank that has left before MPI_Init(), or never starts, keeps the others
 * waiting: the first ranks say so once.  A process alone, also in a script of
 * Slurm, waits for nobody, however long MPI_Init() takes. */
static void report_start(const struct mtlm_activity *seen)
{
    if (joined || start_said || launched_together == 1
        || launched_rank >= MTLM_START_RANKS
        || seen->waited_ns < MTLM_START_S * 1e9)
        return;
    start_said = true;
    mtlm_warn("rank %d has waited for %s for %.0f s; a rank that ended "
              "early (--print-config, another program) or never started is "
              "missing",
              launched_rank < 0 ? 0 : launched_rank, seen->what,
              seen->waited_ns * 1e-9);
}

static void look_once(int64_t pause)
{
    const int64_t began = mtlm_now_ns();
    const struct mtlm_activity seen = mtlm_activity_look();
    int64_t late;
    bool turn;

    judge_disk(&seen);
    judge_tasks();
    judge_policy();
    if (!pulse) {
        report_start(&seen);
        if (seen.waited_ns > limit_ns)
            end_late_job(seen.waited_ns * 1e-9, seen.what,
                         "a peer hangs or is lost");
        return;
    }
    turn = exchange_signs(pause);
    /* The process was stopped while it waited for its turn: old signs. */
    late = mtlm_now_ns() - began - pause;
    if (late > MTLM_ASLEEP_NS)
        shift_times(late);
    else if (turn)
        judge_ranks(seen.waits ? seen.what : NULL, seen.waited_ns * 1e-9);
    else if (mtlm_now_ns() - turn_ns > limit_ns)
        end_late_job((mtlm_now_ns() - turn_ns) * 1e-9,
                     "a call of MPI to return", "a peer hangs or is lost");
}

static void *run_watchdog(void *arg)
{
    const int64_t part = limit_ns / MTLM_LOOKS;
    const int64_t pause = part < LOOK_NS ? part : LOOK_NS;
    int64_t until = mtlm_now_ns();

    (void) arg;
    pthread_mutex_lock(&mutex);
    while (!stopping) {
        const int64_t late = mtlm_now_ns() - until;
        struct timespec t;

        if (late > MTLM_ASLEEP_NS)
            shift_times(late);
        look_once(pause);
        until = mtlm_now_ns() + pause;
        t = (struct timespec){until / 1000000000, until % 1000000000};
        pthread_cond_clockwait(&wake, &mutex, CLOCK_MONOTONIC, &t);
    }
    pthread_mutex_unlock(&mutex);
    return NULL;
}

void mtlm_watchdog_start(double seconds)
{
    limit_ns = (int64_t) (1e9 * (seconds > 0 ? seconds : MTLM_WATCHDOG_S));
    stopping = false;
    turn_ns = mtlm_now_ns();
    launched_rank = mtlm_launcher_rank();
    launched_together = mtlm_launcher_together();
    mtlm_activity_start();
    if (pthread_create(&thread, NULL, run_watchdog, NULL) != 0)
        mtlm_fatal(__FILE__, __LINE__, "cannot start the watchdog");
}

void mtlm_watchdog_stop(void)
{
    if (!limit_ns)
        return;
    pthread_mutex_lock(&mutex);
    stopping = true;
    pthread_cond_signal(&wake);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    limit_ns = 0;
}

void mtlm_watchdog_attach(struct mtlm_pulse *of)
{
    pthread_mutex_lock(&mutex);
    pulse = of;
    joined = true;
    turn_ns = mtlm_now_ns();
    mtlm_activity_progress();
    pthread_mutex_unlock(&mutex);
}
