#ifndef MTLM_UNITS_H
#define MTLM_UNITS_H

/* Bytes of a unit, for sizes that are not whole numbers of it. */
#define MTLM_MIB (1024.0 * 1024)
#define MTLM_GIB (1024.0 * MTLM_MIB)

#endif /* MTLM_UNITS_H */
