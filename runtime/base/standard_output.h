#ifndef MTLM_STANDARD_OUTPUT_H
#define MTLM_STANDARD_OUTPUT_H

#ifdef __cplusplus
extern "C" {
#endif

/* Standard output that never fails silently: a full disk, a closed pipe. */

/* Checks standard output when the program calls exit() or returns from main().
 * After a failed write the program says so on standard error; status 0 becomes
 * MTLM_EXIT_IO.  Closed descriptors 0, 1 and 2 lead to /dev/null from here on,
 * so that no file takes their numbers: a write to them still fails.  Called
 * first in main(). */
void mtlm_standard_output_start(void);

/* Writes what was printed so far.  Returns 0, or the errno of the failure.  The
 * first failure is said on standard error at once. */
int mtlm_standard_output_flush(void);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_STANDARD_OUTPUT_H */
