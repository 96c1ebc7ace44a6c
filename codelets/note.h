#ifndef MTLM_NOTE_H
#define MTLM_NOTE_H

/* Notes for people about the kernels that a GPU runs. */

#ifdef __cplusplus
extern "C" {
#endif

/* Subjects of notes.  At its first run on a GPU a kernel notes which library
 * computes what, or why our own kernel runs. */
enum mtlm_note {
    MTLM_NOTE_ATTENTION,
    /* GELU, its gradient and the bias gradient: as an epilogue, or by our own
     * kernel.  Both notes of a pair exist if only some products have the
     * epilogue. */
    MTLM_NOTE_GELU,
    MTLM_NOTE_GELU_OWN,
    MTLM_NOTE_GELU_GRADIENT,
    MTLM_NOTE_GELU_GRADIENT_OWN,
    MTLM_NOTE_BIAS_GRADIENT,
    MTLM_NOTE_BIAS_GRADIENT_OWN,
    MTLM_NOTE_COUNT
};

/* Writes a note; the first note of a subject stays, cut to 127 bytes.  Any
 * thread may call. */
void mtlm_note(enum mtlm_note about, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns the note of a subject, or NULL.  Any thread may call. */
const char *mtlm_note_text(enum mtlm_note about);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_NOTE_H */
