/* Readers of files against any bytes, for libFuzzer: MTLM_FUZZ names the
 * reader.  What a reader accepts is looked at whole. */

#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

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

/* Number of the input that is read; 0: none. */
static volatile sig_atomic_t input;

/* Ends the program if the same input was read at the previous signal. */
static void on_time(int number)
{
    static sig_atomic_t before;

    (void) number;
    if (input && input == before)
        abort();
    before = input;
}

/* An input may take 10 to 20 seconds of a processor.  libFuzzer's own limit,
 * -timeout, also counts the time for which the program is suspended. */
static void limit_time(void)
{
    const struct itimerval every = {{10, 0}, {10, 0}};
    const struct sigaction action = {.sa_handler = on_time,
                                     .sa_flags = SA_RESTART};

    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &every, NULL);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const char *name = getenv("MTLM_FUZZ");

    (void) argc;
    (void) argv;
    for (size_t i = 0; i < sizeof(readers) / sizeof(*readers) && name; i++)
        if (strcmp(readers[i].name, name) == 0)
            read_input = readers[i].read;
    limit_time();
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
    static sig_atomic_t inputs;

    input = inputs = inputs % SIG_ATOMIC_MAX + 1;
    read_input(data, bytes);
    memory_file_forget();
    input = 0;
    return 0;
}
