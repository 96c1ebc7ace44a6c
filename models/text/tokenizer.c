#include "config.h"

#include <stdio.h>
#include <string.h>

#include "models/text/byte_tokenizer.h"
#include "models/text/tokenizer.h"

static const struct mtlm_tokenizer *const tokenizers[] = {
    &mtlm_tokenizer_byte,
};
enum { TOKENIZERS = sizeof(tokenizers) / sizeof(tokenizers[0]) };

const struct mtlm_tokenizer *mtlm_tokenizer_find(const char *name,
                                                 struct mtlm_error *err)
{
    char known[256] = "";

    for (int i = 0; i < TOKENIZERS; i++) {
        const size_t used = strlen(known);

        if (strcmp(tokenizers[i]->name, name) == 0)
            return tokenizers[i];
        snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "",
                 tokenizers[i]->name);
    }
    mtlm_error_set(err, MTLM_EXIT_USAGE,
                   "there is no tokenizer \"%s\"; known: %s", name, known);
    return NULL;
}
