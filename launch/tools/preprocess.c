/* mtlm-preprocess: encodes text into the .bin and .idx files that mtlm-dag
 * trains on, with the options of Megatron-LM's preprocess_data.py. */
#include "config.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include <jansson.h>

#include "launch/tools/text_writer.h"
#include "launch/tools/tool.h"
#include "models/text/indexed_writer.h"
#include "models/text/tokenizer.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/memory.h"
#include "runtime/base/plural.h"
#include "runtime/base/standard_output.h"

const char *argp_program_version = "mtlm-preprocess " PACKAGE_VERSION;

struct options {
    const char *input, *output_prefix, *json_key;
    const char *tokenizer, *vocab_file, *merge_file;
    int workers; /* 0: as many as there are cores */
    bool split_sentences;
    enum { EOD_UNSAID, EOD_APPEND, EOD_NONE } append_eod;
};

struct job {
    const struct options *options;
    const struct mtlm_tokenizer *tokenizer;
    struct mtlm_indexed_writer *writer;
    struct mtlm_encode_pool *pool;
    struct mtlm_text_writer text;
    FILE *input;
    int64_t line, bytes, all_bytes; /* all_bytes 0: unknown */
    double started, reported;       /* seconds */
};

/* Prints progress on stderr every 2 s. */
static void report_progress(struct job *job)
{
    const double time = 1e-9 * (double) mtlm_now_ns();
    const double mb = 1e-6 * (double) job->bytes;
    const double all = 1e-6 * (double) job->all_bytes;
    const double rate = mb / (time - job->started);
    const int64_t documents = mtlm_indexed_writer_documents(job->writer);
    char of[32] = "", left[48] = "";

    if (time - job->reported < 2)
        return;
    job->reported = time;
    if (job->all_bytes) {
        const long seconds = rate > 0 ? lrint((all - mb) / rate) : 0;

        snprintf(of, sizeof(of), " of %.1f", all);
        snprintf(left, sizeof(left), ", %ld:%02ld:%02ld left", seconds / 3600,
                 seconds / 60 % 60, seconds % 60);
    }
    fprintf(stderr,
            "mtlm-preprocess: %.1f%s MB, %" PRId64 " document%s, %.1f MB/s%s\n",
            mb, of, documents, mtlm_plural(documents), rate, left);
}

/* Adds a line of plain text; a line with only a form feed ends a document. */
static int add_text_line(struct job *job, const char *line, size_t bytes,
                         struct mtlm_error *err)
{
    const bool end = line[0] == '\f'
                     && (bytes == 1 || (bytes == 2 && line[1] == '\n')
                         || (bytes == 3 && memcmp(line, "\f\r\n", 3) == 0));

    return end ? mtlm_text_writer_end_document(&job->text, err)
               : mtlm_text_writer_add(&job->text, line, bytes, err);
}

/* Adds a line with a JSON object: a document. */
static int add_json_line(struct job *job, const char *line, size_t bytes,
                         struct mtlm_error *err)
{
    const struct options *options = job->options;
    json_error_t why;
    json_t *object, *text;
    int rc;

    if (strspn(line, " \t\r\n") == bytes)
        return 0;
    object = json_loadb(line, bytes, JSON_ALLOW_NUL, &why);
    if (!object)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: line %" PRId64 ", column %d: %s",
                              options->input, job->line, why.column, why.text);
    text = json_object_get(object, options->json_key);
    if (json_is_string(text))
        rc = mtlm_text_writer_add(&job->text, json_string_value(text),
                                  json_string_length(text), err);
    else
        rc = mtlm_error_set(err, MTLM_EXIT_INPUT,
                            "%s: line %" PRId64
                            ": expected an object with a text \"%s\", found %s",
                            options->input, job->line, options->json_key,
                            text ? "another type" : "none");
    json_decref(object);
    return rc < 0 ? rc : mtlm_text_writer_end_document(&job->text, err);
}

static bool is_json(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot
           && (strcasecmp(dot, ".jsonl") == 0 || strcasecmp(dot, ".json") == 0);
}

