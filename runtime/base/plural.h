#ifndef MTLM_PLURAL_H
#define MTLM_PLURAL_H

/* Plurals of messages: "1 document", "2 documents". */

#include <stdint.h>

/* Returns the ending of a noun that counts n things: "" for 1, else "s". */
static inline const char *mtlm_plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

/* Returns the ending of a noun such as "microbatch": "" for 1, else "es". */
static inline const char *mtlm_plural_es(int64_t n)
{
    return n == 1 ? "" : "es";
}

#endif /* MTLM_PLURAL_H */
