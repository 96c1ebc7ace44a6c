#ifndef MTLM_TESTS_SIMULATED_H
#define MTLM_TESTS_SIMULATED_H

/* Returns what --simulate FILE prints for a line of options; NULL: error says
 * why (tests/launch/parse.h).  The caller frees the text. */
char *simulated(const char *file, const char *line);

/* Fails unless the numbers differ by at most that share of the second. */
void near(double have, double want, double tolerance);

/* Fails unless the words stand in the text. */
void assert_says(const char *text, const char *what);

#endif /* MTLM_TESTS_SIMULATED_H */
