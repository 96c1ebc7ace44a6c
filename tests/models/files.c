#include "config.h"

#include <dirent.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "models/text/byte_tokenizer.h"
#include "models/text/indexed_writer.h"
#include "tests/models/files.h"

static char directory[256];

int files_setup(void **state)
{
    const char *base = getenv("TMPDIR");

    (void) state;
    snprintf(directory, sizeof(directory), "%s/mtlm-test-XXXXXX",
             base ? base : "/tmp");
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *about, int kind,
                      struct FTW *where)
{
    (void) about;
    (void) kind;
    (void) where;
    return remove(path);
}

/* Directories that the tests made, too. */
int files_teardown(void **state)
{
    (void) state;
    return nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

int files_count(void)
{
    DIR *dir = opendir(directory);
    struct dirent *entry;
    int n = 0;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL)
        n +=
            strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(dir);
    return n;
}

const char *files_path(const char *name)
{
    static char path[4][600];
    static int next;

    next = (next + 1) % 4;
    snprintf(path[next], sizeof(path[next]), "%s/%s", directory, name);
    return path[next];
}

void files_write(const char *name, const void *data, size_t bytes)
{
    FILE *file = fopen(files_path(name), "w");

    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

unsigned char *files_read(const char *name, size_t *bytes)
{
    FILE *file = fopen(files_path(name), "r");
    unsigned char *data;

    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    *bytes = ftell(file);
    rewind(file);
    data = malloc(*bytes + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *bytes, file), *bytes);
    fclose(file);
    return data;
}

static struct mtlm_indexed_writer *begin(const char *name, int64_t vocab_size)
{
    struct mtlm_indexed_writer *writer =
        mtlm_indexed_writer_create(files_path(name), vocab_size, NULL);

    assert_non_null(writer);
    return writer;
}

static void end(struct mtlm_indexed_writer *writer)
{
    assert_int_equal(mtlm_indexed_writer_commit(writer, NULL), 0);
    mtlm_indexed_writer_destroy(writer);
}

void files_write_sentences(const char *name, const int64_t length[],
                           int64_t documents, int64_t vocab_size)
{
    struct mtlm_indexed_writer *writer = begin(name, vocab_size);
    int32_t token = 0;

    for (int64_t d = 0; d < documents; d++, length++) {
        for (; *length >= 0; length++) {
            for (int64_t i = 0; i < *length; i++, token++)
                assert_int_equal(
                    mtlm_indexed_writer_add(writer, &token, 1, NULL), 0);
            mtlm_indexed_writer_end_sequence(writer);
        }
        mtlm_indexed_writer_end_document(writer);
    }
    end(writer);
}

void files_write_numbered(const char *name, const int64_t length[],
                          int64_t documents, int64_t vocab_size)
{
    struct mtlm_indexed_writer *writer = begin(name, vocab_size);
    int32_t token = 0;

    for (int64_t d = 0; d < documents; d++) {
        for (int64_t i = 0; i < length[d]; i++, token++)
            assert_int_equal(mtlm_indexed_writer_add(writer, &token, 1, NULL),
                             0);
        mtlm_indexed_writer_end_document(writer);
    }
    end(writer);
}

void files_write_text(const char *name, const char *const text[],
                      int64_t documents, int eod)
{
    struct mtlm_indexed_writer *writer = begin(name, MTLM_BYTE_VOCAB_SIZE);

    for (int64_t d = 0; d < documents; d++) {
        int32_t tokens[1024];
        int64_t n;

        assert_true(strlen(text[d]) < 1024);
        n = mtlm_tokenizer_byte.encode(&mtlm_tokenizer_byte, NULL, text[d],
                                       strlen(text[d]), false, tokens);
        if (eod)
            tokens[n++] = MTLM_BYTE_EOD;
        assert_int_equal(mtlm_indexed_writer_add(writer, tokens, n, NULL), 0);
        mtlm_indexed_writer_end_document(writer);
    }
    end(writer);
}
