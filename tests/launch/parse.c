#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/plan/dry_run.h"
#include "tests/launch/parse.h"

struct mtlm_options options;
struct mtlm_error error;

static char config_name[] = "/tmp/mtlm-test.XXXXXX";

int parse(const char *line)
{
    char program[] = "mtlm-dag", *text = strdup(line), *rest = NULL;
    char *argv[128] = {program};
    int argc = 1, rc;

    for (char *word = strtok_r(text, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest)) {
        assert_true(argc < 127);
        if (strcmp(word, "''") == 0)
            *word = '\0';
        argv[argc++] = word;
    }
    mtlm_options_free(&options);
    error = (struct mtlm_error){0};
    rc = mtlm_options_parse(&options, argc, argv, &error);
    free(text);
    return rc;
}

void accepts(const char *line)
{
    if (parse(line) != 0)
        fail_msg("%s: %s", line, error.text);
}

void refuses(const char *line, const char *sentence)
{
    assert_int_equal(parse(line), -1);
    assert_string_equal(error.text, sentence);
    assert_int_equal(error.code, MTLM_EXIT_USAGE);
}

char *plan_of(const char *line)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_int_equal(parse(line), MTLM_REQUEST_PLAN);
    if (mtlm_dry_run(&options, out, &error) < 0)
        fail_msg("%s: %s", line, error.text);
    fclose(out);
    assert_non_null(text);
    return text;
}

static void write_config(const char *text)
{
    FILE *file = fopen(config_name, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

void accepts_config(const char *text, const char *line)
{
    char *all;

    write_config(text);
    assert_true(asprintf(&all, "--config %s %s", config_name, line) > 0);
    accepts(all);
    free(all);
}

void refuses_line_config(const char *text, const char *line,
                         const char *sentence)
{
    char *all;

    write_config(text);
    assert_true(asprintf(&all, "--config %s %s", config_name, line) > 0);
    refuses(all, sentence);
    free(all);
}

void refuses_config(const char *text, const char *sentence)
{
    char *want;

    assert_true(asprintf(&want, "%s%s", config_name, sentence) > 0);
    refuses_line_config(text, "--model gpt-tiny", want);
    free(want);
}

int parse_setup(void **state)
{
    const int fd = mkstemp(config_name);

    (void) state;
    return fd < 0 ? -1 : close(fd);
}

int parse_teardown(void **state)
{
    (void) state;
    mtlm_options_free(&options);
    return unlink(config_name);
}

double number_after(const char *text, const char *phrase)
{
    const char *at = strstr(text, phrase);

    if (!at)
        fail_msg("no \"%s\" in\n%s", phrase, text);
    return atof(at + strlen(phrase));
}
