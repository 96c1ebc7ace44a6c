#ifndef MTLM_TESTS_TWINS_H
#define MTLM_TESTS_TWINS_H

/* Tests of test_cuda.c that have files of their own. */

void test_attention(void **state); /* twins_attention.c */
void test_attention_that_cudnn_takes(void **state);

void test_layernorm(void **state); /* twins_layers.c */
void test_bias_gelu_and_bias_tanh(void **state);
void test_products_with_gelu(void **state);
void test_gelu_as_an_epilogue(void **state);
void test_bias_gradient_as_an_epilogue(void **state);
void test_dropout(void **state);
void test_embeddings(void **state);
void test_pool_and_add(void **state);
void test_scores(void **state);
void test_fill_and_zero(void **state);

void test_cross_entropy(void **state); /* twins_loss.c */
void test_loss(void **state);
void test_accuracy(void **state);
void test_hits(void **state);

void test_sums(void **state); /* twins_optimizer.c */
void test_status(void **state);
void test_control(void **state);
void test_adam(void **state);
void test_calls_together(void **state);

#endif /* MTLM_TESTS_TWINS_H */
