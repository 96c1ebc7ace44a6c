/* Logits block after block. */

#include "config.h"

#include "codelets/value.h"
#include "codelets/xent_block.h"
#include "runtime/base/least.h"

/* Reads a block at its row and column, which lie behind the last row where
 * there is none. */
static void read_block(const struct mtlm_xent_logits *logits,
                       struct mtlm_xent_block *block, mtlm_real *buffer)
{
    block->n = block->row < logits->rows
                   ? mtlm_least(logits->n - block->column, MTLM_XENT_BLOCK)
                   : 0;
    block->logits = mtlm_value_get(
        logits->type, logits->values, block->row * logits->cols + block->column,
        block->n,
        buffer + block->number % MTLM_XENT_BLOCKS_READ * MTLM_XENT_BLOCK);
}

struct mtlm_xent_block mtlm_xent_block_first(
    const struct mtlm_xent_logits *logits, mtlm_real *buffer)
{
    struct mtlm_xent_block block = {0};

    read_block(logits, &block, buffer);
    return block;
}

struct mtlm_xent_block mtlm_xent_block_next(
    const struct mtlm_xent_logits *logits, struct mtlm_xent_block block,
    mtlm_real *buffer)
{
    block.number++;
    block.column += MTLM_XENT_BLOCK;
    if (block.column >= logits->n)
        block.row++, block.column = 0;
    read_block(logits, &block, buffer);
    return block;
}
