/* Divides documents into training, validation and test. */

#include "config.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "models/text/indexed_dataset.h"
#include "models/text/split.h"

static int parse_weights(const char *text, double weight[MTLM_SPLITS],
                         struct mtlm_error *err)
{
    const char *at = text;
    double sum = 0;

    for (int i = 0; i < MTLM_SPLITS; i++) {
        char *end;

        weight[i] = strtod(at, &end);
        while (isspace((unsigned char) *end))
            end++;
        if (end == at || !(weight[i] >= 0) || isinf(weight[i]))
            break;
        sum += weight[i];
        if (*end == '\0' && sum > 0 && !isinf(sum)) {
            for (int j = 0; j <= i; j++)
                weight[j] /= sum;
            return 0;
        }
        if (*end != ',' && *end != '/')
            break;
        at = end + 1;
    }
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "split \"%s\" is not a list of one to three weights "
                          "(of training, validation, test), such as "
                          "\"969, 30, 1\"",
                          text);
}

/* Rounds each split (half to even, like Python); subtracts the error of the sum
 * from every bound but the first. */
int mtlm_split_parse(const char *text, int64_t documents,
                     int64_t bound[MTLM_SPLITS + 1], struct mtlm_error *err)
{
    double weight[MTLM_SPLITS] = {0};
    int64_t excess;

    if (parse_weights(text, weight, err) < 0)
        return -1;
    bound[0] = 0;
    for (int i = 0; i < MTLM_SPLITS; i++)
        bound[i + 1] = bound[i] + llrint(weight[i] * (double) documents);
    excess = bound[MTLM_SPLITS] - documents;
    for (int i = 1; i <= MTLM_SPLITS; i++) {
        bound[i] -= excess;
        /* Never before the previous bound; Megatron's may be negative. */
        if (bound[i] < bound[i - 1])
            bound[i] = bound[i - 1];
    }
    return 0;
}

bool mtlm_split_shares(const char *text, enum mtlm_split split)
{
    double weight[MTLM_SPLITS] = {0};

    return parse_weights(text, weight, NULL) == 0 && weight[split] > 0;
}

void mtlm_split_cut(const char *text, struct mtlm_indexed_dataset *dataset,
                    bool sentences, int64_t bound[MTLM_SPLITS + 1])
{
    const int64_t documents = mtlm_indexed_dataset_documents(dataset);
    int64_t token[MTLM_SPLITS + 1];

    if (mtlm_split_parse(text,
                         mtlm_indexed_dataset_tokens(dataset, 0, documents),
                         token, NULL)
        < 0)
        assert(!"a text that is no list of weights");
    for (int i = 0; i <= MTLM_SPLITS; i++)
        bound[i] = mtlm_indexed_dataset_cut(dataset, token[i], sentences);
}
