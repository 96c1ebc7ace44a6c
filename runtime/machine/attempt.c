/* Calls a function in a child process. */

#include "config.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/machine/attempt.h"

/* Signals as a new program has them, and limits of time. */
static void start_child(int seconds)
{
    static const int signals[] = {SIGILL,  SIGSEGV, SIGBUS, SIGFPE,
                                  SIGABRT, SIGPROF, SIGALRM};
    const struct rlimit no_core = {0, 0};
    const struct itimerval processor = {.it_value = {seconds, 0}};

    setrlimit(RLIMIT_CORE, &no_core);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        signal(signals[i], SIG_DFL);
    setitimer(ITIMER_PROF, &processor, NULL);
    alarm(30 * (unsigned) seconds);
}

int mtlm_attempt(void (*attempt)(void *), void *context, int seconds)
{
    const pid_t child = fork();
    int status = 0;

    if (child == 0) {
        start_child(seconds);
        attempt(context);
        _exit(0);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (child < 0)
        return -1;
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

/* A process with a limit has no fine clock: Linux counts its time in ticks. */
double mtlm_attempt_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}
