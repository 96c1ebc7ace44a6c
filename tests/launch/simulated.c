/* Simulations in tests: text and numbers of one, and what stands in a text. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "launch/plan/cluster.h"
#include "launch/plan/described.h"
#include "launch/simulate/simulate.h"
#include "tests/launch/parse.h"
#include "tests/launch/simulated.h"

char *simulated(const char *name, const char *line)
{
    char *all = mtlm_sprintf("--simulate %s %s", name, line), *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_int_equal(parse(all), MTLM_REQUEST_SIMULATE);
    if (mtlm_simulate(&options, out, &error) < 0) {
        fclose(out);
        free(text);
        text = NULL;
    } else {
        fclose(out);
    }
    free(all);
    return text;
}

const char *cluster_path(const char *name)
{
    static char path[512];
    const char *srcdir = getenv("srcdir");

    snprintf(path, sizeof(path), "%s/launch/clusters/%s.ini",
             srcdir ? srcdir : ".", name);
    return path;
}

static char *text_on(const char *path, const char *line)
{
    char *text = simulated(path, line);

    if (!text)
        fail_msg("%s: %s", line, error.text);
    return text;
}

char *text_of(const char *name, const char *line)
{
    return text_on(cluster_path(name), line);
}

struct mtlm_layout_search search_of(const char *name, const char *line)
{
    const char *path = cluster_path(name);
    char *all = mtlm_sprintf("--simulate %s %s", path, line);
    struct mtlm_layout_search search;
    struct mtlm_cluster cluster;
    struct mtlm_hosts hosts;
    struct mtlm_wish wish;

    assert_int_equal(parse(all), MTLM_REQUEST_SIMULATE);
    free(all);
    if (mtlm_cluster_read(&cluster, path, "--simulate", &error) < 0)
        fail_msg("%s", error.text);
    wish = mtlm_described_wish(&options, &cluster);
    if (mtlm_described_hosts(&options, &cluster, path, options.world_size,
                             &hosts, &error)
        < 0)
        fail_msg("%s", error.text);
    search = mtlm_layout_search_make(&options, &wish, &hosts, &cluster);
    if (search.n == 0)
        fail_msg("no layout: %s", line);
    return search;
}

json_t *numbers_on(const char *path, const char *line)
{
    char metrics[] = "/tmp/mtlm-simulate.XXXXXX";
    const int fd = mkstemp(metrics);
    char *more = mtlm_sprintf("%s --metrics %s", line, metrics);
    json_error_t why;
    json_t *all, *numbers;

    assert_true(fd >= 0);
    close(fd);
    free(text_on(path, more));
    all = json_load_file(metrics, JSON_REJECT_DUPLICATES, &why);
    if (!all)
        fail_msg("%s: %s", line, why.text);
    numbers = json_incref(json_object_get(all, "simulation"));
    assert_non_null(numbers);
    json_decref(all);
    unlink(metrics);
    free(more);
    return numbers;
}

json_t *numbers_of(const char *name, const char *line)
{
    return numbers_on(cluster_path(name), line);
}

double number(const json_t *numbers, const char *name)
{
    const json_t *value = json_object_get(numbers, name);

    if (!json_is_number(value))
        fail_msg("%s is no number", name);
    return json_number_value(value);
}

double seconds_of(const char *name, const char *line)
{
    json_t *numbers = numbers_of(name, line);
    const double seconds = number(numbers, "iteration_s");

    json_decref(numbers);
    return seconds;
}

void near(double have, double want, double tolerance)
{
    if (!(fabs(have - want) <= tolerance * fabs(want)))
        fail_msg("%.12g, not %.12g", have, want);
}

void assert_says(const char *text, const char *what)
{
    if (!strstr(text, what))
        fail_msg("no \"%s\" in\n%s", what, text);
}
