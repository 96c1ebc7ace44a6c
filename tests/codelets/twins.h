#ifndef MTLM_TESTS_TWINS_H
#define MTLM_TESTS_TWINS_H

/* Tests of test_cuda.c that have files of their own. */

void test_attention(void **state); /* twins_attention.c */

void test_cross_entropy(void **state); /* twins_loss.c */
void test_loss(void **state);
void test_accuracy(void **state);

void test_sums(void **state); /* twins_optimizer.c */
void test_status(void **state);
void test_control(void **state);
void test_adam(void **state);

#endif /* MTLM_TESTS_TWINS_H */
