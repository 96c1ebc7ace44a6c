#include "config.h"

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

/* Names of all policies that StarPU knows, those of STARPU_SCHED_LIB too. */
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

/* StarPU only warns of a name that it does not know, and takes another. */
static int check_policy(struct mtlm_error *err)
{
    const char *wanted = getenv("STARPU_SCHED");
    char list[400];

    if (!wanted || !*wanted || strcmp(wanted, mtlm_machine_policy()) == 0)
        return 0;
    list_policies(list, sizeof(list));
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "STARPU_SCHED=%s is no scheduling policy; StarPU "
                          "has %s",
                          wanted, list);
}

int mtlm_machine_start(int workers, int shared, struct mtlm_error *err)
{
    struct starpu_conf conf;
    int rc;

    starpu_conf_init(&conf);
    conf.sched_policy_name = MTLM_DEFAULT_POLICY;
    conf.ncpus = workers;
#if !HAVE_CUDA
    conf.ncuda = 0;
#endif
    conf.nopencl = 0;
    setenv("STARPU_SILENT", "1", 0);
    if (shared)
        setenv("STARPU_WORKERS_NOBIND", "1", 0);
    rc = starpu_init(&conf);
    if (rc < 0)
        return mtlm_error_set(err, MTLM_EXIT_PEER,
                              "StarPU does not start with %d workers: %s",
                              workers, strerror(-rc));
    if (check_policy(err) < 0) {
        starpu_shutdown();
        return -1;
    }
    return 0;
}

int mtlm_machine_workers(void)
{
    return starpu_worker_get_count();
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
