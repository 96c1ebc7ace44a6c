#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <starpu.h>

#include "runtime/machine.h"

int mtlm_machine_wanted_workers(int otherwise)
{
    const char *text = getenv("STARPU_NCPU");

    return text && atoi(text) > 0 ? atoi(text) : otherwise;
}

/* Names of the policies that StarPU comes with. */
static void list_policies(char *text, size_t size)
{
    struct starpu_sched_policy **policy =
        starpu_sched_get_predefined_policies();
    size_t n = 0;

    text[0] = '\0';
    for (; policy && *policy && n < size; policy++)
        n += snprintf(text + n, size - n, "%s%s", n ? ", " : "",
                      (*policy)->policy_name);
}

static bool is_known(const char *name)
{
    struct starpu_sched_policy **policy =
        starpu_sched_get_predefined_policies();

    for (; policy && *policy; policy++)
        if (strcmp((*policy)->policy_name, name) == 0)
            return true;
    return false;
}

static int refuse_policy(const char *name, struct mtlm_error *err)
{
    char list[800];

    list_policies(list, sizeof(list));
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "STARPU_SCHED=%s is no scheduling policy; StarPU "
                          "has %s",
                          name, list);
}

/* StarPU only warns of a name that it does not know, and takes another.
 * Before it starts, for a clean message; policies of a library are only
 * known afterwards. */
static int check_policy(bool started, struct mtlm_error *err)
{
    const char *wanted = getenv("STARPU_SCHED");

    if (!wanted || !*wanted)
        return 0;
    if (started ? strcmp(wanted, mtlm_machine_policy()) == 0
                : is_known(wanted) || getenv("STARPU_SCHED_LIB"))
        return 0;
    return refuse_policy(wanted, err);
}

int mtlm_machine_start(int workers, int shared, struct mtlm_error *err)
{
    struct starpu_conf conf;
    int rc;

    if (check_policy(false, err) < 0)
        return -1;
    starpu_conf_init(&conf);
    conf.sched_policy_name = MTLM_DEFAULT_POLICY;
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
    rc = starpu_init(&conf);
    if (rc < 0)
        return mtlm_error_set(err, MTLM_EXIT_PEER,
                              "StarPU does not start with %d workers: %s",
                              workers, strerror(-rc));
    if (check_policy(true, err) < 0) {
        starpu_shutdown();
        return -1;
    }
    return 0;
}

int mtlm_machine_workers(void)
{
    return starpu_cpu_worker_get_count();
}

bool mtlm_machine_busy(void)
{
    return starpu_task_nready() > 0;
}

const char *mtlm_machine_policy(void)
{
    return starpu_sched_get_sched_policy()->policy_name;
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
    starpu_shutdown();
}
