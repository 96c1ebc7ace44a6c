/* Random numbers by shifts. */

#include "config.h"

#include "graph/order/chance.h"

struct mtlm_chance mtlm_chance_create(void)
{
    return (struct mtlm_chance){UINT64_C(0x9e3779b97f4a7c15)};
}

double mtlm_chance_fraction(struct mtlm_chance *chance)
{
    chance->state ^= chance->state << 13;
    chance->state ^= chance->state >> 7;
    chance->state ^= chance->state << 17;
    return (double) (chance->state >> 11) / (double) (UINT64_C(1) << 53);
}

int mtlm_chance_below(struct mtlm_chance *chance, int n)
{
    return (int) (mtlm_chance_fraction(chance) * n);
}
