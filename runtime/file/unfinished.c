/* A list of files, and a signal handler that removes the files. */

#include "config.h"

#include <assert.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/memory.h"
#include "runtime/file/unfinished.h"

static const int ending[] = {SIGHUP, SIGINT, SIGTERM, SIGUSR1};
enum { ENDING = sizeof(ending) / sizeof(ending[0]) };

static char **volatile path; /* [n_paths] */
static volatile sig_atomic_t n_paths;
static int capacity;

/* The signal comes again at the return, and then ends the process. */
static void remove_all(int number)
{
    for (int i = n_paths - 1; i >= 0; i--)
        remove(path[i]);
    raise(number);
}

static void catch_signals(void)
{
    struct sigaction before,
        action = {.sa_handler = remove_all, .sa_flags = SA_RESETHAND};

    sigemptyset(&action.sa_mask);
    for (int i = 0; i < ENDING; i++)
        sigaddset(&action.sa_mask, ending[i]);
    for (int i = 0; i < ENDING; i++)
        if (sigaction(ending[i], NULL, &before) == 0
            && before.sa_handler == SIG_DFL)
            sigaction(ending[i], &action, NULL);
}

/* A signal sees the old list or the new one. */
static void grow(void)
{
    char **old = path, **longer;

    capacity = 2 * capacity + 16;
    longer = mtlm_calloc(capacity, sizeof(*longer));
    for (int i = 0; i < n_paths; i++)
        longer[i] = old[i];
    path = longer;
    free(old);
}

void mtlm_unfinished_add(const char *name)
{
    if (n_paths == capacity)
        grow();
    path[n_paths] = mtlm_strdup(name);
    n_paths++;
    catch_signals();
}

void mtlm_unfinished_drop(int n)
{
    assert(n <= n_paths);
    for (; n > 0; n--) {
        n_paths--;
        free(path[n_paths]);
        path[n_paths] = NULL;
    }
}
