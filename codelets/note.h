#ifndef MTLM_NOTE_H
#define MTLM_NOTE_H

/* Notes, for the log, which library or kernel computes attention, GELU and bias
 * gradients on a GPU. */

#ifdef __cplusplus
extern "C" {
#endif

/* Subjects of notes.  The first run of a kernel on a GPU notes the library that
 * computes, or why our own kernel runs. */
enum mtlm_note {
    MTLM_NOTE_ATTENTION,
    /* Pairs: computed as an epilogue of cuBLASLt, or by our own kernel (OWN).
     * Both notes of a pair exist if only some matrix products have the
     * epilogue. */
    MTLM_NOTE_GELU,
    MTLM_NOTE_GELU_OWN,
    MTLM_NOTE_GELU_GRADIENT,
    MTLM_NOTE_GELU_GRADIENT_OWN,
    MTLM_NOTE_BIAS_GRADIENT,
    MTLM_NOTE_BIAS_GRADIENT_OWN,
    MTLM_NOTE_COUNT
};

/* Writes a note, cut to 127 bytes.  Later notes of the same subject are
 * ignored. Any thread may call. */
void mtlm_note(enum mtlm_note about, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns the note of a subject, or NULL.  Any thread may call. */
const char *mtlm_note_text(enum mtlm_note about);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_NOTE_H */
