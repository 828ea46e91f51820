/* out(i,j) = A(i,j) * B(i,j)
 * A: "ds" of f32
 * B: "dh" of f32
 * out: "ds" of f32
 * reorder(i, j)
 * parallelize(i, threads)
 * threads take blocks of i with equal numbers of entries of A, where there are enough of them
 */
#include <stdint.h>
#include <string.h>

/* The place of a key in a table of size places, a power of two. */
static inline int64_t hash(int64_t key, int64_t size)
{
    return (int64_t)((unsigned __int128)((uint64_t)key * 0x9e3779b97f4a7c15u) * (uint64_t)size >> 64);
}

int32_t kernel_assemble(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A2_pos = (const int32_t *)slots[3];
    const int32_t *restrict A2_crd = (const int32_t *)slots[4];
    const int32_t *restrict B2_pos = (const int32_t *)slots[6];
    const int32_t *restrict B2_crd = (const int32_t *)slots[7];
    int64_t out2_count = slots[9];
    int32_t *restrict out2_pos = (int32_t *)slots[10];
    memset(out2_pos, 0, (size_t)(n_i + 1) * sizeof *out2_pos);
    const int64_t parts = (int64_t)A2_pos[n_i] + B2_pos[n_i] > 32768 ? threads * 16 : 1;
    #pragma omp parallel num_threads(threads) if (parts > 1)
    {
        #pragma omp for schedule(dynamic, 1) nowait
        for (int64_t part = 0; part < parts; part++) {
            const int64_t i_share = (n_i + A2_pos[n_i] + (parts - 1)) / parts;
            int64_t i_begin = 0;
            int64_t i_begin_above = n_i;
            while (i_begin < i_begin_above) {
                const int64_t i_begin_middle = i_begin + (i_begin_above - i_begin) / 2;
                if (i_begin_middle + A2_pos[i_begin_middle] < part * i_share) {
                    i_begin = i_begin_middle + 1;
                } else {
                    i_begin_above = i_begin_middle;
                }
            }
            int64_t i_end = i_begin;
            int64_t i_end_above = n_i;
            while (i_end < i_end_above) {
                const int64_t i_end_middle = i_end + (i_end_above - i_end) / 2;
                if (i_end_middle + A2_pos[i_end_middle] < (part + 1) * i_share) {
                    i_end = i_end_middle + 1;
                } else {
                    i_end_above = i_end_middle;
                }
            }
            for (int64_t i = i_begin; i < i_end; i++) {
                int64_t pout2 = 0;
                for (int64_t pA2 = A2_pos[i]; pA2 < A2_pos[i + 1]; pA2++) {
                    const int64_t j = A2_crd[pA2];
                    const int64_t pB2_begin = B2_pos[i];
                    const int64_t pB2_end = B2_pos[i + 1];
                    int64_t pB2 = pB2_begin + hash(j, pB2_end - pB2_begin);
                    while (pB2_begin < pB2_end && B2_crd[pB2] >= 0 && B2_crd[pB2] != j) {
                        pB2 = pB2 + 1 == pB2_end ? pB2_begin : pB2 + 1;
                    }
                    const int64_t pB2_run = pB2 + (pB2_begin < pB2_end && B2_crd[pB2] == j);
                    if (pB2_run > pB2) {
                        pout2++;
                    }
                }
                out2_pos[i + 1] = (int32_t)pout2;
            }
        }
    }
    int64_t total = 0;
    for (int64_t p = 0; p < n_i; p++) {
        total += out2_pos[p + 1];
        out2_pos[p + 1] = (int32_t)total;
    }
    if (total > 2147483647) {
        return 2;
    }
    out2_count = total;
    slots[9] = out2_count;
    return 0;
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A2_pos = (const int32_t *)slots[3];
    const int32_t *restrict A2_crd = (const int32_t *)slots[4];
    const float *restrict A_vals = (const float *)slots[5];
    const int32_t *restrict B2_pos = (const int32_t *)slots[6];
    const int32_t *restrict B2_crd = (const int32_t *)slots[7];
    const float *restrict B_vals = (const float *)slots[8];
    const int32_t *restrict out2_pos = (const int32_t *)slots[10];
    int32_t *restrict out2_crd = (int32_t *)slots[11];
    float *restrict out_vals = (float *)slots[12];
    const int64_t parts = (int64_t)A2_pos[n_i] + B2_pos[n_i] > 32768 ? threads * 16 : 1;
    #pragma omp parallel num_threads(threads) if (parts > 1)
    {
        #pragma omp for schedule(dynamic, 1) nowait
        for (int64_t part = 0; part < parts; part++) {
            const int64_t i_share = (n_i + A2_pos[n_i] + (parts - 1)) / parts;
            int64_t i_begin = 0;
            int64_t i_begin_above = n_i;
            while (i_begin < i_begin_above) {
                const int64_t i_begin_middle = i_begin + (i_begin_above - i_begin) / 2;
                if (i_begin_middle + A2_pos[i_begin_middle] < part * i_share) {
                    i_begin = i_begin_middle + 1;
                } else {
                    i_begin_above = i_begin_middle;
                }
            }
            int64_t i_end = i_begin;
            int64_t i_end_above = n_i;
            while (i_end < i_end_above) {
                const int64_t i_end_middle = i_end + (i_end_above - i_end) / 2;
                if (i_end_middle + A2_pos[i_end_middle] < (part + 1) * i_share) {
                    i_end = i_end_middle + 1;
                } else {
                    i_end_above = i_end_middle;
                }
            }
            for (int64_t i = i_begin; i < i_end; i++) {
                int64_t pout2 = out2_pos[i];
                for (int64_t pA2 = A2_pos[i]; pA2 < A2_pos[i + 1]; pA2++) {
                    const int64_t j = A2_crd[pA2];
                    const int64_t pB2_begin = B2_pos[i];
                    const int64_t pB2_end = B2_pos[i + 1];
                    int64_t pB2 = pB2_begin + hash(j, pB2_end - pB2_begin);
                    while (pB2_begin < pB2_end && B2_crd[pB2] >= 0 && B2_crd[pB2] != j) {
                        pB2 = pB2 + 1 == pB2_end ? pB2_begin : pB2 + 1;
                    }
                    const int64_t pB2_run = pB2 + (pB2_begin < pB2_end && B2_crd[pB2] == j);
                    if (pB2_run > pB2) {
                        out_vals[pout2] = A_vals[pA2] * B_vals[pB2];
                        out2_crd[pout2] = (int32_t)j;
                        pout2++;
                    }
                }
            }
        }
    }
    return 0;
}
