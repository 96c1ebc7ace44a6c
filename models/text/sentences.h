#ifndef MTLM_SENTENCES_H
#define MTLM_SENTENCES_H

#include <stdint.h>

/* Ends of sentences in English prose.
 *
 * A sentence ends before a blank line or a form feed.  A sentence also ends
 * after . ? or !, with closing quotation marks and brackets.  White space must
 * follow, then a capital letter or a digit, perhaps behind an opening quotation
 * mark or bracket.  A full stop does not end a sentence
 *
 *  - after a title, or another abbreviation before a name or a word: "Mr.
 *    Smith", "cf. Proudhon";
 *  - before a digit, after an abbreviation used with numbers: "p. 7",
 *    "Jan. 1905", "(Bakunin et al. 1970)";
 *  - after a single letter other than I: "J. R. Smith", "e.g. Spain",
 *    "the U.S. Army";
 *  - after a number or letter at the sentence's beginning: "1. First".
 *
 * Doubtful cases do not end a sentence: "at 5 p.m. He" goes on.  A sentence may
 * end within brackets or quotation marks.  Text may hold any bytes beyond
 * ASCII; quotation marks and the capitals of Latin-1 are recognised in UTF-8.
 */

/* Returns the bytes of the first sentence of text [n], with the white space
 * after the sentence.  Returns n if no sentence ends earlier.  The result is at
 * least 1, unless n is 0. */
int64_t mtlm_sentences_length(const char *text, int64_t n);

#endif /* MTLM_SENTENCES_H */
