/* out(i,j) = A(i,j,k) * x(k)
 * A: "sss" of f32
 * x: "d" of f32
 * out: "ds" of f32
 * reorder(i, j, k)
 * precompute(all, w, at=2, tile)
 * parallelize(i, threads)
 * workspace w: a scalar, since [k] is summed inside each element
 * threads take blocks of i with equal numbers of entries of A, where there are enough of them
 */
#include <stdint.h>
#include <string.h>

int32_t kernel_assemble(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A1_pos = (const int32_t *)slots[4];
    const int32_t *restrict A1_crd = (const int32_t *)slots[5];
    const int32_t *restrict A2_pos = (const int32_t *)slots[6];
    const int32_t *restrict A3_pos = (const int32_t *)slots[8];
    int64_t out2_count = slots[12];
    int32_t *restrict out2_pos = (int32_t *)slots[13];
    memset(out2_pos, 0, (size_t)(n_i + 1) * sizeof *out2_pos);
    const int64_t parts = A3_pos[A2_pos[A1_pos[1]]] > 32768 ? threads * 16 : 1;
    #pragma omp parallel num_threads(threads) if (parts > 1)
    {
        #pragma omp for schedule(dynamic, 1) nowait
        for (int64_t part = 0; part < parts; part++) {
            const int64_t pA1_share = ((int64_t)A1_pos[1] + A3_pos[A2_pos[A1_pos[1]]] + (parts - 1)) / parts;
            int64_t pA1_begin = A1_pos[0];
            int64_t pA1_begin_above = A1_pos[1];
            while (pA1_begin < pA1_begin_above) {
                const int64_t pA1_begin_middle = pA1_begin + (pA1_begin_above - pA1_begin) / 2;
                if (pA1_begin_middle + A3_pos[A2_pos[pA1_begin_middle]] < part * pA1_share) {
                    pA1_begin = pA1_begin_middle + 1;
                } else {
                    pA1_begin_above = pA1_begin_middle;
                }
            }
            int64_t pA1_end = pA1_begin;
            int64_t pA1_end_above = A1_pos[1];
            while (pA1_end < pA1_end_above) {
                const int64_t pA1_end_middle = pA1_end + (pA1_end_above - pA1_end) / 2;
                if (pA1_end_middle + A3_pos[A2_pos[pA1_end_middle]] < (part + 1) * pA1_share) {
                    pA1_end = pA1_end_middle + 1;
                } else {
                    pA1_end_above = pA1_end_middle;
                }
            }
            for (int64_t pA1 = pA1_begin; pA1 < pA1_end; pA1++) {
                const int64_t i = A1_crd[pA1];
                int64_t pout2 = 0;
                for (int64_t pA2 = A2_pos[pA1]; pA2 < A2_pos[pA1 + 1]; pA2++) {
                    uint8_t w_set = 0;
                    for (int64_t pA3 = A3_pos[pA2]; pA3 < A3_pos[pA2 + 1]; pA3++) {
                        w_set = 1;
                    }
                    if (w_set) {
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
    slots[12] = out2_count;
    return 0;
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int32_t *restrict A1_pos = (const int32_t *)slots[4];
    const int32_t *restrict A1_crd = (const int32_t *)slots[5];
    const int32_t *restrict A2_pos = (const int32_t *)slots[6];
    const int32_t *restrict A2_crd = (const int32_t *)slots[7];
    const int32_t *restrict A3_pos = (const int32_t *)slots[8];
    const int32_t *restrict A3_crd = (const int32_t *)slots[9];
    const float *restrict A_vals = (const float *)slots[10];
    const float *restrict x_vals = (const float *)slots[11];
    const int32_t *restrict out2_pos = (const int32_t *)slots[13];
    int32_t *restrict out2_crd = (int32_t *)slots[14];
    float *restrict out_vals = (float *)slots[15];
    const int64_t parts = A3_pos[A2_pos[A1_pos[1]]] > 32768 ? threads * 16 : 1;
    #pragma omp parallel num_threads(threads) if (parts > 1)
    {
        #pragma omp for schedule(dynamic, 1) nowait
        for (int64_t part = 0; part < parts; part++) {
            const int64_t pA1_share = ((int64_t)A1_pos[1] + A3_pos[A2_pos[A1_pos[1]]] + (parts - 1)) / parts;
            int64_t pA1_begin = A1_pos[0];
            int64_t pA1_begin_above = A1_pos[1];
            while (pA1_begin < pA1_begin_above) {
                const int64_t pA1_begin_middle = pA1_begin + (pA1_begin_above - pA1_begin) / 2;
                if (pA1_begin_middle + A3_pos[A2_pos[pA1_begin_middle]] < part * pA1_share) {
                    pA1_begin = pA1_begin_middle + 1;
                } else {
                    pA1_begin_above = pA1_begin_middle;
                }
            }
            int64_t pA1_end = pA1_begin;
            int64_t pA1_end_above = A1_pos[1];
            while (pA1_end < pA1_end_above) {
                const int64_t pA1_end_middle = pA1_end + (pA1_end_above - pA1_end) / 2;
                if (pA1_end_middle + A3_pos[A2_pos[pA1_end_middle]] < (part + 1) * pA1_share) {
                    pA1_end = pA1_end_middle + 1;
                } else {
                    pA1_end_above = pA1_end_middle;
                }
            }
            for (int64_t pA1 = pA1_begin; pA1 < pA1_end; pA1++) {
                const int64_t i = A1_crd[pA1];
                int64_t pout2 = out2_pos[i];
                for (int64_t pA2 = A2_pos[pA1]; pA2 < A2_pos[pA1 + 1]; pA2++) {
                    const int64_t j = A2_crd[pA2];
                    uint8_t w_set = 0;
                    float w = 0.0f;
                    for (int64_t pA3 = A3_pos[pA2]; pA3 < A3_pos[pA2 + 1]; pA3++) {
                        const int64_t k = A3_crd[pA3];
                        w_set = 1;
                        w += A_vals[pA3] * x_vals[k];
                    }
                    if (w_set) {
                        out_vals[pout2] = w;
                        out2_crd[pout2] = (int32_t)j;
                        pout2++;
                    }
                }
            }
        }
    }
    return 0;
}
