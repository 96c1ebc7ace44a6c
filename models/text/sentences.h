#ifndef MTLM_SENTENCES_H
#define MTLM_SENTENCES_H

#include <stdint.h>

/* Where the sentences of English prose end.
 *
 * A sentence ends before a blank line or a form feed, and after . ? or ! (with
 * the quotation marks and brackets that close after it) where white space
 * follows and then a capital letter or a digit, perhaps behind a quotation
 * mark or bracket that opens.  A full stop does not end it
 *
 *  - after a title or another abbreviation that stands before a name or a
 *    word: "Mr. Smith", "cf. Proudhon";
 *  - before a digit, after an abbreviation that goes with numbers: "p. 7",
 *    "Jan. 1905", "(Bakunin et al. 1970)";
 *  - after a single letter other than I: "J. R. Smith", "e.g. Spain",
 *    "the U.S. Army";
 *  - after the number, or letter, that the sentence began with: "1. First".
 *
 * What is in doubt is left together: "at 5 p.m. He" goes on.  An end within
 * brackets or quotation marks is an end like others.  Bytes beyond ASCII may
 * be anything; of them quotation marks and the capitals of Latin-1 are known
 * in UTF-8. */

/* Bytes from the beginning of text (n of them) to the end of its first
 * sentence and of the white space after it; n where it does not end before.
 * At least 1, unless n is 0. */
int64_t mtlm_sentences_length(const char *text, int64_t n);

#endif /* MTLM_SENTENCES_H */
