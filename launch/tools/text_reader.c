/* Reads files of text, line by line, into documents. */

#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "launch/tools/text_reader.h"
#include "launch/tools/tool.h"
#include "models/text/byte_order_mark.h"
#include "runtime/base/blank.h"
#include "runtime/base/memory.h"

static bool is_standard_input(const char *path)
{
    return strcmp(path, MTLM_TEXT_READER_STANDARD_INPUT) == 0;
}

int mtlm_text_reader_check(const char *path, int64_t *bytes,
                           struct mtlm_error *err)
{
    struct stat st;

    *bytes = -1;
    if (is_standard_input(path))
        return 0;
    if (stat(path, &st) < 0 || access(path, R_OK) < 0)
        return mtlm_error_set(err, MTLM_EXIT_INPUT, "cannot read %s: %s", path,
                              strerror(errno));
    if (S_ISDIR(st.st_mode))
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "cannot read %s: Is a directory; name its files",
                              path);
    if (S_ISREG(st.st_mode))
        *bytes = st.st_size;
    return 0;
}

/* Formats that are no text, by `mark` [bytes] at an offset.  hint: how to make
 * text of a file. */
static const struct {
    size_t offset, bytes;
    const char *mark, *name, *hint;
} formats[] = {
    {0, 2, "\x1f\x8b", "gzip data", "zcat FILE | mtlm-preprocess --input -"},
    {0, 5, "\xfd\x37zXZ", "xz data", "xzcat FILE | mtlm-preprocess --input -"},
    /* Before stand "BZh", with which a text may begin, and a digit. */
    {4, 6, "1AY&SY", "bzip2 data", "bzcat FILE | mtlm-preprocess --input -"},
    {0, 4, "\x28\xb5\x2f\xfd", "zstd data",
     "zstdcat FILE | mtlm-preprocess --input -"},
    {0, 4, "PK\x03\x04", "a zip archive or an office document",
     "save the document as plain text"},
    {0, 5, "%PDF-", "a PDF", "pdftotext FILE"},
    {0, 2, "\xff\xfe", "UTF-16 text", "iconv -f UTF-16 -t UTF-8 FILE"},
    {0, 2, "\xfe\xff", "UTF-16 text", "iconv -f UTF-16 -t UTF-8 FILE"},
};

/* Refuses a file that begins like another format. */
static int check_format(const struct mtlm_text_reader *r, const char *line,
                        size_t bytes, struct mtlm_error *err)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (bytes >= formats[i].offset + formats[i].bytes
            && memcmp(line + formats[i].offset, formats[i].mark,
                      formats[i].bytes)
                   == 0)
            return mtlm_error_set(err, MTLM_EXIT_INPUT,
                                  "%s: expected plain text, found %s; try: %s",
                                  r->name, formats[i].name, formats[i].hint);
    return 0;
}

/* Adds a line of plain text; a line with only a form feed ends a document. */
static int add_text_line(struct mtlm_text_reader *r, const char *line,
                         size_t bytes, struct mtlm_error *err)
{
    const bool end = line[0] == '\f'
                     && (bytes == 1 || (bytes == 2 && line[1] == '\n')
                         || (bytes == 3 && memcmp(line, "\f\r\n", 3) == 0));

    return end ? mtlm_text_writer_end_document(r->writer, err)
               : mtlm_text_writer_add(r->writer, line, bytes, err);
}

/* Adds a line with a JSON object: a document. */
static int add_json_line(struct mtlm_text_reader *r, const char *line,
                         size_t bytes, struct mtlm_error *err)
{
    json_error_t why;
    json_t *object, *text;
    int rc;

    if (mtlm_is_blank(line, bytes))
        return 0;
    /* Other keys may have integers beyond 64 bits. */
    object =
        json_loadb(line, bytes, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &why);
    if (!object)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: line %" PRId64 ", column %d: %s", r->name,
                              r->line, why.column, why.text);
    text = json_object_get(object, r->json_key);
    if (json_is_string(text))
        rc = mtlm_text_writer_add(r->writer, json_string_value(text),
                                  json_string_length(text), err);
    else
        rc = mtlm_error_set(err, MTLM_EXIT_INPUT,
                            "%s: line %" PRId64
                            ": expected an object with a text \"%s\", found %s",
                            r->name, r->line, r->json_key,
                            text ? "another type" : "none");
    json_decref(object);
    return rc < 0 ? rc : mtlm_text_writer_end_document(r->writer, err);
}

