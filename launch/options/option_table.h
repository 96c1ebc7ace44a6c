#ifndef MTLM_OPTION_TABLE_H
#define MTLM_OPTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "launch/options/options.h"

/* The option table as data: one entry per option of option_list.h, in its
 * order. */

enum mtlm_option_type {
    MTLM_OPTION_INT,       /* int64_t, decimal */
    MTLM_OPTION_REAL,      /* double, finite */
    MTLM_OPTION_TEXT,      /* char *, owned; NULL when not given */
    MTLM_OPTION_FLAG,      /* bool; yes or no in a configuration file */
    MTLM_OPTION_CHOICE,    /* enum */
    MTLM_OPTION_RANGE,     /* struct mtlm_range, written A:B */
    MTLM_OPTION_WORDS,     /* text of several words, as blend_list.h reads it */
    MTLM_OPTION_PROMPT,    /* text of any characters, maybe none; not in
                            * configuration files */
    MTLM_OPTION_SPLIT,     /* text, as models/text/split.h reads it */
    MTLM_OPTION_RAMP,      /* struct mtlm_ramp without full; three numbers */
    MTLM_OPTION_SLOW,      /* struct mtlm_slow_rank, written RANK:SPEED */
    MTLM_OPTION_JITTER,    /* struct mtlm_noise, as option_jitter.h reads it */
    MTLM_OPTION_EPILOGUES, /* struct mtlm_epilogue_wishes, KIND:WAY,... */
    MTLM_OPTION_ACTION, /* enum mtlm_options_request; not in configuration files
                         */
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
    const char *arg; /* name of the value, as many words as the value has;
                      * NULL: a flag */
    const char *help;
};

extern const struct mtlm_option mtlm_option_table[MTLM_OPTION_COUNT];
extern const char *const mtlm_option_group_title[MTLM_OPTION_GROUP_COUNT];
extern const char *const mtlm_option_group_about[MTLM_OPTION_GROUP_COUNT];

/* Returns the option of that name, or -1.  For text from a user or a file; the
 * program itself uses MTLM_OPT_... */
int mtlm_option_find(const char *name);

/* Whether the field is a char * that the options own. */
bool mtlm_option_owns_text(enum mtlm_option_id option);

/* Returns the name of the option, without dashes. */
const char *mtlm_option_name(enum mtlm_option_id option);

/* Returns the field of the option in options. */
void *mtlm_option_field(struct mtlm_options *options,
                        enum mtlm_option_id option);

/* Returns the field of the option in constant options. */
const void *mtlm_option_value(const struct mtlm_options *options,
                              enum mtlm_option_id option);

/* Returns whether the user, a file or a preset must give the option. */
bool mtlm_option_needed(enum mtlm_option_id option);

/* Returns whether a configuration file may hold the option. */
bool mtlm_option_in_file(enum mtlm_option_id option);

/* Returns whether the command line ends with the option, as after --help. */
bool mtlm_option_ends_line(enum mtlm_option_id option);

#endif /* MTLM_OPTION_TABLE_H */
