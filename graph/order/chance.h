#ifndef MTLM_GRAPH_CHANCE_H
#define MTLM_GRAPH_CHANCE_H

/* Random numbers of the searches over orders: xorshift (Marsaglia 2003).  All
 * ranks draw the same numbers. */

#include <stdint.h>

struct mtlm_chance {
    uint64_t state; /* not 0 */
};

/* Returns the generator before its first number. */
struct mtlm_chance mtlm_chance_create(void);

/* Returns a number in [0, 1). */
double mtlm_chance_fraction(struct mtlm_chance *chance);

/* Returns an integer in [0, n). */
int mtlm_chance_below(struct mtlm_chance *chance, int n);

#endif /* MTLM_GRAPH_CHANCE_H */
