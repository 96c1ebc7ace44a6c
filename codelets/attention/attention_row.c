/* The arithmetic of attention between its products. */

#include "config.h"

#include "codelets/attention/attention_block.h"
#include "codelets/attention/attention_row.h"
#include "codelets/vector_math.h"

void mtlm_attention_row_softmax(mtlm_real *score, int64_t n, mtlm_real scale,
                                mtlm_real *max, mtlm_real *sum, mtlm_real *o,
                                int64_t d)
{
    const mtlm_real before = *max;
    mtlm_real m = score[0], part = 0, ratio;

#pragma omp simd reduction(max : m)
    for (int64_t i = 0; i < n; i++)
        m = score[i] > m ? score[i] : m;
    m *= scale;
    m = before > m ? before : m;
#pragma omp simd reduction(+ : part)
    for (int64_t i = 0; i < n; i++) {
        score[i] = mtlm_exp2(scale * score[i] - m);
        part += score[i];
    }
    ratio = mtlm_exp2(before - m);
    *sum = *sum * ratio + part;
    *max = m;
    if (before > -INFINITY && ratio < 1)
        mtlm_block_scale_rows(o, d, ratio);
}

void mtlm_attention_row_drop(mtlm_real *prob, const mtlm_real *factor,
                             int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        prob[i] *= factor[i];
}

void mtlm_attention_row_gradient(mtlm_real *score, mtlm_real *dprob,
                                 const mtlm_real *factor, int64_t n,
                                 mtlm_real scale, mtlm_real lse,
                                 mtlm_real delta)
{
    if (factor) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            const mtlm_real p = mtlm_exp2(scale * score[i] - lse);

            score[i] = p * factor[i];
            dprob[i] = p * (dprob[i] * factor[i] - delta);
        }
    } else {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            const mtlm_real p = mtlm_exp2(scale * score[i] - lse);

            score[i] = p;
            dprob[i] = p * (dprob[i] - delta);
        }
    }
}

mtlm_real mtlm_attention_row_dot(const mtlm_real *x, const mtlm_real *y,
                                 int64_t n)
{
    mtlm_real sum = 0;

#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}
