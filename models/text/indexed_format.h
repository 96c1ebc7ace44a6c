#ifndef MTLM_INDEXED_FORMAT_H
#define MTLM_INDEXED_FORMAT_H

/* Layout of PREFIX.idx, little-endian, for reader and writer.  Source:
 * Megatron-LM, core/datasets/indexed_dataset.py.
 *
 *  0           char magic[9]
 *  9           u64 version
 *  17          u8 code of the tokens' type
 *  18          u64 N, sequences
 *  26          u64 D, documents + 1
 *  34          i32 length[N], in tokens
 *  34 +  4 N   i64 pointer[N], byte of PREFIX.bin where the sequence begins
 *  34 + 12 N   i64 bound[D], sequence where the document begins; first 0,
 *              last N
 *
 * Files of images beside text end with N more bytes, which we do not read. */
#define MTLM_IDX_MAGIC "MMIDIDX\0" /* and the literal's final 0 */
enum {
    MTLM_IDX_MAGIC_BYTES = 9,
    MTLM_IDX_VERSION_AT = 9,
    MTLM_IDX_VERSION = 1,
    MTLM_IDX_DTYPE_AT = 17,
    MTLM_IDX_SEQUENCES_AT = 18,
    MTLM_IDX_BOUNDS_AT = 26,
    MTLM_IDX_HEADER_BYTES = 34,
};

enum mtlm_idx_dtype {
    MTLM_IDX_U8 = 1,
    MTLM_IDX_I8 = 2,
    MTLM_IDX_I16 = 3,
    MTLM_IDX_I32 = 4,
    MTLM_IDX_I64 = 5,
    MTLM_IDX_F64 = 6, /* floats: versions differ on 6 and 7 */
    MTLM_IDX_F32 = 7,
    MTLM_IDX_U16 = 8,
};

/* Returns the bytes of a token; 0 if dtype is no integer type. */
static inline int mtlm_idx_dtype_bytes(int dtype)
{
    switch (dtype) {
    case MTLM_IDX_U8:
    case MTLM_IDX_I8:
        return 1;
    case MTLM_IDX_I16:
    case MTLM_IDX_U16:
        return 2;
    case MTLM_IDX_I32:
        return 4;
    case MTLM_IDX_I64:
        return 8;
    default:
        return 0;
    }
}

#endif /* MTLM_INDEXED_FORMAT_H */
