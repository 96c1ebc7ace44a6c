#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "models/weights/manifest.h"
#include "tests/launch/parse.h"
#include "tests/launch/stored.h"

char stored_dir[] = "/tmp/mtlm-test.XXXXXX";
char stored_checkpoint[64];

void stored_write(const char *settings, const char *others)
{
    struct mtlm_manifest m = {.iteration = 7,
                              .settings = json_loads(settings, 0, NULL),
                              .options =
                                  others ? json_loads(others, 0, NULL) : NULL,
                              .state = json_object()};

    assert_non_null(m.settings);
    assert_int_equal(!m.options, !others);
    assert_int_equal(mtlm_manifest_write(&m, stored_checkpoint, &error), 0);
    mtlm_manifest_free(&m);
}

void accepts_load(const char *rest)
{
    char line[512];

    snprintf(line, sizeof(line), "--load %s %s", stored_dir, rest);
    accepts(line);
}

void refuses_load(const char *rest, const char *sentence)
{
    char line[512], want[512];

    snprintf(line, sizeof(line), "--load %s %s", stored_dir, rest);
    snprintf(want, sizeof(want), "%s %s", stored_checkpoint, sentence);
    refuses(line, want);
}

int stored_setup(void **state)
{
    if (!mkdtemp(stored_dir))
        return -1;
    snprintf(stored_checkpoint, sizeof(stored_checkpoint), "%s/iter_0000007",
             stored_dir);
    return mkdir(stored_checkpoint, 0777) < 0 ? -1 : parse_setup(state);
}

int stored_teardown(void **state)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/manifest.json", stored_checkpoint);
    unlink(path);
    rmdir(stored_checkpoint);
    rmdir(stored_dir);
    return parse_teardown(state);
}