bool mtlm_text_reader_is_json_name(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot
           && (strcasecmp(dot, ".jsonl") == 0 || strcasecmp(dot, ".json") == 0);
}

static bool is_json(const struct mtlm_text_reader *r, const char *path)
{
    return is_standard_input(path) ? r->json_input
                                   : mtlm_text_reader_is_json_name(path);
}

/* Adds a line to the document. */
static int add_line(struct mtlm_text_reader *r, bool json, const char *line,
                    size_t bytes, struct mtlm_error *err)
{
    const int64_t mark = mtlm_byte_order_mark(line, (int64_t) bytes);
    int rc;

    if (r->line == 1 && check_format(r, line, bytes, err) < 0)
        return -1;
    if (r->line == 1) {
        line += mark;
        bytes -= mark;
    }
    r->text_lines += !json;
    r->zero_lines += !json && memchr(line, '\0', bytes);
    rc = json ? add_json_line(r, line, bytes, err)
              : add_text_line(r, line, bytes, err);
    if (rc < 0 && err->code == MTLM_EXIT_RESOURCE)
        mtlm_error_prefix(err, "%s: up to line %" PRId64, r->name, r->line);
    return rc;
}

/* Reads a line to *line, and returns its bytes; -1: the file ends, a signal
 * came, or errno says why not.  A line may be endless, so a signal ends it. */
static ssize_t read_line(FILE *file, char **line, size_t *room)
{
    enum { LOOK = 1 << 20 }; /* bytes between two looks at the signal */
    size_t n = 0;
    int c = '\0';

    while (c != '\n' && (c = getc_unlocked(file)) != EOF) {
        char *more = n < *room ? *line : mtlm_grow(*line, room, n + 1, 1);

        if (!more) {
            errno = ENOMEM;
            return -1;
        }
        *line = more;
        more[n++] = (char) c;
        if (n % LOOK == 0 && mtlm_tool_stopped(NULL) < 0)
            return -1;
    }
    return n > 0 && !ferror(file) ? (ssize_t) n : -1;
}

/* Reads all lines of the open file. */
static int read_lines(struct mtlm_text_reader *r, FILE *file, bool json,
                      struct mtlm_error *err)
{
    char *line = NULL;
    size_t room = 0;
    int rc = 0;

    while (rc == 0 && (rc = mtlm_tool_stopped(err)) == 0) {
        ssize_t bytes;

        errno = 0;
        bytes = read_line(file, &line, &room);
        if (bytes < 0)
            break;
        r->line++;
        r->bytes += bytes;
        rc = add_line(r, json, line, (size_t) bytes, err);
        r->progress(r->arg);
    }
    free(line);
    if (rc == 0) /* a signal may have ended the last read */
        rc = mtlm_tool_stopped(err);
    if (rc == 0 && !feof(file))
        rc = mtlm_error_set(
            err, errno == ENOMEM ? MTLM_EXIT_RESOURCE : MTLM_EXIT_INPUT,
            "cannot read %s: %s", r->name, strerror(errno));
    return rc;
}

int mtlm_text_reader_read(struct mtlm_text_reader *reader, const char *path,
                          struct mtlm_error *err)
{
    const bool standard = is_standard_input(path);
    FILE *file = standard ? stdin : fopen(path, "re");
    int rc;

    if (!file && mtlm_tool_stopped(err) < 0) /* while it waited for a writer */
        return -1;
    if (!file)
        return mtlm_error_set(err, MTLM_EXIT_INPUT, "cannot read %s: %s", path,
                              strerror(errno));
    reader->name = standard ? "standard input" : path;
    reader->line = 0;
    rc = read_lines(reader, file, is_json(reader, path), err);
    if (!standard)
        fclose(file);
    return rc < 0 ? rc : mtlm_text_writer_end_document(reader->writer, err);
}
