/* Calls a function in a child process. */

#include "config.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
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
    alarm(MTLM_ATTEMPT_PATIENCE * (unsigned) seconds);
}

void mtlm_attempt_keep_children(struct sigaction *before)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};

    sigaction(SIGCHLD, NULL, before);
    if (before->sa_handler == SIG_IGN || (before->sa_flags & SA_NOCLDWAIT))
        sigaction(SIGCHLD, &usual, NULL);
}

int mtlm_attempt(void (*attempt)(void *), void *context, int seconds)
{
    struct sigaction before;
    pid_t child, ended;
    int status = 0;

    mtlm_attempt_keep_children(&before);
    ended = child = fork();
    if (child == 0) {
        start_child(seconds);
        attempt(context);
        _exit(0);
    }
    while (child > 0 && (ended = waitpid(child, &status, 0)) < 0
           && errno == EINTR)
        ;
    sigaction(SIGCHLD, &before, NULL);
    if (ended < 0)
        return -1;
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

int mtlm_attempt_refused(const char *what, struct mtlm_error *err)
{
    return mtlm_error_set(err, MTLM_EXIT_RESOURCE, "no process can try %s: %s",
                          what, strerror(errno));
}

/* A process with a limit has no fine clock: Linux counts its time in ticks. */
double mtlm_attempt_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}
