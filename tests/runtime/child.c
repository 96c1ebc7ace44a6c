#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/runtime/child.h"
#include "tests/time_scale.h"

int child_status(int (*run)(const void *arg), const void *arg, char text[256])
{
    int out[2], status;
    size_t n = 0;
    ssize_t got;
    pid_t pid;

    assert_int_equal(pipe(out), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(out[1], STDERR_FILENO);
        alarm(20 * time_scale());
        _exit(run(arg));
    }
    close(out[1]);
    while (n < 255 && (got = read(out[0], text + n, 255 - n)) > 0)
        n += got;
    text[n] = '\0';
    close(out[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}
