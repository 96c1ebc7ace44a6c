/* What the two halves of the injector share; inject.c says what it does. */
#ifndef INJECT_H
#define INJECT_H

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>

enum mode { NONE, KILL, ENOSPC_ONCE, EIO_ONCE, SHORT, EINTR_ONCE, ENOSPC_ON };

/* The call that would be made were it not for this one. */
#define REAL(name)                                                             \
    static __typeof__(name) *real;                                             \
    if (!real)                                                                 \
    *(void **) &real = dlsym(RTLD_NEXT, #name)

/* Counts a call on an open file if it is one of the directory's; *mode: what it
 * does; path: the file. */
bool inject_counts(const char *call, int fd, const char *name,
                   char path[PATH_MAX], enum mode *mode);

/* Counts a call by name if it is in the directory: what it does. */
enum mode inject_count_at(const char *call, const char *path);

/* Whether a call that does so fails, with errno; or it never returns. */
bool inject_fails(enum mode mode, bool interruptible);

#endif /* INJECT_H */
