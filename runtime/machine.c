#include "config.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <starpu.h>

#include "runtime/machine.h"
#include "runtime/plugin.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool running; /* whether StarPU can be asked; guarded by mutex */

static void set_running(bool so)
{
    pthread_mutex_lock(&mutex);
    running = so;
    pthread_mutex_unlock(&mutex);
}

int mtlm_machine_wanted_workers(int otherwise)
{
    const char *text = getenv("STARPU_NCPU");

    return text && atoi(text) > 0 ? atoi(text) : otherwise;
}

/* StarPU only warns of a policy that it does not take, and takes another. */
static int check_policy(struct mtlm_error *err)
{
    if (strcmp(mtlm_plugin_wanted(), mtlm_machine_policy()) == 0)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "STARPU_SCHED=%s is called %s by itself",
                          mtlm_plugin_wanted(), mtlm_machine_policy());
}

/* Ranks in one directory must not write the same file. */
static void name_trace(int rank)
{
    char name[16];

    snprintf(name, sizeof(name), "r%d", rank);
    setenv("STARPU_FXT_SUFFIX", name, 0);
}

int mtlm_machine_start(int workers, int shared, int rank,
                       struct mtlm_error *err)
{
    struct starpu_conf conf;
    int rc;

    starpu_conf_init(&conf);
    if (mtlm_plugin_choose(&conf, err) < 0)
        return -1;
    conf.ncpus = workers;
    /* Kernels of a GPU have not run yet, and results must not depend on
     * which of two kinds of worker was free. */
    conf.ncuda = 0;
    conf.nopencl = 0;
    /* It would count more than the number that was decided on. */
    unsetenv("STARPU_NCPU");
    setenv("STARPU_SILENT", "1", 0);
    if (shared)
        setenv("STARPU_WORKERS_NOBIND", "1", 0);
    name_trace(rank);
    rc = starpu_init(&conf);
    if (rc < 0)
        return mtlm_error_set(err, MTLM_EXIT_PEER,
                              "StarPU does not start with %d workers: %s",
                              workers, strerror(-rc));
    if (check_policy(err) < 0) {
        starpu_shutdown();
        return -1;
    }
    set_running(true);
    return 0;
}

int mtlm_machine_workers(void)
{
    return starpu_cpu_worker_get_count();
}

bool mtlm_machine_busy(void)
{
    bool busy;

    pthread_mutex_lock(&mutex);
    busy = running && starpu_task_nready() > 0;
    pthread_mutex_unlock(&mutex);
    return busy;
}

const char *mtlm_machine_policy(void)
{
    return starpu_sched_get_sched_policy()->policy_name;
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
}
