#ifndef MTLM_BLEND_LIST_H
#define MTLM_BLEND_LIST_H

#include <stdbool.h>

#include "runtime/base/error.h"

/* The data sets of a blend, as --data-path names them: "PREFIX", or "PREFIX
 * PREFIX ...", or "WEIGHT PREFIX WEIGHT PREFIX ...".  As in Megatron, an even
 * number of words whose first is a number is a list with weights. */
struct mtlm_blend_list {
    char **prefix;  /* [n] */
    double *weight; /* [n], positive; NULL: by the number of samples */
    int n;          /* at least 1 */
};

/* Reads a text; the caller frees the list.  A text with blanks is a single
 * prefix where PREFIX.idx exists, or a file of that name.  label names the
 * option in errors.  -1 and MTLM_EXIT_USAGE: a weight is no positive number, or
 * words are missing. */
int mtlm_blend_list_parse(const char *text, const char *label,
                          struct mtlm_blend_list *list, struct mtlm_error *err);

/* Returns the text with paths from the root; the caller frees the text.  NULL:
 * a path of a list has a blank, and the text would be another list. */
char *mtlm_blend_list_absolute(const char *text);

/* Frees the contents.  Does nothing for a zeroed struct. */
void mtlm_blend_list_free(struct mtlm_blend_list *list);

#endif /* MTLM_BLEND_LIST_H */
