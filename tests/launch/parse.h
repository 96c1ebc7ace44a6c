#ifndef TESTS_PARSE_H
#define TESTS_PARSE_H

#include "launch/options/option_value.h"
#include "launch/options/options_parse.h"

/* What the last line parsed to. */
extern struct mtlm_options options;
extern struct mtlm_error error;

/* mtlm_options_parse() of words separated by spaces, '' standing for an
 * empty one. */
int parse(const char *line);

/* Fail the test unless the line is accepted, or refused in that sentence with
 * MTLM_EXIT_USAGE. */
void accepts(const char *line);
void refuses(const char *line, const char *sentence);

/* What --dry-run prints for a line that asks for it; the caller frees it. */
char *plan_of(const char *line);

/* The number behind a phrase of the text; fails the test if there is none. */
double number_after(const char *text, const char *phrase);

/* accepts() and refuses() with a configuration file of that text; the name of
 * the file and the sentence make the error. */
void accepts_config(const char *text, const char *line);
void refuses_config(const char *text, const char *sentence);

/* refuses() of a line with a configuration file of that text. */
void refuses_line_config(const char *text, const char *line,
                         const char *sentence);

/* Group fixtures. */
int parse_setup(void **state);
int parse_teardown(void **state);

#endif /* TESTS_PARSE_H */
