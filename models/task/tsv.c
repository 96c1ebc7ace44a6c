/* Files whose lines are columns with tabs between them. */

#include "config.h"

#include <string.h>

#include "models/task/python_text.h"
#include "models/task/tsv.h"

int mtlm_tsv_open(struct mtlm_tsv *tsv, const char *path,
                  struct mtlm_error *err)
{
    *tsv = (struct mtlm_tsv){0};
    if (mtlm_mapped_file_open(&tsv->file, path, err) < 0)
        return -1;
    if (tsv->file.bytes > 0)
        return 0;
    mtlm_tsv_close(tsv);
    return mtlm_error_set(err, MTLM_EXIT_INPUT, "%s: the file is empty", path);
}

static void cut_columns(struct mtlm_tsv *tsv, const char *line, int64_t bytes)
{
    tsv->columns = 0;
    while (bytes >= 0) {
        const char *tab = memchr(line, '\t', (size_t) bytes);
        struct mtlm_tsv_column column = {line, tab ? tab - line : bytes};

        line += column.bytes + 1;
        bytes -= column.bytes + 1;
        mtlm_python_text_strip(&column.text, &column.bytes);
        if (tsv->columns < MTLM_TSV_MOST)
            tsv->column[tsv->columns] = column;
        tsv->columns++;
    }
}

bool mtlm_tsv_next(struct mtlm_tsv *tsv)
{
    while (tsv->at < tsv->file.bytes) {
        const char *line = (const char *) tsv->file.data + tsv->at;
        const int64_t left = tsv->file.bytes - tsv->at;
        const char *end = memchr(line, '\n', (size_t) left);
        int64_t bytes = end ? end - line : left;

        tsv->at += bytes + 1;
        tsv->line++;
        mtlm_python_text_strip(&line, &bytes);
        if (bytes > 0) {
            cut_columns(tsv, line, bytes);
            return true;
        }
    }
    return false;
}

bool mtlm_tsv_is(const struct mtlm_tsv *tsv, int64_t i, const char *text)
{
    const int64_t bytes = (int64_t) strlen(text);

    return i < tsv->columns && i < MTLM_TSV_MOST
           && tsv->column[i].bytes == bytes
           && memcmp(tsv->column[i].text, text, (size_t) bytes) == 0;
}

void mtlm_tsv_close(struct mtlm_tsv *tsv)
{
    mtlm_mapped_file_close(&tsv->file);
}
