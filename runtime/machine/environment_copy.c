/* Keeps StarPU's environment variables for another start of StarPU. */

#include "config.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/memory.h"
#include "runtime/machine/environment_copy.h"

static bool is_starpus(const char *variable)
{
    static const char prefix[] = "STARPU_";

    return strncmp(variable, prefix, sizeof(prefix) - 1) == 0
           && strchr(variable, '=');
}

char **mtlm_environment_copy(void)
{
    char **copy;
    int n = 0;

    for (char **v = environ; *v; v++)
        n += is_starpus(*v);
    copy = mtlm_calloc(n + 1, sizeof(*copy));
    n = 0;
    for (char **v = environ; *v; v++)
        if (is_starpus(*v))
            copy[n++] = mtlm_strdup(*v);
    return copy;
}

/* Sets NAME=value, or removes NAME. */
static void change(const char *variable, bool set)
{
    char *name = mtlm_strdup(variable);
    char *value = strchr(name, '=');

    *value++ = '\0';
    if (set)
        setenv(name, value, 1);
    else
        unsetenv(name);
    free(name);
}

void mtlm_environment_copy_restore(char *const *copy)
{
    for (char **v = environ; *v;)
        if (is_starpus(*v))
            change(*v, false); /* the next one moves here */
        else
            v++;
    for (; *copy; copy++)
        change(*copy, true);
}

void mtlm_environment_copy_free(char **copy)
{
    for (char **v = copy; v && *v; v++)
        free(*v);
    free(copy);
}
