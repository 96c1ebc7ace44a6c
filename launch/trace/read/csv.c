/* Reads CSV tables line by line. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "launch/trace/read/csv.h"
#include "runtime/base/memory.h"

/* Characters of a wrong field that a message shows. */
enum { SHOWN = 40 };

static void add_field(struct mtlm_csv *csv, char *text)
{
    csv->field = mtlm_make_room(csv->field, &csv->capacity, csv->n + 1,
                                sizeof(*csv->field));
    csv->field[csv->n++] = text;
}

/* Removes the quotes of the field at `at`.  Returns the character after the
 * field; NULL: no closing quote. */
static char *unquote(char *at)
{
    char *to = at;

    for (; *at; at++) {
        if (*at == '"' && *++at != '"') {
            *to = '\0';
            return at;
        }
        *to++ = *at;
    }
    return NULL;
}

/* Splits the line into fields.  Returns false if the line breaks RFC 4180. */
static bool split_line(struct mtlm_csv *csv)
{
    char *at = csv->line;

    csv->n = 0;
    for (;;) {
        const bool quoted = *at == '"';
        char *end;

        add_field(csv, at + quoted);
        end = quoted ? unquote(at + 1) : at + strcspn(at, ",");
        if (!end || (*end && *end != ','))
            return false;
        if (!*end)
            return true;
        *end = '\0';
        at = end + 1;
    }
}

static int read_line(struct mtlm_csv *csv, struct mtlm_error *err)
{
    ssize_t bytes;

    errno = 0;
    bytes = getline(&csv->line, &csv->room, csv->file);
    if (bytes < 0 && feof(csv->file))
        return 0;
    if (bytes < 0)
        return mtlm_error_set(err, MTLM_EXIT_INPUT, "cannot read %s: %s",
                              csv->path, strerror(errno ? errno : EIO));
    csv->number++;
    if (csv->line[bytes - 1] != '\n')
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s is cut off in line %" PRId64, csv->path,
                              csv->number);
    csv->line[bytes - 1] = '\0';
    if (strlen(csv->line) != (size_t) bytes - 1 || !split_line(csv))
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: line %" PRId64 " is no line of a table",
                              csv->path, csv->number);
    return 1;
}

int mtlm_csv_open(struct mtlm_csv *csv, const char *path,
                  struct mtlm_error *err)
{
    int rc;

    *csv = (struct mtlm_csv){.path = path, .file = fopen(path, "re")};
    if (!csv->file)
        return mtlm_error_set(err, MTLM_EXIT_INPUT, "cannot read %s: %s", path,
                              strerror(errno));
    rc = read_line(csv, err);
    if (rc == 0)
        rc = mtlm_error_set(err, MTLM_EXIT_INPUT, "%s is empty", path);
    if (rc < 0)
        mtlm_csv_close(csv);
    return rc < 0 ? -1 : 0;
}

void mtlm_csv_close(struct mtlm_csv *csv)
{
    if (csv->file)
        fclose(csv->file);
    free(csv->line);
    free(csv->field);
    *csv = (struct mtlm_csv){0};
}

int mtlm_csv_column(const struct mtlm_csv *csv, const char *name,
                    struct mtlm_error *err)
{
    for (int i = 0; i < csv->n; i++)
        if (strcmp(csv->field[i], name) == 0)
            return i;
    return mtlm_error_set(err, MTLM_EXIT_INPUT, "%s has no column %s",
                          csv->path, name);
}

int mtlm_csv_next(struct mtlm_csv *csv, int n, struct mtlm_error *err)
{
    const int rc = read_line(csv, err);

    if (rc > 0 && csv->n != n)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: line %" PRId64
                              " has %d fields, the first one has %d",
                              csv->path, csv->number, csv->n, n);
    return rc;
}

int mtlm_csv_integer(const struct mtlm_csv *csv, const char *text,
                     int64_t least, int64_t most, int64_t *value,
                     struct mtlm_error *err)
{
    char *end;

    errno = 0;
    *value = strtoll(text, &end, 10);
    if (end == text || *end || errno || *value < least || *value > most)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: line %" PRId64 ": \"%.*s\" is no integer "
                              "from %" PRId64 " to %" PRId64,
                              csv->path, csv->number, SHOWN, text, least, most);
    return 0;
}

int mtlm_csv_real(const struct mtlm_csv *csv, const char *text, double *value,
                  struct mtlm_error *err)
{
    char *end;

    *value = strtod(text, &end);
    if (end == text || *end || !isfinite(*value))
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: line %" PRId64 ": \"%.*s\" is no number",
                              csv->path, csv->number, SHOWN, text);
    return 0;
}