static int read_lines(struct job *job, struct mtlm_error *err)
{
    int (*const add_line)(struct job *, const char *, size_t,
                          struct mtlm_error *) =
        is_json(job->options->input) ? add_json_line : add_text_line;
    char *line = NULL;
    size_t room = 0;
    int rc = 0;

    while (rc == 0 && (rc = mtlm_tool_stopped(err)) == 0) {
        ssize_t bytes;

        errno = 0;
        bytes = getline(&line, &room, job->input);
        if (bytes < 0)
            break;
        job->line++;
        job->bytes += bytes;
        rc = add_line(job, line, (size_t) bytes, err);
        if (rc < 0 && err->code == MTLM_EXIT_RESOURCE)
            mtlm_error_prefix(err, "%s: up to line %" PRId64,
                              job->options->input, job->line);
        report_progress(job);
    }
    free(line);
    if (rc == 0) /* a signal may have ended the last read */
        rc = mtlm_tool_stopped(err);
    if (rc == 0 && !feof(job->input))
        return mtlm_error_set(
            err, errno == ENOMEM ? MTLM_EXIT_RESOURCE : MTLM_EXIT_INPUT,
            "cannot read %s: %s", job->options->input, strerror(errno));
    if (rc == 0)
        rc = mtlm_text_writer_end_document(&job->text, err);
    return rc < 0 ? rc : mtlm_encode_pool_finish(job->pool, err);
}

/* Cores that this process may use. */
static int count_cores(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

static void print_count(int64_t n, const char *noun)
{
    printf("%" PRId64 " %s%s", n, noun, mtlm_plural(n));
}

/* Encodes the open input and finishes the files. */
static int write_dataset(struct job *job, const char *prefix,
                         struct mtlm_error *err)
{
    const struct options *options = job->options;

    job->writer =
        mtlm_indexed_writer_create(prefix, job->tokenizer->vocab_size, err);
    if (!job->writer)
        return -1;
    job->pool = mtlm_encode_pool_create(
        job->tokenizer, job->writer,
        options->workers ? options->workers : count_cores(),
        options->append_eod == EOD_APPEND
            || (options->append_eod == EOD_UNSAID
                && !options->split_sentences));
    job->text = (struct mtlm_text_writer){
        .pool = job->pool, .split_sentences = options->split_sentences};
    if (read_lines(job, err) < 0)
        return -1;
    if (mtlm_indexed_writer_documents(job->writer) == 0)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s holds no text: expected at least 1 token",
                              options->input);
    if (mtlm_indexed_writer_commit(job->writer, err) < 0)
        return -1;
    printf("%s.bin, %s.idx: ", prefix, prefix);
    print_count(mtlm_indexed_writer_documents(job->writer), "document");
    printf(", ");
    if (options->split_sentences) {
        print_count(mtlm_indexed_writer_sequences(job->writer), "sentence");
        printf(", ");
    }
    print_count(mtlm_encode_pool_tokens(job->pool), "token");
    printf("\n");
    return 0;
}

static int preprocess(const struct options *options, struct mtlm_error *err)
{
    struct job job = {.options = options};
    struct stat st;
    char *prefix;
    int rc;

    job.tokenizer = mtlm_tokenizer_open(options->tokenizer, options->vocab_file,
                                        options->merge_file, err);
    if (!job.tokenizer)
        return -1;
    job.input = fopen(options->input, "re");
    if (!job.input) {
        mtlm_tokenizer_close(job.tokenizer);
        return mtlm_error_set(err, MTLM_EXIT_INPUT, "cannot read %s: %s",
                              options->input, strerror(errno));
    }
    if (fstat(fileno(job.input), &st) == 0 && S_ISREG(st.st_mode))
        job.all_bytes = st.st_size;
    prefix = mtlm_sprintf("%s_%s_%s", options->output_prefix, options->json_key,
                          options->split_sentences ? "sentence" : "document");
    job.started = job.reported = 1e-9 * (double) mtlm_now_ns();
    rc = write_dataset(&job, prefix, err);
    mtlm_encode_pool_destroy(job.pool);
    mtlm_indexed_writer_destroy(job.writer);
    fclose(job.input);
    mtlm_text_writer_free(&job.text);
    mtlm_tokenizer_close(job.tokenizer);
    free(prefix);
    return rc;
}

enum {
    TOKENIZER_TYPE = 256,
    VOCAB_FILE,
    MERGE_FILE,
    APPEND_EOD,
    NO_APPEND_EOD,
    SPLIT_SENTENCES,
    WORKERS,
    JSON_KEYS
};

