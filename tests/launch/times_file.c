#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/launch/parse.h"
#include "tests/launch/times_file.h"

char times_file[] = "/tmp/mtlm-test.XXXXXX";

void times_file_write(const char *text)
{
    FILE *file = fopen(times_file, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

int times_file_setup(void **state)
{
    const int file = mkstemp(times_file);

    close(file);
    return file < 0 ? -1 : parse_setup(state);
}

int times_file_teardown(void **state)
{
    unlink(times_file);
    return parse_teardown(state);
}
