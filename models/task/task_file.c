/* Data files of tasks: small enough to be read at once. */

#include "config.h"

#include <inttypes.h>

#include "models/task/python_text.h"
#include "models/task/task_file.h"

enum { MOST_BYTES = 1 << 30 };

int mtlm_task_file_read(struct mtlm_mapped_file *file, const char *path,
                        struct mtlm_error *err)
{
    if (mtlm_mapped_file_read(file, path, MOST_BYTES, err) < 0)
        return -1;
    if (file->bytes > 0)
        return 0;
    mtlm_mapped_file_close(file);
    return mtlm_error_set(err, MTLM_EXIT_INPUT, "%s: the file is empty", path);
}

int64_t mtlm_task_file_lines(const char *text, int64_t bytes)
{
    int64_t lines = 0;

    for (int64_t i = 0; i < bytes; i++)
        lines += text[i] == '\n';
    return lines;
}

int mtlm_task_file_check_text(const struct mtlm_mapped_file *file,
                              struct mtlm_error *err)
{
    const char *text = (const char *) file->data;
    const int64_t at = mtlm_python_text_invalid(text, file->bytes);

    if (at < 0)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_INPUT,
                          "%s: line %" PRId64
                          ": expected UTF-8, found another byte",
                          file->path, 1 + mtlm_task_file_lines(text, at));
}
