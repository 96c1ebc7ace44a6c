/* Keeps one text per subject, written once by any thread. */

#include "config.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "codelets/note.h"

static struct {
    atomic_bool taken, written;
    char text[128];
} notes[MTLM_NOTE_COUNT];

void mtlm_note(enum mtlm_note about, const char *fmt, ...)
{
    va_list ap;

    if (atomic_load(&notes[about].written)
        || atomic_exchange(&notes[about].taken, true))
        return;
    va_start(ap, fmt);
    vsnprintf(notes[about].text, sizeof(notes[about].text), fmt, ap);
    va_end(ap);
    atomic_store(&notes[about].written, true);
}

const char *mtlm_note_text(enum mtlm_note about)
{
    return atomic_load(&notes[about].written) ? notes[about].text : NULL;
}
