/* Readers of files against any bytes, for libFuzzer: MTLM_FUZZ names the
 * reader.  What a reader accepts is looked at whole. */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/memory_file.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static volatile unsigned char seen;

void fuzz_look(const void *data, size_t bytes)
{
    const unsigned char *p = data;
    unsigned char all = 0;

    for (size_t i = 0; i < bytes; i++)
        all ^= p[i];
    seen = all;
}

void fuzz_look_at_text(const char *text)
{
    fuzz_look(text, strlen(text) + 1);
}

void fuzz_refused(const struct mtlm_error *err)
{
    if (!err->text[0] || err->code == 0)
        abort();
}

static const struct {
    const char *name;
    void (*read)(const uint8_t *data, size_t bytes);
} readers[] = {
#define READER(name) {#name, fuzz_##name},
    FUZZ_READERS(READER)
#undef READER
};

static void (*read_input)(const uint8_t *data, size_t bytes);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const char *name = getenv("MTLM_FUZZ");

    (void) argc;
    (void) argv;
    for (size_t i = 0; i < sizeof(readers) / sizeof(*readers) && name; i++)
        if (strcmp(readers[i].name, name) == 0)
            read_input = readers[i].read;
    if (read_input)
        return 0;
    fprintf(stderr, "MTLM_FUZZ names no reader:");
    for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++)
        fprintf(stderr, " %s", readers[i].name);
    fprintf(stderr, "\n");
    exit(2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    read_input(data, bytes);
    memory_file_forget();
    return 0;
}
