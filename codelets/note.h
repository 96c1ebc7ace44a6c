#ifndef MTLM_NOTE_H
#define MTLM_NOTE_H

#ifdef __cplusplus
extern "C" {
#endif

/* What kernels found when they first ran on a GPU, for people: which library
 * computes what, or why a kernel of our own does. */
enum mtlm_note {
    MTLM_NOTE_ATTENTION,
    /* GELU, its gradient and that of biases: as an epilogue, and otherwise.
     * Both of one are written where some of its products have the epilogue and
     * some have not. */
    MTLM_NOTE_GELU,
    MTLM_NOTE_GELU_OWN,
    MTLM_NOTE_GELU_GRADIENT,
    MTLM_NOTE_GELU_GRADIENT_OWN,
    MTLM_NOTE_BIAS_GRADIENT,
    MTLM_NOTE_BIAS_GRADIENT_OWN,
    MTLM_NOTE_COUNT
};

/* Of several notes about the same the first stays; 127 bytes of it. */
void mtlm_note(enum mtlm_note about, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* NULL where there is none.  Any thread may call these. */
const char *mtlm_note_text(enum mtlm_note about);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_NOTE_H */
