#ifndef MTLM_NOTE_H
#define MTLM_NOTE_H

/* Notes for the log: which library or kernel computes attention, GELU and bias
 * gradients on a GPU. */

#ifdef __cplusplus
extern "C" {
#endif

/* Subjects of notes.  A kernel writes its note at its first run on a GPU: the
 * library that computes, or why our own kernel runs. */
enum mtlm_note {
    MTLM_NOTE_ATTENTION,
    /* Pairs of subjects: an epilogue of cuBLASLt computes, or our own kernel
     * (OWN).  Both notes of a pair exist if only some matrix products have the
     * epilogue. */
    MTLM_NOTE_GELU,
    MTLM_NOTE_GELU_OWN,
    MTLM_NOTE_GELU_GRADIENT,
    MTLM_NOTE_GELU_GRADIENT_OWN,
    MTLM_NOTE_BIAS_GRADIENT,
    MTLM_NOTE_BIAS_GRADIENT_OWN,
    MTLM_NOTE_COUNT
};

/* Writes the note of a subject, cut to 127 bytes.  Ignores later notes of the
 * same subject.  Any thread may call. */
void mtlm_note(enum mtlm_note about, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns the note of a subject, or NULL if there is none yet.  The string
 * lives until the process ends.  Any thread may call. */
const char *mtlm_note_text(enum mtlm_note about);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_NOTE_H */
