/* out(i,j) = A(i,j) * B(i,j)
 * A: "ss" of f32
 * B: "ss" of f32
 * out: "ss" of f32
 * reorder(i, j)
 * divide(i, i0, i1, 64)
 * parallelize(i0, threads)
 * i is cut into 64 strips of coordinates for threads, since its loop merges what several levels store
 */
#include <stdint.h>
#include <string.h>

static inline int64_t min_i64(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

static void prefix_sum_i64(int64_t *restrict a, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        a[i] += a[i - 1];
    }
}

int32_t kernel_assemble(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A1_pos = (const int32_t *)slots[3];
    const int32_t *restrict A1_crd = (const int32_t *)slots[4];
    const int32_t *restrict A2_pos = (const int32_t *)slots[5];
    const int32_t *restrict A2_crd = (const int32_t *)slots[6];
    const int32_t *restrict B1_pos = (const int32_t *)slots[8];
    const int32_t *restrict B1_crd = (const int32_t *)slots[9];
    const int32_t *restrict B2_pos = (const int32_t *)slots[10];
    const int32_t *restrict B2_crd = (const int32_t *)slots[11];
    int64_t out1_count = slots[13];
    int64_t out2_count = slots[14];
    int64_t *restrict out1_starts = (int64_t *)slots[20];
    int64_t *restrict out2_starts = (int64_t *)slots[21];
    memset(out1_starts, 0, (size_t)65 * sizeof *out1_starts);
    memset(out2_starts, 0, (size_t)65 * sizeof *out2_starts);
    #pragma omp parallel num_threads(threads) if ((int64_t)A2_pos[A1_pos[1]] + B2_pos[B1_pos[1]] > 32768)
    {
        #pragma omp for schedule(dynamic, 1) nowait
        for (int64_t block = 0; block < 64; block++) {
            int64_t pout1 = 0;
            int64_t pout2 = 0;
            const int64_t i0_share = 1;
            for (int64_t i0 = block * i0_share; i0 < min_i64(64, block * i0_share + i0_share); i0++) {
                int64_t pA1_begin = A1_pos[0];
                int64_t pA1_begin_above = A1_pos[1];
                while (pA1_begin < pA1_begin_above) {
                    const int64_t pA1_begin_middle = pA1_begin + (pA1_begin_above - pA1_begin) / 2;
                    if (A1_crd[pA1_begin_middle] < i0 * ((n_i + 63) / 64)) {
                        pA1_begin = pA1_begin_middle + 1;
                    } else {
                        pA1_begin_above = pA1_begin_middle;
                    }
                }
                int64_t pA1_stop = pA1_begin;
                int64_t pA1_stop_above = A1_pos[1];
                while (pA1_stop < pA1_stop_above) {
                    const int64_t pA1_stop_middle = pA1_stop + (pA1_stop_above - pA1_stop) / 2;
                    if (A1_crd[pA1_stop_middle] < i0 * ((n_i + 63) / 64) + min_i64((n_i + 63) / 64, n_i - i0 * ((n_i + 63) / 64))) {
                        pA1_stop = pA1_stop_middle + 1;
                    } else {
                        pA1_stop_above = pA1_stop_middle;
                    }
                }
                int64_t pA1 = pA1_begin;
                const int64_t pA1_end = pA1_stop;
                int64_t pB1_begin = B1_pos[0];
                int64_t pB1_begin_above = B1_pos[1];
                while (pB1_begin < pB1_begin_above) {
                    const int64_t pB1_begin_middle = pB1_begin + (pB1_begin_above - pB1_begin) / 2;
                    if (B1_crd[pB1_begin_middle] < i0 * ((n_i + 63) / 64)) {
                        pB1_begin = pB1_begin_middle + 1;
                    } else {
                        pB1_begin_above = pB1_begin_middle;
                    }
                }
                int64_t pB1_stop = pB1_begin;
                int64_t pB1_stop_above = B1_pos[1];
                while (pB1_stop < pB1_stop_above) {
                    const int64_t pB1_stop_middle = pB1_stop + (pB1_stop_above - pB1_stop) / 2;
                    if (B1_crd[pB1_stop_middle] < i0 * ((n_i + 63) / 64) + min_i64((n_i + 63) / 64, n_i - i0 * ((n_i + 63) / 64))) {
                        pB1_stop = pB1_stop_middle + 1;
                    } else {
                        pB1_stop_above = pB1_stop_middle;
                    }
                }
                int64_t pB1 = pB1_begin;
                const int64_t pB1_end = pB1_stop;
                while (pA1 < pA1_end && pB1 < pB1_end) {
                    const int64_t iA = A1_crd[pA1];
                    const int64_t iB = B1_crd[pB1];
                    const int64_t i = min_i64(iA, iB);
                    if (iA == i && iB == i) {
                        const int64_t begin = pout2;
                        int64_t pA2 = A2_pos[pA1];
                        const int64_t pA2_end = A2_pos[pA1 + 1];
                        int64_t pB2 = B2_pos[pB1];
                        const int64_t pB2_end = B2_pos[pB1 + 1];
                        while (pA2 < pA2_end && pB2 < pB2_end) {
                            const int64_t jA = A2_crd[pA2];
                            const int64_t jB = B2_crd[pB2];
                            const int64_t j = min_i64(jA, jB);
                            if (jA == j && jB == j) {
                                pout2++;
                            }
                            pA2 = pA2 + (jA == j);
                            pB2 = pB2 + (jB == j);
                        }
                        if (pout2 > begin) {
                            pout1++;
                        }
                    }
                    pA1 = pA1 + (iA == i);
                    pB1 = pB1 + (iB == i);
                }
            }
            out1_starts[block + 1] = pout1;
            out2_starts[block + 1] = pout2;
        }
    }
    prefix_sum_i64(out1_starts, 65);
    const int64_t total = out1_starts[64];
    if (total > 2147483647) {
        return 2;
    }
    out1_count = total;
    prefix_sum_i64(out2_starts, 65);
    const int64_t total_2 = out2_starts[64];
    if (total_2 > 2147483647) {
        return 2;
    }
    out2_count = total_2;
    slots[13] = out1_count;
    slots[14] = out2_count;
    return 0;
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A1_pos = (const int32_t *)slots[3];
    const int32_t *restrict A1_crd = (const int32_t *)slots[4];
    const int32_t *restrict A2_pos = (const int32_t *)slots[5];
    const int32_t *restrict A2_crd = (const int32_t *)slots[6];
    const float *restrict A_vals = (const float *)slots[7];
    const int32_t *restrict B1_pos = (const int32_t *)slots[8];
    const int32_t *restrict B1_crd = (const int32_t *)slots[9];
    const int32_t *restrict B2_pos = (const int32_t *)slots[10];
    const int32_t *restrict B2_crd = (const int32_t *)slots[11];
    const float *restrict B_vals = (const float *)slots[12];
    int32_t *restrict out1_pos = (int32_t *)slots[15];
    int32_t *restrict out1_crd = (int32_t *)slots[16];
    int32_t *restrict out2_pos = (int32_t *)slots[17];
    int32_t *restrict out2_crd = (int32_t *)slots[18];
    float *restrict out_vals = (float *)slots[19];
    const int64_t *restrict out1_starts = (const int64_t *)slots[20];
    const int64_t *restrict out2_starts = (const int64_t *)slots[21];
    out1_pos[0] = 0;
    out1_pos[1] = (int32_t)out1_starts[64];
    out2_pos[0] = 0;
    #pragma omp parallel num_threads(threads) if ((int64_t)A2_pos[A1_pos[1]] + B2_pos[B1_pos[1]] > 32768)
    {
        #pragma omp for schedule(dynamic, 1) nowait
        for (int64_t block = 0; block < 64; block++) {
            int64_t pout1 = out1_starts[block];
            int64_t pout2 = out2_starts[block];
            const int64_t i0_share = 1;
            for (int64_t i0 = block * i0_share; i0 < min_i64(64, block * i0_share + i0_share); i0++) {
                int64_t pA1_begin = A1_pos[0];
                int64_t pA1_begin_above = A1_pos[1];
                while (pA1_begin < pA1_begin_above) {
                    const int64_t pA1_begin_middle = pA1_begin + (pA1_begin_above - pA1_begin) / 2;
                    if (A1_crd[pA1_begin_middle] < i0 * ((n_i + 63) / 64)) {
                        pA1_begin = pA1_begin_middle + 1;
                    } else {
                        pA1_begin_above = pA1_begin_middle;
                    }
                }
                int64_t pA1_stop = pA1_begin;
                int64_t pA1_stop_above = A1_pos[1];
                while (pA1_stop < pA1_stop_above) {
                    const int64_t pA1_stop_middle = pA1_stop + (pA1_stop_above - pA1_stop) / 2;
                    if (A1_crd[pA1_stop_middle] < i0 * ((n_i + 63) / 64) + min_i64((n_i + 63) / 64, n_i - i0 * ((n_i + 63) / 64))) {
                        pA1_stop = pA1_stop_middle + 1;
                    } else {
                        pA1_stop_above = pA1_stop_middle;
                    }
                }
                int64_t pA1 = pA1_begin;
                const int64_t pA1_end = pA1_stop;
                int64_t pB1_begin = B1_pos[0];
                int64_t pB1_begin_above = B1_pos[1];
                while (pB1_begin < pB1_begin_above) {
                    const int64_t pB1_begin_middle = pB1_begin + (pB1_begin_above - pB1_begin) / 2;
                    if (B1_crd[pB1_begin_middle] < i0 * ((n_i + 63) / 64)) {
                        pB1_begin = pB1_begin_middle + 1;
                    } else {
                        pB1_begin_above = pB1_begin_middle;
                    }
                }
                int64_t pB1_stop = pB1_begin;
                int64_t pB1_stop_above = B1_pos[1];
                while (pB1_stop < pB1_stop_above) {
                    const int64_t pB1_stop_middle = pB1_stop + (pB1_stop_above - pB1_stop) / 2;
                    if (B1_crd[pB1_stop_middle] < i0 * ((n_i + 63) / 64) + min_i64((n_i + 63) / 64, n_i - i0 * ((n_i + 63) / 64))) {
                        pB1_stop = pB1_stop_middle + 1;
                    } else {
                        pB1_stop_above = pB1_stop_middle;
                    }
                }
                int64_t pB1 = pB1_begin;
                const int64_t pB1_end = pB1_stop;
                while (pA1 < pA1_end && pB1 < pB1_end) {
                    const int64_t iA = A1_crd[pA1];
                    const int64_t iB = B1_crd[pB1];
                    const int64_t i = min_i64(iA, iB);
                    if (iA == i && iB == i) {
                        const int64_t begin = pout2;
                        int64_t pA2 = A2_pos[pA1];
                        const int64_t pA2_end = A2_pos[pA1 + 1];
                        int64_t pB2 = B2_pos[pB1];
                        const int64_t pB2_end = B2_pos[pB1 + 1];
                        while (pA2 < pA2_end && pB2 < pB2_end) {
                            const int64_t jA = A2_crd[pA2];
                            const int64_t jB = B2_crd[pB2];
                            const int64_t j = min_i64(jA, jB);
                            if (jA == j && jB == j) {
                                out_vals[pout2] = A_vals[pA2] * B_vals[pB2];
                                out2_crd[pout2] = (int32_t)j;
                                pout2++;
                            }
                            pA2 = pA2 + (jA == j);
                            pB2 = pB2 + (jB == j);
                        }
                        if (pout2 > begin) {
                            out2_pos[pout1 + 1] = (int32_t)pout2;
                            out1_crd[pout1] = (int32_t)i;
                            pout1++;
                        }
                    }
                    pA1 = pA1 + (iA == i);
                    pB1 = pB1 + (iB == i);
                }
            }
        }
    }
    return 0;
}
