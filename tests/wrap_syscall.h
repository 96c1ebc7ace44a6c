/* System calls that a test sees.  For one file of a program that is linked with
 * -Wl,--wrap=syscall. */
#ifndef MTLM_TESTS_WRAP_SYSCALL_H
#define MTLM_TESTS_WRAP_SYSCALL_H

#include <stdarg.h>

/* The test defines this function, which may change the arguments before the
 * kernel gets them. */
static void change_syscall(long number, long a[6]);

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

/* In place of the C library's. */
long __wrap_syscall(long number, ...)
{
    long a[6];
    va_list args;

    va_start(args, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    change_syscall(number, a);
    return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

#endif /* MTLM_TESTS_WRAP_SYSCALL_H */
