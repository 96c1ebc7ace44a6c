/* Reports writes to standard output that fail, at the latest when the program
 * ends. */

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/exit_code.h"
#include "runtime/base/standard_output.h"

static bool said; /* the failure */

/* The errno of a further byte.  A printf() that filled the buffer has failed
 * before, and errno has changed since. */
static int ask_again(void)
{
    return write(STDOUT_FILENO, "\n", 1) < 0 ? errno : EIO;
}

int mtlm_standard_output_flush(void)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    if (errno == 0)
        errno = ask_again();
    if (!said) {
        const int reason = errno;

        said = true;
        fprintf(stderr, "%s: standard output cannot be written: %s\n",
                program_invocation_short_name, strerror(reason));
        errno = reason;
    }
    return errno;
}

/* Other functions of exit() do not run after a failure. */
static void check_at_exit(int status, void *arg)
{
    (void) arg;
    if (mtlm_standard_output_flush() && status == MTLM_EXIT_OK) {
        fflush(stderr);
        _exit(MTLM_EXIT_IO);
    }
}

void mtlm_standard_output_start(void)
{
    /* The opposite access: reading 0, or writing 1 and 2, fails. */
    static const int flags[] = {O_WRONLY, O_RDONLY, O_RDONLY};

    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", flags[fd]) != fd)
            _exit(MTLM_EXIT_IO);
    on_exit(check_at_exit, NULL);
}
