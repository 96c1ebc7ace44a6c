/* Reads summary.json: one table of keys per JSON object, each key with its
 * place in the struct. */
#include "config.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "launch/trace/read/read_summary.h"
#include "launch/trace/usage.h"
#include "runtime/base/memory.h"
#include "runtime/file/json_file.h"

/* Upper bound of a time, in ms: longer than any run. */
static const double most_ms = 1e12;

enum type {
    COUNT,   /* int, from least on */
    COUNT64, /* int64_t, from 0 on */
    TIME,    /* int64_t ns, in the file ms */
    REAL,    /* double */
    FLAG     /* bool */
};

enum absent {
    REFUSED,
    UNKNOWN, /* null stands for -1 */
    ZERO     /* older traces lack the key */
};

struct summary_key {
    const char *name;
    enum type type;
    size_t at;
    enum absent absent;
    int least;
};

#define AT(object, member) offsetof(struct mtlm_trace_##object, member)

static const struct summary_key of_total[] = {
    {"windows", COUNT, AT(summary, windows), REFUSED, 0},
    {"makespan_ms", TIME, AT(summary, makespan_ns), REFUSED, 0},
    {"bubble_fraction", REAL, AT(summary, bubble), REFUSED, 0},
    {"bubble_of_ideal", REAL, AT(summary, bubble_of_ideal), REFUSED, 0},
    {"stage_span_ms", TIME, AT(summary, span_ns), REFUSED, 0},
    {"stage_span_bubble", REAL, AT(summary, span_bubble), REFUSED, 0},
    {"ideal_1f1b_bubble", REAL, AT(summary, ideal_1f1b), REFUSED, 0},
    {"critical_path_ms", TIME, AT(summary, path_ns), UNKNOWN, 0},
    {"critical_path_communication_ms", TIME, AT(summary, path_comm_ns), UNKNOWN,
     0},
    {"most_work_ms", TIME, AT(summary, work_ns), REFUSED, 0},
    {"lower_bound_ms", TIME, AT(summary, bound_ns), UNKNOWN, 0},
    {"communication_ms", TIME, AT(summary, comm_ns), REFUSED, 0},
    {"overlap_ms", TIME, AT(summary, overlap_ns), REFUSED, 0},
    {"overlap_fraction", REAL, AT(summary, overlap), UNKNOWN, 0},
    {.name = NULL}};

static const struct summary_key of_rank[] = {
    {"workers", COUNT, AT(rank, workers), REFUSED, 0},
    {"window_ms", TIME, AT(rank, window_ns), REFUSED, 0},
    {"busy_ms", TIME, AT(rank, busy_ns), REFUSED, 0},
    {"communication_ms", TIME, AT(rank, comm_ns), REFUSED, 0},
    {"overlap_ms", TIME, AT(rank, overlap_ns), REFUSED, 0},
    {"bubble_fraction", REAL, AT(rank, bubble), REFUSED, 0},
    {"area_bound_ms", TIME, AT(rank, work_ns), ZERO, 0},
    {.name = NULL}};

static const struct summary_key of_account[] = {
    {"rank", COUNT, AT(account, rank), REFUSED, 0},
    {"worker", COUNT, AT(account, worker), REFUSED, 0},
    {"window_ms", TIME, AT(account, window_ns), REFUSED, 0},
    {"compute_ms", TIME, AT(account, compute_ns), REFUSED, 0},
    {"wait_data_ms", TIME, AT(account, data_ns), REFUSED, 0},
    {"wait_communication_ms", TIME, AT(account, comm_ns), REFUSED, 0},
    {"runtime_ms", TIME, AT(account, runtime_ns), REFUSED, 0},
    {"idle_ms", TIME, AT(account, end_ns), REFUSED, 0},
    {.name = NULL}};

/* Keys of an iteration: only those that pictures show. */
static const struct summary_key of_iteration[] = {
    {"iteration", COUNT, AT(iteration, iteration), REFUSED, 1},
    {"counts", FLAG, AT(iteration, counts), REFUSED, 0},
    {"begin_ms", TIME, AT(iteration, begin_ns), REFUSED, 0},
    {"end_ms", TIME, AT(iteration, end_ns), REFUSED, 0},
    {.name = NULL}};

/* Keys of a class.  In the file, all but the count are per iteration. */
static const struct summary_key of_class[] = {
    {"count", COUNT64, AT(class_time, count), REFUSED, 0},
    {"ms", TIME, AT(class_time, ns), REFUSED, 0},
    {"total_ms", TIME, AT(class_time, total_ns), ZERO, 0},
    {"flops", REAL, AT(class_time, flops), REFUSED, 0},
    {"bytes", REAL, AT(class_time, bytes), REFUSED, 0},
    {.name = NULL}};

static const struct summary_key of_wait[] = {
    {"rank", COUNT, AT(wait, rank), REFUSED, 0},
    {"peer", COUNT, AT(wait, peer), REFUSED, -1},
    {"ms", TIME, AT(wait, ns), REFUSED, 0},
    {"share", REAL, AT(wait, share), REFUSED, 0},
    {.name = NULL}};

