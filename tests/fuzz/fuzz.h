#ifndef MTLM_TESTS_FUZZ_H
#define MTLM_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/error.h"

/* Readers of files, each given any bytes as its file. */
#define FUZZ_READERS(X)                                                        \
    X(idx)                                                                     \
    X(safetensors)                                                             \
    X(manifest)                                                                \
    X(config)                                                                  \
    X(vocabulary_json)                                                         \
    X(vocabulary_lines)                                                        \
    X(merges)                                                                  \
    X(tokenizer_json)                                                          \
    X(huggingface_config)                                                      \
    X(huggingface_index)                                                       \
    X(llmc)                                                                    \
    X(metrics)                                                                 \
    X(order)                                                                   \
    X(wikitext)                                                                \
    X(lambada)                                                                 \
    X(mnli)                                                                    \
    X(qqp)                                                                     \
    X(race)                                                                    \
    X(squad)

#define FUZZ_READER(name) void fuzz_##name(const uint8_t *data, size_t bytes);
FUZZ_READERS(FUZZ_READER)
#undef FUZZ_READER

/* Every byte is read, so that the sanitizers see what is pointed to. */
void fuzz_look(const void *data, size_t bytes);
void fuzz_look_at_text(const char *text);

/* A reader that refuses says why. */
void fuzz_refused(const struct mtlm_error *err);

#endif /* MTLM_TESTS_FUZZ_H */
