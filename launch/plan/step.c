/* Shows the step that a plan works on. */

#include "config.h"

#include <stdio.h>
#include <unistd.h>

#include "launch/plan/step.h"

void mtlm_step_show(const char *what)
{
    if (!isatty(STDERR_FILENO))
        return;
    fflush(stdout);
    fprintf(stderr, "\r%s ...\033[K", what);
    fflush(stderr);
}

void mtlm_step_clear(void)
{
    if (!isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "\r\033[K");
    fflush(stderr);
}
