/* C(i,j) = A(i,j) + B(i,j)
 * A: "ds" of f32
 * B: "ds" of f32
 * C: "ds" of f32
 * reorder(i, j)
 * parallelize(i, threads)
 * threads take blocks of i with equal numbers of entries of A, where there are enough of them
 */
#include <stdint.h>
#include <string.h>

static inline int64_t min_i64(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

int32_t kernel_assemble(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A2_pos = (const int32_t *)slots[3];
    const int32_t *restrict A2_crd = (const int32_t *)slots[4];
    const int32_t *restrict B2_pos = (const int32_t *)slots[6];
    const int32_t *restrict B2_crd = (const int32_t *)slots[7];
    int64_t C2_count = slots[9];
    int32_t *restrict C2_pos = (int32_t *)slots[10];
    memset(C2_pos, 0, (size_t)(n_i + 1) * sizeof *C2_pos);
    const int64_t parts = (int64_t)A2_pos[n_i] + B2_pos[n_i] > 32768 ? threads * 16 : 1;
    #pragma omp parallel num_threads(threads) if (parts > 1)
    {
        #pragma omp for schedule(dynamic, 1) nowait
        for (int64_t part = 0; part < parts; part++) {
            const int64_t i_share = (n_i + A2_pos[n_i] + B2_pos[n_i] + (parts - 1)) / parts;
            int64_t i_begin = 0;
            int64_t i_begin_above = n_i;
            while (i_begin < i_begin_above) {
                const int64_t i_begin_middle = i_begin + (i_begin_above - i_begin) / 2;
                if (i_begin_middle + A2_pos[i_begin_middle] + B2_pos[i_begin_middle] < part * i_share) {
                    i_begin = i_begin_middle + 1;
                } else {
                    i_begin_above = i_begin_middle;
                }
            }
            int64_t i_end = i_begin;
            int64_t i_end_above = n_i;
            while (i_end < i_end_above) {
                const int64_t i_end_middle = i_end + (i_end_above - i_end) / 2;
                if (i_end_middle + A2_pos[i_end_middle] + B2_pos[i_end_middle] < (part + 1) * i_share) {
                    i_end = i_end_middle + 1;
                } else {
                    i_end_above = i_end_middle;
                }
            }
            for (int64_t i = i_begin; i < i_end; i++) {
                int64_t pC2 = 0;
                int64_t pA2 = A2_pos[i];
                const int64_t pA2_end = A2_pos[i + 1];
                int64_t pB2 = B2_pos[i];
                const int64_t pB2_end = B2_pos[i + 1];
                while (pA2 < pA2_end && pB2 < pB2_end) {
                    const int64_t jA = A2_crd[pA2];
                    const int64_t jB = B2_crd[pB2];
                    const int64_t j = min_i64(jA, jB);
                    if (jA == j && jB == j) {
                        pC2++;
                    } else if (jA == j) {
                        pC2++;
                    } else if (jB == j) {
                        pC2++;
                    }
                    pA2 = pA2 + (jA == j);
                    pB2 = pB2 + (jB == j);
                }
                while (pA2 < pA2_end) {
                    pC2++;
                    pA2 = pA2 + 1;
                }
                while (pB2 < pB2_end) {
                    pC2++;
                    pB2 = pB2 + 1;
                }
                C2_pos[i + 1] = (int32_t)pC2;
            }
        }
    }
    int64_t total = 0;
    for (int64_t p = 0; p < n_i; p++) {
        total += C2_pos[p + 1];
        C2_pos[p + 1] = (int32_t)total;
    }
    if (total > 2147483647) {
        return 2;
    }
    C2_count = total;
    slots[9] = C2_count;
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
    const int32_t *restrict C2_pos = (const int32_t *)slots[10];
    int32_t *restrict C2_crd = (int32_t *)slots[11];
    float *restrict C_vals = (float *)slots[12];
    const int64_t parts = (int64_t)A2_pos[n_i] + B2_pos[n_i] > 32768 ? threads * 16 : 1;
    #pragma omp parallel num_threads(threads) if (parts > 1)
    {
        #pragma omp for schedule(dynamic, 1) nowait
        for (int64_t part = 0; part < parts; part++) {
            const int64_t i_share = (n_i + A2_pos[n_i] + B2_pos[n_i] + (parts - 1)) / parts;
            int64_t i_begin = 0;
            int64_t i_begin_above = n_i;
            while (i_begin < i_begin_above) {
                const int64_t i_begin_middle = i_begin + (i_begin_above - i_begin) / 2;
                if (i_begin_middle + A2_pos[i_begin_middle] + B2_pos[i_begin_middle] < part * i_share) {
                    i_begin = i_begin_middle + 1;
                } else {
                    i_begin_above = i_begin_middle;
                }
            }
            int64_t i_end = i_begin;
            int64_t i_end_above = n_i;
            while (i_end < i_end_above) {
                const int64_t i_end_middle = i_end + (i_end_above - i_end) / 2;
                if (i_end_middle + A2_pos[i_end_middle] + B2_pos[i_end_middle] < (part + 1) * i_share) {
                    i_end = i_end_middle + 1;
                } else {
                    i_end_above = i_end_middle;
                }
            }
            for (int64_t i = i_begin; i < i_end; i++) {
                int64_t pC2 = C2_pos[i];
                int64_t pA2 = A2_pos[i];
                const int64_t pA2_end = A2_pos[i + 1];
                int64_t pB2 = B2_pos[i];
                const int64_t pB2_end = B2_pos[i + 1];
                while (pA2 < pA2_end && pB2 < pB2_end) {
                    const int64_t jA = A2_crd[pA2];
                    const int64_t jB = B2_crd[pB2];
                    const int64_t j = min_i64(jA, jB);
                    if (jA == j && jB == j) {
                        C_vals[pC2] = A_vals[pA2] + B_vals[pB2];
                        C2_crd[pC2] = (int32_t)j;
                        pC2++;
                    } else if (jA == j) {
                        C_vals[pC2] = A_vals[pA2];
                        C2_crd[pC2] = (int32_t)j;
                        pC2++;
                    } else if (jB == j) {
                        C_vals[pC2] = B_vals[pB2];
                        C2_crd[pC2] = (int32_t)j;
                        pC2++;
                    }
                    pA2 = pA2 + (jA == j);
                    pB2 = pB2 + (jB == j);
                }
                while (pA2 < pA2_end) {
                    const int64_t j_2 = A2_crd[pA2];
                    C_vals[pC2] = A_vals[pA2];
                    C2_crd[pC2] = (int32_t)j_2;
                    pC2++;
                    pA2 = pA2 + 1;
                }
                while (pB2 < pB2_end) {
                    const int64_t j_3 = B2_crd[pB2];
                    C_vals[pC2] = B_vals[pB2];
                    C2_crd[pC2] = (int32_t)j_3;
                    pC2++;
                    pB2 = pB2 + 1;
                }
            }
        }
    }
    return 0;
}
