/* Signal handlers: the first signal sets a flag, the second ends the process.
 */

#include "config.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/exit_code.h"
#include "runtime/machine/signals.h"

static volatile sig_atomic_t requested, signalled;
static _Atomic int64_t deadline_ns = INT64_MAX;

static void on_signal(int number)
{
    static const char text[] = "mtlm-dag: second signal, stopping now\n";

    if (signalled) {
        const ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);

        (void) written; /* the process ends anyway */
        _exit(128 + number);
    }
    signalled = number;
}

static void on_stop(int number)
{
    (void) number;
    _exit(MTLM_EXIT_INTERRUPTED);
}

static const int numbers[] = {SIGINT, SIGTERM, SIGUSR1};
enum { NUMBERS = sizeof(numbers) / sizeof(numbers[0]) };

void mtlm_signals_start(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    sigemptyset(&action.sa_mask);
    for (int i = 0; i < NUMBERS; i++)
        sigaction(numbers[i], &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

void mtlm_signals_end_at_once(void)
{
    for (int i = 0; i < NUMBERS; i++)
        signal(numbers[i], numbers[i] == SIGUSR1 ? on_stop : SIG_DFL);
    if (signalled)
        raise(signalled);
}

void mtlm_stop_request(void)
{
    requested = 1;
}

void mtlm_stop_at(int64_t ns)
{
    deadline_ns = ns;
}

int mtlm_stop_requested(void)
{
    if (signalled)
        return MTLM_STOP_SIGNAL;
    return requested || mtlm_now_ns() > deadline_ns ? MTLM_STOP_TIME : 0;
}
