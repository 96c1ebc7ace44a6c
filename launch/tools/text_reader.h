#ifndef MTLM_TEXT_READER_H
#define MTLM_TEXT_READER_H

/* Reads files of text, line by line, into documents.
 *
 * Plain text: a line with only a form feed ends a document.  JSON: each line is
 * an object with the text of a document.  The end of a file ends a document,
 * too.  A byte order mark of UTF-8 at the start of a file is left out. */

#include <stdbool.h>
#include <stdint.h>

#include "launch/tools/text_writer.h"
#include "runtime/base/error.h"

/* The path that stands for standard input. */
#define MTLM_TEXT_READER_STANDARD_INPUT "-"

struct mtlm_text_reader {
    struct mtlm_text_writer *writer; /* borrowed */
    const char *json_key;            /* of the text in a JSON object */
    bool json_input; /* standard input has JSON; files tell by their name */
    void (*progress)(void *arg); /* called after each line */
    void *arg;

    /* Read so far, of all files. */
    int64_t bytes;
    int64_t text_lines, zero_lines; /* of plain text; those with a zero byte */

    /* private */
    const char *name; /* of the open file, in messages */
    int64_t line;
};

/* Checks that the file can be read, and sets *bytes to its size; -1: unknown,
 * as for standard input.  Opens nothing.  -1 and MTLM_EXIT_INPUT. */
int mtlm_text_reader_check(const char *path, int64_t *bytes,
                           struct mtlm_error *err);

/* Whether the name tells that a file has JSON: .jsonl or .json. */
bool mtlm_text_reader_is_json_name(const char *path);

/* Reads a whole file, or standard input.  -1 and MTLM_EXIT_INPUT: the file is
 * unreadable, damaged, or of a format that is no text, such as gzip.  -1 and
 * another code: writing failed, or a signal came. */
int mtlm_text_reader_read(struct mtlm_text_reader *reader, const char *path,
                          struct mtlm_error *err);

#endif /* MTLM_TEXT_READER_H */
