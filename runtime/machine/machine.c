/* Starts and stops StarPU with the workers of a rank, and counts what they do.
 */

#include "config.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <starpu.h>
#if HAVE_CUDA
#include <starpu_cuda.h>
#endif

#include "runtime/machine/idle.h"
#include "runtime/machine/machine.h"
#include "runtime/machine/plugin.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool running; /* StarPU answers questions; guarded by mutex */

static void set_running(bool so)
{
    pthread_mutex_lock(&mutex);
    running = so;
    pthread_mutex_unlock(&mutex);
}

int mtlm_machine_most_workers(bool messages)
{
    return STARPU_MAXCPUS - messages;
}

/* The first one that is set counts, as in StarPU. */
static const char *const worker_variables[] = {"STARPU_NCPU", "STARPU_NCPUS"};
enum {
    WORKER_VARIABLES = sizeof(worker_variables) / sizeof(worker_variables[0])
};

const char *mtlm_machine_wanted_workers(int *workers)
{
    for (int i = 0; i < WORKER_VARIABLES; i++) {
        const char *text = getenv(worker_variables[i]);

        if (!text || atoi(text) <= 0)
            continue;
        *workers = atoi(text);
        return worker_variables[i];
    }
    return NULL;
}

/* Checks the policy in force: StarPU only warns when it takes another one. */
static int check_policy(struct mtlm_error *err)
{
    if (strcmp(mtlm_plugin_wanted(), mtlm_machine_policy()) == 0)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "STARPU_SCHED=%s names a policy that calls itself %s",
                          mtlm_plugin_wanted(), mtlm_machine_policy());
}

/* Names StarPU's trace by rank: ranks may share a directory. */
static void name_trace(int rank)
{
    char name[16];

    snprintf(name, sizeof(name), "r%d", rank);
    setenv("STARPU_FXT_SUFFIX", name, 0);
}

static struct mtlm_epilogue_wishes epilogues;

const struct mtlm_epilogue_wishes *mtlm_machine_epilogues(void)
{
    return &epilogues;
}

static int message_worker = -1;
/* Messages in flight that are tasks: StarPU counts them as ready or running. */
static _Atomic int messages_under_way;
/* All workers that compute, for task->workerids. */
enum { BITS = 32, WORDS = STARPU_NMAXWORKERS / BITS + 1 };
static uint32_t compute_workers[WORDS];

/* Divides the workers: the last CPU worker is for messages, all others
 * compute. */
static void name_workers(int cpus, bool messages)
{
    message_worker =
        messages ? starpu_worker_get_by_type(STARPU_CPU_WORKER, cpus - 1) : -1;
    memset(compute_workers, 0, sizeof(compute_workers));
    for (int id = 0; id < (int) starpu_worker_get_count(); id++)
        if (id != message_worker)
            compute_workers[id / BITS] |= UINT32_C(1) << id % BITS;
}

int mtlm_machine_message_worker(void)
{
    return message_worker;
}

void mtlm_machine_count_message(int change)
{
    messages_under_way += change;
}

/* Returns the CPU worker of this number among those that compute; -1: there is
 * none, or a GPU computes: a task with a CUDA kernel does not run on a CPU. */
static int compute_worker(int number)
{
    const int id = starpu_cuda_worker_get_count() > 0
                       ? -1
                       : starpu_worker_get_by_type(STARPU_CPU_WORKER, number);

    return id == message_worker ? -1 : id;
}

void mtlm_machine_restrict(struct starpu_task *task, int worker)
{
    const int id = worker >= 0 ? compute_worker(worker) : -1;

    if (id >= 0) {
        task->execute_on_a_specific_worker = 1;
        task->workerid = id;
        return;
    }
    if (message_worker < 0)
        return;
    task->workerids = compute_workers;
    task->workerids_len = WORDS;
}

/* StarPU started other workers than asked for. */
static int refuse_workers(const struct starpu_conf *conf, bool messages,
                          struct mtlm_error *err)
{
    const int got = starpu_cpu_worker_get_count();
    const int gpus = starpu_cuda_worker_get_count();

    starpu_shutdown();
    if (gpus != conf->ncuda)
        return mtlm_error_set(err, MTLM_EXIT_PEER,
                              "StarPU does not start on GPU %d; this StarPU "
                              "may have been built without CUDA",
                              (int) conf->workers_cuda_gpuid[0]);
    return mtlm_error_set(
        err, MTLM_EXIT_PEER,
        "StarPU started %d workers instead of %d (--workers%s)", got,
        conf->ncpus, messages ? ", and one for --comm-node task" : "");
}

/* A thread that submits tasks must not wait for tasks to end.  Ranks that wait
 * have not posted the same collectives, and may wait for each other.  The
 * communication thread, which submits messages as tasks, ends tasks itself. */
static void allow_any_number_of_tasks(void)
{
    unsetenv("STARPU_LIMIT_MAX_SUBMITTED_TASKS");
    unsetenv("STARPU_LIMIT_MIN_SUBMITTED_TASKS");
}

