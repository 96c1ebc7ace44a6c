#ifndef MTLM_CONFIG_FILE_H
#define MTLM_CONFIG_FILE_H

#include "launch/options/option_list.h"
#include "runtime/base/error.h"

/* A configuration file: the options of the command line without their
 * dashes, one per line:
 *
 *   # a comment
 *   num-layers = 12
 *   mock-data = yes */
struct mtlm_config {
    int n;
    struct mtlm_config_entry {
        enum mtlm_option_id option;
        int line;   /* of the file, from 1 */
        char *key;  /* the option's name, or a former one, owned */
        char *text; /* the value, owned */
    } * entry;      /* n of them */
};

/* Reads the file at path.  Refuses lines that are not key = value, unknown
 * keys and repeated keys, with file and line.  Does not check values.  A
 * former option becomes a value of the option that took its place: that option
 * may have several entries, in the order of the lines.  In all cases the caller
 * frees config with mtlm_config_free(). */
int mtlm_config_read(struct mtlm_config *config, const char *path,
                     struct mtlm_error *err);
void mtlm_config_free(struct mtlm_config *config);

#endif /* MTLM_CONFIG_FILE_H */
