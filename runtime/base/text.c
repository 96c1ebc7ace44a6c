/* Text in memory, written like a file.  A stream of open_memstream() that runs
 * out of memory drops text, and no call of the C library says so. */

#include "config.h"

#include <string.h>
#include <sys/types.h>

#include "runtime/base/error.h"
#include "runtime/base/memory.h"
#include "runtime/base/text.h"

static ssize_t add(void *cookie, const char *data, size_t n)
{
    struct mtlm_text *text = cookie;

    text->text =
        mtlm_make_room(text->text, &text->room, text->bytes + n + 1, 1);
    memcpy(text->text + text->bytes, data, n);
    text->bytes += n;
    text->text[text->bytes] = '\0';
    return n;
}

FILE *mtlm_text_open(struct mtlm_text *text)
{
    const cookie_io_functions_t functions = {.write = add};

    *text = (struct mtlm_text){0};
    add(text, "", 0);
    text->file = fopencookie(text, "w", functions);
    if (!text->file)
        mtlm_out_of_memory(BUFSIZ);
    return text->file;
}

char *mtlm_text_close(struct mtlm_text *text)
{
    fclose(text->file);
    return text->text;
}
