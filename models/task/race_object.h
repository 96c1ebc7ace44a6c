#ifndef MTLM_RACE_OBJECT_H
#define MTLM_RACE_OBJECT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/error.h"

enum { MTLM_RACE_CHOICES = 4 };

/* Parses a line [bytes] of a file of RACE and checks the object: the functions
 * below need no check.  The list "answers" may be missing, or empty: the
 * questions are of a test.  Returns a new reference.  NULL and MTLM_EXIT_INPUT,
 * with path, number of the line and question, for anything else. */
json_t *mtlm_race_object_read(const char *line, int64_t bytes, const char *path,
                              int64_t number, struct mtlm_error *err);

/* Return the article, borrowed; the number of questions; whether they have
 * answers; the right choice of a question that has one. */
const char *mtlm_race_object_article(const json_t *object);
int64_t mtlm_race_object_questions(const json_t *object);
bool mtlm_race_object_labelled(const json_t *object);
int mtlm_race_object_answer(const json_t *object, int64_t question);

/* Returns the question with a choice, in place of every "_" or behind the
 * question; the caller frees the text. */
char *mtlm_race_object_text(const json_t *object, int64_t question, int choice);

#endif /* MTLM_RACE_OBJECT_H */