struct reader {
    const char *path;
    const char *list; /* key of the list that is read; NULL: the file's */
    size_t i;         /* place in the list */
    struct mtlm_error *err;
};

static int refuse(const struct reader *r, const char *key, const char *why)
{
    char place[64] = "";

    if (r->list)
        snprintf(place, sizeof(place), "%s[%zu]: ", r->list, r->i);
    return mtlm_error_set(r->err, MTLM_EXIT_INPUT, "%s: %s%s %s", r->path,
                          place, key, why);
}

static int read_count(const struct reader *r, const struct summary_key *key,
                      const json_t *value, char *to)
{
    const json_int_t n = json_integer_value(value);

    if (!json_is_integer(value) || n < key->least
        || (key->type == COUNT && n > INT_MAX))
        return refuse(r, key->name, "is no integer that is possible here");
    if (key->type == COUNT)
        *(int *) to = (int) n;
    else
        *(int64_t *) to = n;
    return 0;
}

static int read_real(const struct reader *r, const struct summary_key *key,
                     const json_t *value, char *to)
{
    const bool known = !json_is_null(value) || key->absent != UNKNOWN;
    const double number = known ? json_number_value(value) : -1;

    if (known && !json_is_number(value))
        return refuse(r, key->name, "is no number");
    if (key->type == REAL)
        *(double *) to = number;
    else if (fabs(number) > most_ms)
        return refuse(r, key->name, "is longer than any run");
    else
        *(int64_t *) to = known ? llround(1e6 * number) : -1;
    return 0;
}

static int read_flag(const struct reader *r, const struct summary_key *key,
                     const json_t *value, char *to)
{
    if (!json_is_boolean(value))
        return refuse(r, key->name, "is neither true nor false");
    *(bool *) to = json_is_true(value);
    return 0;
}

static int read_keys(const struct reader *r, const struct summary_key *key,
                     const json_t *object, void *to)
{
    int rc = 0;

    for (; key->name && rc == 0; key++) {
        const json_t *value = json_object_get(object, key->name);
        char *at = (char *) to + key->at;

        if (!value && key->absent == ZERO)
            continue;
        if (!value)
            rc = refuse(r, key->name, "is missing");
        else if (key->type == FLAG)
            rc = read_flag(r, key, value, at);
        else if (key->type == COUNT || key->type == COUNT64)
            rc = read_count(r, key, value, at);
        else
            rc = read_real(r, key, value, at);
    }
    return rc;
}

/* Reads one element of a list to its place. */
typedef int read_element(struct reader *r, const json_t *object, void *to,
                         struct mtlm_trace_summary *s);

/* Reads json's list of this name.  The places of the elements begin at to, size
 * bytes apart; size 0: all have the same. */
static int read_each(struct reader *r, const json_t *json, const char *name,
                     read_element *element, void *to, size_t size,
                     struct mtlm_trace_summary *s)
{
    const json_t *list = json_object_get(json, name);
    int rc = 0;

    if (!json_is_array(list))
        return refuse(r, name, "is no list");
    r->list = name;
    for (r->i = 0; r->i < json_array_size(list) && rc == 0; r->i++)
        rc = element(r, json_array_get(list, r->i), (char *) to + r->i * size,
                     s);
    r->list = NULL;
    return rc;
}

/* Reads json's list of this name into *elements, from malloc(): *n of size. */
static int read_list(struct reader *r, const json_t *json, const char *name,
                     size_t size, read_element *element, void **elements,
                     size_t *n, struct mtlm_trace_summary *s)
{
    *n = json_array_size(json_object_get(json, name));
    *elements = mtlm_calloc(*n, size);
    return read_each(r, json, name, element, *elements, size, s);
}

static int read_rank(struct reader *r, const json_t *object, void *to,
                     struct mtlm_trace_summary *s)
{
    (void) s;
    return read_keys(r, of_rank, object, to);
}

static int read_account(struct reader *r, const json_t *object, void *to,
                        struct mtlm_trace_summary *s)
{
    const struct mtlm_trace_account *a = to;

    if (read_keys(r, of_account, object, to) < 0)
        return -1;
    return a->rank < s->ranks ? 0 : refuse(r, "rank", "is none of the run's");
}

static int read_iteration(struct reader *r, const json_t *object, void *to,
                          struct mtlm_trace_summary *s)
{
    struct mtlm_trace_iteration *e = to;
    const int rc = read_keys(r, of_iteration, object, to);

    (void) s;
    e->iteration--;
    return rc;
}

/* Index of text among the n names; n: unknown. */
static int find_name(const char *text, const char *(*name)(int), int n)
{
    int i = 0;

    while (i < n && (!text || strcmp(text, name(i))))
        i++;
    return i;
}

static const char *class_name(int class)
{
    return mtlm_trace_class_name(class);
}

