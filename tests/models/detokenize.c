/* Detokenizes texts for test_detokenize.py.  Standard input: for each text its
 * bytes as uint32, then the text; standard output: the same of the result, with
 * the words of the raw text as uint32 before. */

#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "models/task/detokenize.h"
#include "runtime/base/memory.h"

int main(void)
{
    uint32_t bytes;

    while (fread(&bytes, sizeof(bytes), 1, stdin) == 1) {
        char *text = mtlm_calloc((size_t) bytes + 1, 1), *clean;
        int64_t n;
        uint32_t head[2];

        if (fread(text, 1, bytes, stdin) != bytes)
            return 1;
        clean = mtlm_detokenize(text, bytes, &n);
        head[0] = (uint32_t) mtlm_detokenize_words(text, bytes);
        head[1] = (uint32_t) n;
        fwrite(head, sizeof(head), 1, stdout);
        fwrite(clean, 1, (size_t) n, stdout);
        free(clean);
        free(text);
    }
    return 0;
}
