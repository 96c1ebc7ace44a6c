#ifndef MTLM_OPTION_H
#define MTLM_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "launch/options/options.h"

/* The option table as data, for the files that make up the command line.
 * An option is known by its index in the table. */

enum mtlm_option_type {
    MTLM_OPTION_INT,    /* int64_t, decimal */
    MTLM_OPTION_REAL,   /* double, finite */
    MTLM_OPTION_TEXT,   /* char *, owned; NULL when not given */
    MTLM_OPTION_FLAG,   /* bool; yes or no in a configuration file */
    MTLM_OPTION_CHOICE, /* enum */
    MTLM_OPTION_RANGE,  /* struct mtlm_range, written A:B */
    MTLM_OPTION_SPLIT,  /* text, as models/text/split.h reads it */
    MTLM_OPTION_RAMP,   /* struct mtlm_ramp without full; three numbers */
    MTLM_OPTION_SLOW,   /* struct mtlm_slow_rank, written RANK:SPEED */
    MTLM_OPTION_ACTION, /* enum mtlm_request; not in configuration files */
};

enum mtlm_option_group {
#define GROUP(name, title, about) MTLM_OPTION_GROUP_##name,
    MTLM_OPTION_GROUP_LIST(GROUP)
#undef GROUP
        MTLM_OPTION_GROUP_COUNT
};

struct mtlm_option {
    const char *name;
    enum mtlm_option_group group;
    enum mtlm_option_type type;
    size_t offset;        /* of the field in struct mtlm_options */
    const char *fallback; /* default as text; "" for none */
    double min, max;
    const char *arg, *help; /* as many words as arg has can follow */
};

extern const struct mtlm_option mtlm_option_table[MTLM_OPTION_COUNT];
extern const char *const mtlm_option_group_title[MTLM_OPTION_GROUP_COUNT];
extern const char *const mtlm_option_group_about[MTLM_OPTION_GROUP_COUNT];

/* Index of the option of that name, or -1. */
int mtlm_option_find(const char *name);

/* Whether the user, a file or a preset has to give it. */
bool mtlm_option_needed(int option);

/* Whether a configuration file may hold it. */
bool mtlm_option_in_file(int option);

/* Whether nothing after it on the command line counts, as after --help. */
bool mtlm_option_ends_line(int option);

/* Why name, written as dashes + name ("--", "-" or "" for a key of a file),
 * is none of ours: spelled otherwise, absent, or what it may have meant.
 * Returns -1. */
int mtlm_option_unknown(const char *dashes, const char *name,
                        struct mtlm_error *err);

/* Sets the option's field from text and notes the source.  label names the
 * option in the error. */
int mtlm_option_set(struct mtlm_options *options, int option, const char *text,
                    enum mtlm_option_source source, const char *label,
                    struct mtlm_error *err);

/* Writes the option's value as mtlm_option_set() reads it. */
void mtlm_option_write(const struct mtlm_options *options, int option,
                       FILE *out);

/* Whether its value is neither given nor follows from anything. */
bool mtlm_option_absent(const struct mtlm_options *options, int option);

/* Adds a sentence to the notes. */
void mtlm_options_note(struct mtlm_options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Works out what was not given from what was (options_check.c), and of it
 * what belongs to the course of the training (options_recipe.c). */
int mtlm_options_resolve(struct mtlm_options *options, struct mtlm_error *err);
int mtlm_recipe_resolve(struct mtlm_options *options, struct mtlm_error *err);

/* Of two options that say the same in different ways, drops the one from the
 * weaker source; both from the same one are an error. */
int mtlm_option_prefer(struct mtlm_options *options, const char *a,
                       const char *b, struct mtlm_error *err);

/* The virtual stages (options_stages.c): reads what was given; whether the
 * pipeline that was given, or any where none was, can hold them. */
int mtlm_stages_resolve(struct mtlm_options *options, struct mtlm_error *err);
int mtlm_stages_check(const struct mtlm_options *options,
                      struct mtlm_error *err);

/* The schedule (options_schedule.c): what it fixes. */
int mtlm_schedule_resolve(struct mtlm_options *options, struct mtlm_error *err);

/* Of --bf16, --fp16 and the options of the loss scale; what the run has of the
 * latter: of all but fp16 none. */
int mtlm_precision_resolve(struct mtlm_options *options,
                           struct mtlm_error *err);
struct mtlm_loss_scale mtlm_precision_scale(const struct mtlm_options *options);

/* --eval-only: what it needs, and what it leaves out. */
int mtlm_eval_only_resolve(struct mtlm_options *options,
                           struct mtlm_error *err);

/* Whether the values of the recipe fit each other. */
int mtlm_recipe_check(const struct mtlm_options *options,
                      struct mtlm_error *err);

/* Where the option's value came from; given: not from the defaults. */
enum mtlm_option_source mtlm_option_source(const struct mtlm_options *options,
                                           const char *name);
bool mtlm_option_given(const struct mtlm_options *options, const char *name);

/* Opens the tokenizer, if one was given, and takes the vocabulary's size from
 * it. */
int mtlm_options_open_tokenizer(struct mtlm_options *options,
                                struct mtlm_error *err);

#endif /* MTLM_OPTION_H */
