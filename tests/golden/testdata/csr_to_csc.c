/* out(i,j) = A(i,j)
 * A: "ds" of f32
 * out: "ds:1,0" of f32
 * reorder(i, j)
 * assemble(insert)
 * out is filled by insertion: its rows are counted first, then entries go to their rows as they come
 * one thread: entries are inserted in the order in which they come
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *allocate(int64_t count, size_t size)
{
    return malloc((size_t)count * size + 1);
}

static inline int64_t max_i64(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

int32_t kernel_assemble(int64_t *slots)
{
    const int64_t n_i = slots[1];
    const int64_t n_j = slots[2];
    const int32_t *restrict A2_pos = (const int32_t *)slots[3];
    const int32_t *restrict A2_crd = (const int32_t *)slots[4];
    int64_t out2_count = slots[6];
    int32_t *restrict out2_pos = (int32_t *)slots[7];
    memset(out2_pos, 0, (size_t)(n_j + 1) * sizeof *out2_pos);
    for (int64_t i = 0; i < n_i; i++) {
        for (int64_t pA2 = A2_pos[i]; pA2 < A2_pos[i + 1]; pA2++) {
            const int64_t j = A2_crd[pA2];
            out2_pos[j + 1]++;
        }
    }
    int64_t total = 0;
    for (int64_t p = 0; p < n_j; p++) {
        total += out2_pos[p + 1];
        out2_pos[p + 1] = (int32_t)total;
    }
    if (total > 2147483647) {
        return 2;
    }
    out2_count = total;
    slots[6] = out2_count;
    return 0;
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t n_i = slots[1];
    const int64_t n_j = slots[2];
    const int32_t *restrict A2_pos = (const int32_t *)slots[3];
    const int32_t *restrict A2_crd = (const int32_t *)slots[4];
    const float *restrict A_vals = (const float *)slots[5];
    const int32_t *restrict out2_pos = (const int32_t *)slots[7];
    int32_t *restrict out2_crd = (int32_t *)slots[8];
    float *restrict out_vals = (float *)slots[9];
    int32_t status = 0;
    int32_t *restrict out_next = allocate(max_i64(n_j, 1), sizeof *out_next);
    if (!out_next) {
        status = 1;
        goto done;
    }
    for (int64_t p = 0; p < n_j; p++) {
        out_next[p] = out2_pos[p];
    }
    for (int64_t i = 0; i < n_i; i++) {
        for (int64_t pA2 = A2_pos[i]; pA2 < A2_pos[i + 1]; pA2++) {
            const int64_t j = A2_crd[pA2];
            const int64_t pout = out_next[j];
            out2_crd[pout] = (int32_t)i;
            out_vals[pout] = A_vals[pA2];
            out_next[j] = (int32_t)(pout + 1);
        }
    }
done:
    free(out_next);
    return status;
}
