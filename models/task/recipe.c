/* Settings that make the data of a task samples. */

#include "config.h"

#include "models/task/recipe.h"
#include "models/text/permutation.h"
#include "runtime/base/philox.h"

int64_t mtlm_task_item(const struct mtlm_task_recipe *recipe, int64_t items,
                       int64_t i)
{
    /* Layer 65535 does not exist; its site 5 is for orders of epochs. */
    const uint64_t stream = mtlm_philox_dropout_stream(i / items, 0xffff, 5);

    return recipe->training
               ? mtlm_permutation_apply(recipe->seed, stream, items, i % items)
               : i % items;
}