/* Refuses a device that StarPU cannot drive as one worker. */
static int check_gpu(int gpu, struct mtlm_error *err)
{
    const char *text = getenv("STARPU_NWORKER_PER_CUDA");

    if (gpu >= STARPU_MAXCUDADEVS)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "this rank would drive GPU %d, and this StarPU "
                              "has GPUs 0 to %d; give each rank GPUs of its "
                              "own in CUDA_VISIBLE_DEVICES",
                              gpu, STARPU_MAXCUDADEVS - 1);
    if (gpu >= 0 && text && atoi(text) != 1)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "the environment variable "
                              "STARPU_NWORKER_PER_CUDA=%s: a GPU has one "
                              "worker here",
                              text);
    return 0;
}

/* StarPU takes memory of a GPU in chunks of 32 MiB: with a smaller limit its
 * first allocation waits for ever.  A chunk is part of
 * MTLM_GPU_LIBRARIES_BYTES. */
#define LEAST_MIB 64.0

/* Gives StarPU one device; its variables must not name another. */
static void take_gpu(const struct mtlm_machine_config *config,
                     struct starpu_conf *conf)
{
    char text[32];

    conf->ncuda = config->gpu >= 0;
    unsetenv("STARPU_NCUDA");
    unsetenv("STARPU_WORKERS_CUDAID");
    if (config->gpu < 0)
        return;
    conf->use_explicit_workers_cuda_gpuid = 1;
    conf->workers_cuda_gpuid[0] = config->gpu;
    snprintf(text, sizeof(text), "%.0f",
             fmax(config->gpu_bytes / (1 << 20), LEAST_MIB));
    setenv("STARPU_LIMIT_CUDA_MEM", text, 0);
    /* With 1, StarPU starts a task when the previous one has ended: the device
     * is idle after each task.  With 2, one task waits behind the running one,
     * even when a more urgent task becomes ready: at most one task late.  With
     * 4 an iteration is 1 % shorter if its tasks follow each other, else not
     * (perf/results/gpu-nvidia-h200.md). */
    setenv("STARPU_CUDA_PIPELINE", "2", 0);
}

#if HAVE_CUDA
static void set_device(void *gpu)
{
    starpu_cuda_set_device(*(int *) gpu);
}

/* Sets the device of a worker's thread.  When a CPU worker allocates pinned
 * memory, CUDA makes a context on the thread's device.  The default is device
 * 0, perhaps another rank's. */
static void use_on_cpu_workers(int gpu)
{
    if (gpu >= 0)
        starpu_execute_on_each_worker(set_device, &gpu, STARPU_CPU);
}
#else
static void use_on_cpu_workers(int gpu)
{
    (void) gpu;
}
#endif

/* Refuses STARPU_USE_NUMA where values have one address. */
static int check_memories(const struct mtlm_machine_config *config,
                          struct mtlm_error *err)
{
    const int n = starpu_memory_nodes_get_numa_count();

    if (!config->one_memory || n <= 1)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "the environment variable STARPU_USE_NUMA makes %d "
                          "memories of this host; --comm-node task and "
                          "--offload need one",
                          n);
}

int mtlm_machine_start(const struct mtlm_machine_config *config,
                       struct mtlm_error *err)
{
    const bool messages = config->messages;
    struct starpu_conf conf;
    int rc;

    if (check_gpu(config->gpu, err) < 0)
        return -1;
    starpu_conf_init(&conf);
    if (mtlm_plugin_choose(&conf, config->policies, config->rank, err) < 0)
        return -1;
    conf.ncpus = (config->gpu < 0 ? config->workers : 1) + messages;
    take_gpu(config, &conf);
    conf.nopencl = 0;
    /* StarPU would count other workers than decided. */
    for (int i = 0; i < WORKER_VARIABLES; i++)
        unsetenv(worker_variables[i]);
    setenv("STARPU_SILENT", "1", 0);
    if (config->shared)
        setenv("STARPU_WORKERS_NOBIND", "1", 0);
    allow_any_number_of_tasks();
    name_trace(config->rank);
    epilogues = config->epilogues;
    rc = starpu_init(&conf);
    if (rc < 0)
        return mtlm_error_set(err, MTLM_EXIT_PEER,
                              "StarPU does not start with %d workers: %s",
                              config->workers, strerror(-rc));
    if (check_policy(err) < 0 || check_memories(config, err) < 0) {
        starpu_shutdown();
        return -1;
    }
    if ((int) starpu_cpu_worker_get_count() != conf.ncpus
        || (int) starpu_cuda_worker_get_count() != conf.ncuda)
        return refuse_workers(&conf, messages, err);
    name_workers(conf.ncpus, messages);
    use_on_cpu_workers(config->gpu);
    mtlm_idle_start();
    set_running(true);
    return 0;
}

bool mtlm_machine_busy(void)
{
    bool busy;

    pthread_mutex_lock(&mutex);
    busy = running && starpu_task_nready() > messages_under_way;
    pthread_mutex_unlock(&mutex);
    return busy;
}

/* Asks for the context of starpu_init(): a policy may have made others. */
const char *mtlm_machine_policy(void)
{
    return starpu_sched_get_sched_policy_in_ctx(0)->policy_name;
}

const char *mtlm_machine_policy_file(void)
{
    return mtlm_plugin_used();
}

const char *mtlm_machine_starpu_version(void)
{
    static char text[32];
    int major, minor, release;

    starpu_get_version(&major, &minor, &release);
    snprintf(text, sizeof(text), "%d.%d.%d", major, minor, release);
    return text;
}

void mtlm_machine_stop(void)
{
    set_running(false);
    starpu_shutdown();
    mtlm_idle_stop();
}