static const char *cause_name(int cause)
{
    return mtlm_trace_cause_name(cause);
}

/* to is the array of all classes. */
static int read_class(struct reader *r, const json_t *object, void *to,
                      struct mtlm_trace_summary *s)
{
    const double windows = s->windows ? s->windows : 1;
    const int class = find_name(mtlm_json_file_text(object, "class"),
                                class_name, MTLM_TRACE_CLASSES);
    struct mtlm_trace_class_time *all = to, c = {0};

    if (class == MTLM_TRACE_CLASSES)
        return refuse(r, "class", "is none that this version knows");
    if (read_keys(r, of_class, object, &c) < 0)
        return -1;
    c.ns *= windows;
    c.total_ns = c.total_ns ? c.total_ns * windows : c.ns;
    c.flops *= windows;
    c.bytes *= windows;
    all[class] = c;
    return 0;
}

static int read_wait(struct reader *r, const json_t *object, void *to,
                     struct mtlm_trace_summary *s)
{
    const char *words = mtlm_json_file_text(object, "text");
    struct mtlm_trace_wait *wait = to;
    const int cause = find_name(mtlm_json_file_text(object, "cause"),
                                cause_name, MTLM_CAUSE_COUNT);

    (void) s;
    if (cause == MTLM_CAUSE_COUNT)
        return refuse(r, "cause", "is none that this version knows");
    if (!words || strlen(words) >= sizeof(wait->text))
        return refuse(r, "text", "is missing or too long");
    *wait = (struct mtlm_trace_wait){.cause = cause, .lane = -1, .phase = -1};
    strcpy(wait->text, words);
    return read_keys(r, of_wait, object, wait);
}

static int read_lists(struct reader *r, const json_t *json,
                      struct mtlm_trace_summary *s)
{
    void *ranks = NULL, *accounts = NULL, *iterations = NULL, *waits = NULL;
    size_t n_ranks = 0;
    int rc = read_list(r, json, "ranks", sizeof(*s->rank), read_rank, &ranks,
                       &n_ranks, s);

    if (rc == 0)
        rc = read_list(r, json, "accounts", sizeof(*s->account), read_account,
                       &accounts, &s->n_accounts, s);
    if (rc == 0)
        rc = read_list(r, json, "iterations", sizeof(*s->iteration),
                       read_iteration, &iterations, &s->n_iterations, s);
    if (rc == 0)
        rc = read_each(r, json, "classes", read_class, s->class, 0, s);
    if (rc == 0)
        rc = read_list(r, json, "waits", sizeof(*s->wait), read_wait, &waits,
                       &s->n_waits, s);
    s->rank = ranks;
    s->account = accounts;
    s->iteration = iterations;
    s->wait = waits;
    if (rc == 0 && n_ranks != (size_t) s->ranks)
        rc = refuse(r, "ranks", "is no list of the run's ranks");
    return rc;
}

static bool close_to(double a, double b)
{
    return fabs(a - b) <= 1e-6 * (1 + fabs(b));
}

/* Checks that the totals follow from the ranks. */
static int check_totals(const struct reader *r,
                        const struct mtlm_trace_summary *s)
{
    struct mtlm_trace_usage usage = {0};
    double window = 0, makespan, bubble;

    for (int i = 0; i < s->ranks; i++) {
        const struct mtlm_trace_rank *rank = &s->rank[i];
        const struct mtlm_trace_usage more = {
            rank->busy_ns, (double) rank->workers * rank->window_ns,
            rank->comm_ns, rank->overlap_ns};

        mtlm_trace_usage_add(&usage, &more);
        window += 1e-6 * rank->window_ns;
    }
    makespan = window / s->ranks / (s->windows ? s->windows : 1);
    bubble = usage.room_ns > 0 ? mtlm_trace_usage_bubble(&usage) : 0;
    if (close_to(1e-6 * s->makespan_ns, makespan) && close_to(s->bubble, bubble)
        && close_to(s->overlap, mtlm_trace_usage_overlap(&usage)))
        return 0;
    return mtlm_error_set(r->err, MTLM_EXIT_INPUT,
                          "%s: its ranks make %.3f ms and a bubble of %.4f, "
                          "its totals are %.3f ms and %.4f: the file is "
                          "damaged",
                          r->path, makespan, bubble, 1e-6 * s->makespan_ns,
                          s->bubble);
}

struct mtlm_trace_summary *mtlm_trace_read_summary(const json_t *json,
                                                   const char *path, int ranks,
                                                   struct mtlm_error *err)
{
    struct reader r = {.path = path, .err = err};
    struct mtlm_trace_summary *s = mtlm_calloc(1, sizeof(*s));

    s->ranks = ranks;
    if (read_keys(&r, of_total, json, s) == 0 && read_lists(&r, json, s) == 0
        && check_totals(&r, s) == 0)
        return s;
    mtlm_trace_summary_destroy(s);
    return NULL;
}
