/* Signals and exit status of the programs beside mtlm-dag. */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "launch/tools/tool.h"

static volatile sig_atomic_t stopped_by;

static void on_signal(int sig)
{
    stopped_by = sig;
}

void mtlm_tool_start(void)
{
    mtlm_fatal_program(program_invocation_short_name);
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
}

void mtlm_tool_catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    const struct sigaction action = {.sa_handler = on_signal,
                                     .sa_flags = (int) SA_RESETHAND};
    struct sigaction old;

    for (int i = 0; i < 3; i++) {
        sigaction(numbers[i], &action, &old);
        if (old.sa_handler == SIG_IGN)
            signal(numbers[i], SIG_IGN);
    }
}

int mtlm_tool_stopped(struct mtlm_error *err)
{
    if (!stopped_by)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_INTERRUPTED, "stopped by %s",
                          strsignal(stopped_by));
}

int mtlm_tool_end(int rc, const struct mtlm_error *err)
{
    if (rc == 0)
        return MTLM_EXIT_OK;
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, err->text);
    if (err->code == MTLM_EXIT_INTERRUPTED) {
        signal(stopped_by, SIG_DFL);
        raise(stopped_by);
    }
    return err->code;
}