static const struct argp_option option_list[] = {
    {NULL, 0, NULL, 0, "Input:", 1},
    {"input", 'i', "FILE", 0,
     "Plain text, where a line with only a form feed separates documents; "
     "or, with a name in .jsonl or .json, one JSON object per line, each a "
     "document",
     1},
    {"json-keys", JSON_KEYS, "KEY", 0,
     "Key of the text in a JSON object, and part of the output's name (text)",
     1},
    {NULL, 0, NULL, 0, "Output:", 2},
    {"output-prefix", 'o', "PREFIX", 0,
     "Write PREFIX_text_document.bin and .idx (PREFIX_text_sentence with "
     "--split-sentences); existing files are replaced when the new ones are "
     "complete",
     2},
    {"split-sentences", SPLIT_SENTENCES, NULL, 0,
     "Cut documents into English sentences, as a BERT needs; an empty line "
     "ends a sentence, too; white space becomes single blanks",
     2},
    {NULL, 0, NULL, 0, "Tokens:", 3},
    {"tokenizer-type", TOKENIZER_TYPE, "TYPE", 0,
     "byte (the default): one token per byte, and 256 at the end of a "
     "document; GPT2BPETokenizer: GPT-2's byte-pair encoding; "
     "BertWordPieceLowerCase, BertWordPieceCase: BERT's WordPiece",
     3},
    {"vocab-file", VOCAB_FILE, "FILE", 0,
     "GPT-2's vocab.json, BERT's vocab.txt", 3},
    {"merge-file", MERGE_FILE, "FILE", 0, "GPT-2's merges.txt", 3},
    {"append-eod", APPEND_EOD, NULL, 0,
     "End each document with an end-of-document token (the default without "
     "--split-sentences)",
     3},
    {"no-append-eod", NO_APPEND_EOD, NULL, 0, "Omit that token", 3},
    {"workers", WORKERS, "N", 0,
     "Encode with N threads (default: one per core); the files do not depend "
     "on N",
     3},
    {NULL, 0, NULL, 0, "Other:", -1},
    {NULL, 0, NULL, 0, NULL, 0},
};

static int parse_workers(struct argp_state *state, const char *arg)
{
    char *end;
    const long n = strtol(arg, &end, 10);

    if (end == arg || *end || n < 1 || n > MTLM_ENCODE_MOST_WORKERS)
        argp_error(state, "--workers takes a number from 1 to %d, not \"%s\"",
                   MTLM_ENCODE_MOST_WORKERS, arg);
    return (int) n;
}

static void check_complete(struct argp_state *state,
                           const struct options *options)
{
    if (!options->input)
        argp_error(state, "--input FILE is missing");
    if (!options->output_prefix)
        argp_error(state, "--output-prefix PREFIX is missing");
    if (!*options->json_key || strchr(options->json_key, '/'))
        argp_error(state, "--json-keys takes one key, not \"%s\"",
                   options->json_key);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;

    switch (key) {
    case 'i':
        options->input = arg;
        break;
    case 'o':
        options->output_prefix = arg;
        break;
    case TOKENIZER_TYPE:
        options->tokenizer = arg;
        break;
    case VOCAB_FILE:
        options->vocab_file = arg;
        break;
    case MERGE_FILE:
        options->merge_file = arg;
        break;
    case JSON_KEYS:
        options->json_key = arg;
        break;
    case APPEND_EOD:
        options->append_eod = EOD_APPEND;
        break;
    case NO_APPEND_EOD:
        options->append_eod = EOD_NONE;
        break;
    case SPLIT_SENTENCES:
        options->split_sentences = true;
        break;
    case WORKERS:
        options->workers = parse_workers(state, arg);
        break;
    case ARGP_KEY_ARG:
        argp_error(state, "\"%s\" is not an option", arg);
        break;
    case ARGP_KEY_END:
        check_complete(state, options);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp parser = {
    .options = option_list,
    .parser = parse_option,
    .doc =
        "Encodes text as the tokens that mtlm-dag trains on, in Megatron-LM's "
        "file format.\v"
        "Example:\n\n"
        "  mtlm-preprocess --input book.txt --output-prefix data/book\n"
        "  mtlm-dag --data-path data/book_text_document\n\n"
        "  mtlm-preprocess --input book.txt --output-prefix data/book "
        "--split-sentences\n"
        "  mtlm-dag --model bert-tiny --data-path "
        "data/book_text_sentence\n\n"
        "Exit status: 0 done, 2 wrong option, 3 bad input, 4 the output "
        "cannot be written, 6 not enough memory or a size beyond a "
        "limit.",
};

int main(int argc, char **argv)
{
    struct options options = {.tokenizer = "byte", .json_key = "text"};
    struct mtlm_error err;

    mtlm_standard_output_start();
    argp_err_exit_status = MTLM_EXIT_USAGE;
    argp_parse(&parser, argc, argv, 0, NULL, &options);
    mtlm_tool_start();
    mtlm_tool_catch_signals();
    return mtlm_tool_end(preprocess(&options, &err), &err);
}
