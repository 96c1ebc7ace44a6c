#ifndef MTLM_CACHE_PATH_H
#define MTLM_CACHE_PATH_H

/* Returns the path of a name in the user's cache directory:
 * $XDG_CACHE_HOME/mtlm-dag/NAME, or ~/.cache/mtlm-dag/NAME.  The caller frees
 * the text.  NULL: the user has neither variable. */
char *mtlm_cache_path(const char *name);

#endif /* MTLM_CACHE_PATH_H */
