#ifndef MTLM_CLEAN_TEXT_H
#define MTLM_CLEAN_TEXT_H

#include <stdint.h>

/* Returns text [bytes] as Megatron-LM cleans the texts of tasks, and its bytes;
 * the caller frees the text, which has a NUL behind it.  White space becomes
 * one blank, and " . " becomes ". ". */
char *mtlm_clean_text(const char *text, int64_t bytes, int64_t *cleaned);

#endif /* MTLM_CLEAN_TEXT_H */
