/* mtlm-preprocess: encodes text into the .bin and .idx files that mtlm-dag
 * trains on, with the options of Megatron-LM's preprocess_data.py. */
#include "config.h"

#include <argp.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/tools/text_reader.h"
#include "launch/tools/text_writer.h"
#include "launch/tools/tool.h"
#include "models/text/indexed_writer.h"
#include "models/text/tokenizer.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/memory.h"
#include "runtime/base/plural.h"
#include "runtime/base/shell_word.h"
#include "runtime/base/standard_output.h"

/* The key of the text in a JSON object, and part of the output's name. */
#define DEFAULT_KEY "text"

const char *argp_program_version = "mtlm-preprocess " PACKAGE_VERSION;

struct options {
    const char **input; /* [inputs] paths, owned */
    int inputs;
    bool more_inputs; /* words after --input are files, too */
    const char *output_prefix, *json_key; /* json_key NULL: not given */
    const char *tokenizer;                /* NULL: not given */
    struct mtlm_tokenizer_files files;
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
    struct mtlm_text_reader reader;
    int64_t all_bytes;        /* of the input; 0: unknown */
    double started, reported; /* seconds */
};

/* Prints progress on stderr every 2 s. */
static void report_progress(void *arg)
{
    struct job *job = arg;
    const double time = 1e-9 * (double) mtlm_now_ns();
    const double mb = 1e-6 * (double) job->reader.bytes;
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

/* Cores that this process may use. */
static int count_cores(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* Checks all inputs before any is read, and adds up their sizes. */
static int check_inputs(struct job *job, struct mtlm_error *err)
{
    const struct options *options = job->options;
    bool known = true;

    for (int i = 0; i < options->inputs; i++) {
        int64_t bytes;

        if (mtlm_text_reader_check(options->input[i], &bytes, err) < 0)
            return -1;
        known = known && bytes >= 0;
        job->all_bytes += bytes;
    }
    if (!known)
        job->all_bytes = 0;
    return 0;
}

/* Names the inputs: "book.txt", or "book.txt and 3 other files". */
static char *name_inputs(const struct options *options)
{
    const int more = options->inputs - 1;

    return more == 0 ? mtlm_strdup(options->input[0])
                     : mtlm_sprintf("%s and %d other file%s", options->input[0],
                                    more, mtlm_plural(more));
}

static int read_inputs(struct job *job, struct mtlm_error *err)
{
    const struct options *options = job->options;

    for (int i = 0; i < options->inputs; i++)
        if (mtlm_text_reader_read(&job->reader, options->input[i], err) < 0)
            return -1;
    if (mtlm_encode_pool_finish(job->pool, err) < 0)
        return -1;
    if (mtlm_indexed_writer_documents(job->writer) == 0) {
        char *names = name_inputs(options);

        mtlm_error_set(err, MTLM_EXIT_INPUT,
                       "%s: no text, expected at least 1 token", names);
        free(names);
        return -1;
    }
    return 0;
}

static void print_count(int64_t n, const char *noun)
{
    printf("%" PRId64 " %s%s", n, noun, mtlm_plural(n));
}

static void print_file(const char *option, const char *file)
{
    if (!file)
        return;
    printf(" --%s ", option);
    mtlm_shell_word_print(file, stdout);
}

/* Prints what was written, and the command that trains on the data. */
static void print_result(const struct job *job, const char *prefix)
{
    const struct options *o = job->options;

    printf("%s.bin, %s.idx: ", prefix, prefix);
    print_count(mtlm_indexed_writer_documents(job->writer), "document");
    printf(", ");
    if (o->split_sentences) {
        print_count(mtlm_indexed_writer_sequences(job->writer), "sentence");
        printf(", ");
    }
    print_count(mtlm_encode_pool_tokens(job->pool), "token");
    if (o->split_sentences && !job->tokenizer->bert) {
        printf(
            "\nA bert cannot learn from them: %s has no [CLS], [SEP], [MASK] "
            "and [PAD]\n",
            job->tokenizer->name);
        return;
    }
    printf("\nto train: mtlm-dag --model %s --data-path ",
           o->split_sentences ? "bert-tiny" : "gpt-tiny");
    mtlm_shell_word_print(prefix, stdout);
    if (o->files.vocab)
        printf(" --tokenizer-type %s", job->tokenizer->name);
    print_file("vocab-file", o->files.vocab);
    print_file("merge-file", o->files.merge);
    print_file("tokenizer-model", o->files.model);
    printf("\n");
}

/* Says what is hardly text.  Any bytes have tokens, so nothing is refused. */
static void print_doubt(const struct mtlm_text_reader *r)
{
    if (2 * r->zero_lines > r->text_lines)
        mtlm_warn("%" PRId64 " of %" PRId64
                  " line%s have zero bytes; is the input plain text?",
                  r->zero_lines, r->text_lines, mtlm_plural(r->text_lines));
}

/* Encodes the inputs and finishes the files. */
static int write_dataset(struct job *job, const char *prefix,
                         struct mtlm_error *err)
{
    const struct options *options = job->options;

    job->writer =
        mtlm_indexed_writer_create(prefix, job->tokenizer->vocab_size, err);
    if (!job->writer)
        return -1;
    mtlm_indexed_writer_stop(job->writer, mtlm_tool_stopped);
    job->pool = mtlm_encode_pool_create(
        job->tokenizer, job->writer,
        options->workers ? options->workers : count_cores(),
        options->append_eod == EOD_APPEND
            || (options->append_eod == EOD_UNSAID
                && !options->split_sentences));
    job->text =
        (struct mtlm_text_writer){.pool = job->pool,
                                  .tokenizer = job->tokenizer,
                                  .split_sentences = options->split_sentences};
    job->reader = (struct mtlm_text_reader){
        .writer = &job->text,
        .json_key = options->json_key ? options->json_key : DEFAULT_KEY,
        .json_input = options->json_key != NULL,
        .progress = report_progress,
        .arg = job};
    if (read_inputs(job, err) < 0
        || mtlm_indexed_writer_commit(job->writer, err) < 0)
        return -1;
    print_result(job, prefix);
    print_doubt(&job->reader);
    return 0;
}

static int preprocess(const struct options *options, struct mtlm_error *err)
{
    struct job job = {.options = options};
    char *prefix;
    int rc;

    if (check_inputs(&job, err) < 0)
        return -1;
    job.tokenizer =
        mtlm_tokenizer_open(options->tokenizer     ? options->tokenizer
                            : options->files.model ? "HuggingFaceTokenizer"
                                                   : "byte",
                            &options->files, err);
    if (!job.tokenizer)
        return -1;
    prefix = mtlm_sprintf("%s_%s_%s", options->output_prefix,
                          options->json_key ? options->json_key : DEFAULT_KEY,
                          options->split_sentences ? "sentence" : "document");
    job.started = job.reported = 1e-9 * (double) mtlm_now_ns();
    rc = write_dataset(&job, prefix, err);
    mtlm_encode_pool_destroy(job.pool);
    mtlm_indexed_writer_destroy(job.writer);
    mtlm_text_writer_free(&job.text);
    mtlm_tokenizer_close(job.tokenizer);
    free(prefix);
    return rc;
}

enum {
    TOKENIZER_TYPE = 256,
    VOCAB_FILE,
    MERGE_FILE,
    TOKENIZER_MODEL,
    APPEND_EOD,
    NO_APPEND_EOD,
    SPLIT_SENTENCES,
    WORKERS,
    JSON_KEYS
};

static const struct argp_option option_list[] = {
    {NULL, 0, NULL, 0, "Input:", 1},
    {"input", 'i', "FILE...", 0,
     "Files of plain text; each file is a document, and a line with only a "
     "form feed separates documents, too. With a name in .jsonl or .json: one "
     "JSON object per line, each a document. -: standard input",
     1},
    {"json-keys", JSON_KEYS, "KEY", 0,
     "Key of the text in a JSON object, and part of the output's name (text); "
     "with this option standard input has JSON objects. Refused without an "
     "input of JSON objects",
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
     "BertWordPieceLowerCase, BertWordPieceCase: BERT's WordPiece; "
     "HuggingFaceTokenizer: a tokenizer.json (the default with "
     "--tokenizer-model)",
     3},
    {"vocab-file", VOCAB_FILE, "FILE", 0,
     "GPT-2's vocab.json, BERT's vocab.txt", 3},
    {"merge-file", MERGE_FILE, "FILE", 0, "GPT-2's merges.txt", 3},
    {"tokenizer-model", TOKENIZER_MODEL, "PATH", 0,
     "Hugging Face's tokenizer.json, or its directory", 3},
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

/* Adds a file, or standard input, which ends once. */
static void add_input(struct argp_state *state, struct options *options,
                      const char *path)
{
    for (int i = 0; i < options->inputs; i++)
        if (strcmp(path, MTLM_TEXT_READER_STANDARD_INPUT) == 0
            && strcmp(options->input[i], path) == 0)
            argp_error(state, "--input takes - (standard input) once");
    options->input = mtlm_realloc(options->input, options->inputs + 1,
                                  sizeof(*options->input));
    options->input[options->inputs++] = path;
}

/* Whether an input has JSON objects, as --json-keys wants. */
static bool has_json(const struct options *options)
{
    for (int i = 0; i < options->inputs; i++)
        if (strcmp(options->input[i], MTLM_TEXT_READER_STANDARD_INPUT) == 0
            || mtlm_text_reader_is_json_name(options->input[i]))
            return true;
    return false;
}

static void check_complete(struct argp_state *state,
                           const struct options *options)
{
    if (options->inputs == 0)
        argp_error(state, "--input FILE is missing");
    if (!options->output_prefix)
        argp_error(state, "--output-prefix PREFIX is missing");
    if (options->json_key
        && (!*options->json_key || strchr(options->json_key, '/')))
        argp_error(state, "--json-keys takes one key, not \"%s\"",
                   options->json_key);
    if (options->json_key && !has_json(options))
        argp_error(state, "--json-keys is for JSON objects: no --input has a "
                          "name in .jsonl or .json, or is -; of others, and of "
                          "compressed ones: zcat FILE | mtlm-preprocess "
                          "--input -");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;

    if (key != ARGP_KEY_ARG)
        options->more_inputs = false;
    switch (key) {
    case 'i':
        add_input(state, options, arg);
        options->more_inputs = true;
        break;
    case 'o':
        options->output_prefix = arg;
        break;
    case TOKENIZER_TYPE:
        options->tokenizer = arg;
        break;
    case VOCAB_FILE:
        options->files.vocab = arg;
        break;
    case MERGE_FILE:
        options->files.merge = arg;
        break;
    case TOKENIZER_MODEL:
        options->files.model = arg;
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
        if (!options->more_inputs)
            argp_error(state, "\"%s\" is not an option; --input %s reads it",
                       arg, arg);
        add_input(state, options, arg);
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
        "  mtlm-preprocess --input book.txt --output-prefix book\n"
        "  mtlm-dag --model gpt-tiny --data-path book\n\n"
        "  mtlm-preprocess --input *.txt --output-prefix books "
        "--split-sentences\n"
        "  mtlm-dag --model bert-tiny --data-path books\n\n"
        "Exit status: 0 done, 2 wrong option, 3 bad input, 4 the output "
        "cannot be written, 6 not enough memory or a size beyond a "
        "limit.",
};

int main(int argc, char **argv)
{
    struct options options = {0};
    struct mtlm_error err;
    int rc;

    mtlm_standard_output_start();
    argp_err_exit_status = MTLM_EXIT_USAGE;
    argp_parse(&parser, argc, argv, ARGP_IN_ORDER, NULL, &options);
    mtlm_tool_start();
    mtlm_tool_catch_signals();
    rc = preprocess(&options, &err);
    free(options.input);
    return mtlm_tool_end(rc, &err);
}
