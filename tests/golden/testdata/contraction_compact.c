/* out(i,k,l) = A(i,j) * T(j,k,l)
 * A: "ds" of f32
 * T: "dss" of f32
 * out: "dss" of f32
 * reorder(i, j, k, l)
 * precompute(all, w, at=1, row)
 * parallelize(i, threads)
 * workspace w: a place for each element over [k l], few enough to stay in a near cache, with a list of those in use
 * threads take blocks of i with equal numbers of entries of A, where there are enough of them
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *allocate(int64_t count, size_t size)
{
    return malloc((size_t)count * size + 1);
}

static void *allocate_zero(int64_t count, size_t size)
{
    return calloc((size_t)count + 1, size);
}

static inline int64_t max_i64(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

static void prefix_sum_i32(int32_t *restrict a, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        a[i] += a[i - 1];
    }
}

static void prefix_sum_i64(int64_t *restrict a, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        a[i] += a[i - 1];
    }
}

/* Sorts a[0:n] in ascending order. */
__attribute__((noinline)) static void sort_i64(int64_t *a, int64_t n)
{
    if (n > 24) {
        int64_t least = a[0], most = a[0], middle, below = 0;
        int unordered = 0;
        for (int64_t i = 1; i < n; i++) {
            unordered |= a[i] < a[i - 1];
            least = a[i] < least ? a[i] : least;
            most = a[i] > most ? a[i] : most;
        }
        if (!unordered) {
            return;
        }
        middle = least + (int64_t)((uint64_t)(most - least) / 2);
        for (int64_t i = 0; i < n; i++) {
            const int64_t x = a[i];
            a[i] = a[below];
            a[below] = x;
            below += x <= middle;
        }
        sort_i64(a, below);
        sort_i64(a + below, n - below);
        return;
    }
    for (int64_t i = 1; i < n; i++) {
        const int64_t x = a[i];
        int64_t j = i;
        for (; j > 0 && a[j - 1] > x; j--) {
            a[j] = a[j - 1];
        }
        a[j] = x;
    }
}

int32_t kernel_assemble(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int64_t n_k = slots[2];
    const int64_t n_l = slots[3];
    const int64_t n_j = slots[4];
    const int32_t *restrict A2_pos = (const int32_t *)slots[5];
    const int32_t *restrict A2_crd = (const int32_t *)slots[6];
    const int32_t *restrict T2_pos = (const int32_t *)slots[8];
    const int32_t *restrict T2_crd = (const int32_t *)slots[9];
    const int32_t *restrict T3_pos = (const int32_t *)slots[10];
    const int32_t *restrict T3_crd = (const int32_t *)slots[11];
    int64_t out2_count = slots[13];
    int64_t out3_count = slots[14];
    int64_t *restrict out2_starts = (int64_t *)slots[20];
    int64_t *restrict out3_starts = (int64_t *)slots[21];
    if (8 > INT64_C(9223372036854775807) / max_i64(n_k, 1)) {
        return 3;
    }
    if (8 * n_k > INT64_C(9223372036854775807) / max_i64(n_l, 1)) {
        return 3;
    }
    memset(out2_starts, 0, (size_t)65 * sizeof *out2_starts);
    memset(out3_starts, 0, (size_t)65 * sizeof *out3_starts);
    int failed = 0;
    #pragma omp parallel num_threads(threads) if (A2_pos[n_i] * max_i64(1, T3_pos[T2_pos[n_j]] / max_i64(1, n_j)) > 32768) reduction(| : failed)
    {
        int64_t w_count = 0;
        uint8_t *restrict w_mark = allocate_zero(n_k * n_l, sizeof *w_mark);
        failed |= !w_mark;
        int64_t *restrict w_list = allocate(n_k * n_l, sizeof *w_list);
        failed |= !w_list;
        #pragma omp for schedule(dynamic, 1) nowait
        for (int64_t block = 0; block < 64; block++) {
            if (failed) {
                continue;
            }
            int32_t *restrict w1_sorted = NULL;
            int32_t *restrict w2_sorted = NULL;
            int64_t pout2 = 0;
            int64_t pout3 = 0;
            const int64_t i_share = (n_i + A2_pos[n_i] + 63) / 64;
            int64_t i_begin = 0;
            int64_t i_begin_above = n_i;
            while (i_begin < i_begin_above) {
                const int64_t i_begin_middle = i_begin + (i_begin_above - i_begin) / 2;
                if (i_begin_middle + A2_pos[i_begin_middle] < block * i_share) {
                    i_begin = i_begin_middle + 1;
                } else {
                    i_begin_above = i_begin_middle;
                }
            }
            int64_t i_end = i_begin;
            int64_t i_end_above = n_i;
            while (i_end < i_end_above) {
                const int64_t i_end_middle = i_end + (i_end_above - i_end) / 2;
                if (i_end_middle + A2_pos[i_end_middle] < (block + 1) * i_share) {
                    i_end = i_end_middle + 1;
                } else {
                    i_end_above = i_end_middle;
                }
            }
            for (int64_t i = i_begin; i < i_end; i++) {
                w_count = 0;
                for (int64_t pA2 = A2_pos[i]; pA2 < A2_pos[i + 1]; pA2++) {
                    const int64_t j = A2_crd[pA2];
                    for (int64_t pT2 = T2_pos[j]; pT2 < T2_pos[j + 1]; pT2++) {
                        const int64_t k = T2_crd[pT2];
                        for (int64_t pT3 = T3_pos[pT2]; pT3 < T3_pos[pT2 + 1]; pT3++) {
                            const int64_t l = T3_crd[pT3];
                            const int64_t w_at = k * n_l + l;
                            if (w_mark[w_at] == 0) {
                                w_mark[w_at] = 1;
                                w_list[w_count] = w_at;
                                w_count++;
                            }
                        }
                    }
                }
                w1_sorted = allocate(max_i64(w_count, 1), sizeof *w1_sorted);
                w2_sorted = allocate(max_i64(w_count, 1), sizeof *w2_sorted);
                if (!w1_sorted || !w2_sorted) {
                    failed = 1;
                    goto next_block;
                }
                if (w_count * 16 > n_k * n_l) {
                    int64_t found = 0;
                    for (int64_t place = 0; place < n_k * n_l; place++) {
                        if (w_mark[place] != 0) {
                            w_list[found] = place;
                            found++;
                        }
                    }
                } else {
                    sort_i64(w_list, w_count);
                }
                for (int64_t q = 0; q < w_count; q++) {
                    int64_t rest = w_list[q];
                    const int64_t above = rest / n_l;
                    w2_sorted[q] = (int32_t)(rest - above * n_l);
                    rest = above;
                    w1_sorted[q] = (int32_t)rest;
                }
                int64_t pw1 = 0;
                const int64_t pw1_end = w_count;
                while (pw1 < pw1_end) {
                    const int64_t k_2 = w1_sorted[pw1];
                    int64_t pw1_run = pw1;
                    while (pw1_run < pw1_end && w1_sorted[pw1_run] == k_2) {
                        pw1_run++;
                    }
                    const int64_t begin = pout3;
                    for (int64_t pw2 = pw1; pw2 < pw1_run; pw2++) {
                        pout3++;
                    }
                    if (pout3 > begin) {
                        pout2++;
                    }
                    pw1 = pw1_run;
                }
                free(w1_sorted);
                w1_sorted = NULL;
                free(w2_sorted);
                w2_sorted = NULL;
                for (int64_t q_2 = 0; q_2 < w_count; q_2++) {
                    w_mark[w_list[q_2]] = 0;
                }
            }
            out2_starts[block + 1] = pout2;
            out3_starts[block + 1] = pout3;
        next_block:
            free(w2_sorted);
            free(w1_sorted);
        }
        free(w_mark);
        free(w_list);
    }
    if (failed) {
        return 1;
    }
    prefix_sum_i64(out2_starts, 65);
    const int64_t total = out2_starts[64];
    if (total > 2147483647) {
        return 2;
    }
    out2_count = total;
    prefix_sum_i64(out3_starts, 65);
    const int64_t total_2 = out3_starts[64];
    if (total_2 > 2147483647) {
        return 2;
    }
    out3_count = total_2;
    slots[13] = out2_count;
    slots[14] = out3_count;
    return 0;
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int64_t n_k = slots[2];
    const int64_t n_l = slots[3];
    const int64_t n_j = slots[4];
    const int32_t *restrict A2_pos = (const int32_t *)slots[5];
    const int32_t *restrict A2_crd = (const int32_t *)slots[6];
    const float *restrict A_vals = (const float *)slots[7];
    const int32_t *restrict T2_pos = (const int32_t *)slots[8];
    const int32_t *restrict T2_crd = (const int32_t *)slots[9];
    const int32_t *restrict T3_pos = (const int32_t *)slots[10];
    const int32_t *restrict T3_crd = (const int32_t *)slots[11];
    const float *restrict T_vals = (const float *)slots[12];
    int32_t *restrict out2_pos = (int32_t *)slots[15];
    int32_t *restrict out2_crd = (int32_t *)slots[16];
    int32_t *restrict out3_pos = (int32_t *)slots[17];
    int32_t *restrict out3_crd = (int32_t *)slots[18];
    float *restrict out_vals = (float *)slots[19];
    const int64_t *restrict out2_starts = (const int64_t *)slots[20];
    const int64_t *restrict out3_starts = (const int64_t *)slots[21];
    if (8 > INT64_C(9223372036854775807) / max_i64(n_k, 1)) {
        return 3;
    }
    if (8 * n_k > INT64_C(9223372036854775807) / max_i64(n_l, 1)) {
        return 3;
    }
    memset(out2_pos, 0, (size_t)(n_i + 1) * sizeof *out2_pos);
    out3_pos[0] = 0;
    int failed = 0;
    #pragma omp parallel num_threads(threads) if (A2_pos[n_i] * max_i64(1, T3_pos[T2_pos[n_j]] / max_i64(1, n_j)) > 32768) reduction(| : failed)
    {
        int64_t w_count = 0;
        uint8_t *restrict w_mark = allocate_zero(n_k * n_l, sizeof *w_mark);
        failed |= !w_mark;
        int64_t *restrict w_list = allocate(n_k * n_l, sizeof *w_list);
        failed |= !w_list;
        float *restrict w_vals = allocate(n_k * n_l, sizeof *w_vals);
        failed |= !w_vals;
        #pragma omp for schedule(dynamic, 1) nowait
        for (int64_t block = 0; block < 64; block++) {
            if (failed) {
                continue;
            }
            int32_t *restrict w1_sorted = NULL;
            int32_t *restrict w2_sorted = NULL;
            int64_t pout2 = out2_starts[block];
            int64_t pout3 = out3_starts[block];
            const int64_t i_share = (n_i + A2_pos[n_i] + 63) / 64;
            int64_t i_begin = 0;
            int64_t i_begin_above = n_i;
            while (i_begin < i_begin_above) {
                const int64_t i_begin_middle = i_begin + (i_begin_above - i_begin) / 2;
                if (i_begin_middle + A2_pos[i_begin_middle] < block * i_share) {
                    i_begin = i_begin_middle + 1;
                } else {
                    i_begin_above = i_begin_middle;
                }
            }
            int64_t i_end = i_begin;
            int64_t i_end_above = n_i;
            while (i_end < i_end_above) {
                const int64_t i_end_middle = i_end + (i_end_above - i_end) / 2;
                if (i_end_middle + A2_pos[i_end_middle] < (block + 1) * i_share) {
                    i_end = i_end_middle + 1;
                } else {
                    i_end_above = i_end_middle;
                }
            }
            for (int64_t i = i_begin; i < i_end; i++) {
                const int64_t begin = pout2;
                w_count = 0;
                for (int64_t pA2 = A2_pos[i]; pA2 < A2_pos[i + 1]; pA2++) {
                    const int64_t j = A2_crd[pA2];
                    for (int64_t pT2 = T2_pos[j]; pT2 < T2_pos[j + 1]; pT2++) {
                        const int64_t k = T2_crd[pT2];
                        for (int64_t pT3 = T3_pos[pT2]; pT3 < T3_pos[pT2 + 1]; pT3++) {
                            const int64_t l = T3_crd[pT3];
                            const int64_t w_at = k * n_l + l;
                            const float w_value = A_vals[pA2] * T_vals[pT3];
                            if (w_mark[w_at] == 0) {
                                w_mark[w_at] = 1;
                                w_list[w_count] = w_at;
                                w_count++;
                                w_vals[w_at] = w_value;
                            } else {
                                w_vals[w_at] += w_value;
                            }
                        }
                    }
                }
                w1_sorted = allocate(max_i64(w_count, 1), sizeof *w1_sorted);
                w2_sorted = allocate(max_i64(w_count, 1), sizeof *w2_sorted);
                if (!w1_sorted || !w2_sorted) {
                    failed = 1;
                    goto next_block;
                }
                if (w_count * 16 > n_k * n_l) {
                    int64_t found = 0;
                    for (int64_t place = 0; place < n_k * n_l; place++) {
                        if (w_mark[place] != 0) {
                            w_list[found] = place;
                            found++;
                        }
                    }
                } else {
                    sort_i64(w_list, w_count);
                }
                for (int64_t q = 0; q < w_count; q++) {
                    int64_t rest = w_list[q];
                    const int64_t above = rest / n_l;
                    w2_sorted[q] = (int32_t)(rest - above * n_l);
                    rest = above;
                    w1_sorted[q] = (int32_t)rest;
                }
                int64_t pw1 = 0;
                const int64_t pw1_end = w_count;
                while (pw1 < pw1_end) {
                    const int64_t k_2 = w1_sorted[pw1];
                    int64_t pw1_run = pw1;
                    while (pw1_run < pw1_end && w1_sorted[pw1_run] == k_2) {
                        pw1_run++;
                    }
                    const int64_t begin_2 = pout3;
                    for (int64_t pw2 = pw1; pw2 < pw1_run; pw2++) {
                        const int64_t l_2 = w2_sorted[pw2];
                        out_vals[pout3] = w_vals[w_list[pw2]];
                        out3_crd[pout3] = (int32_t)l_2;
                        pout3++;
                    }
                    if (pout3 > begin_2) {
                        out3_pos[pout2 + 1] = (int32_t)pout3;
                        out2_crd[pout2] = (int32_t)k_2;
                        pout2++;
                    }
                    pw1 = pw1_run;
                }
                free(w1_sorted);
                w1_sorted = NULL;
                free(w2_sorted);
                w2_sorted = NULL;
                for (int64_t q_2 = 0; q_2 < w_count; q_2++) {
                    w_mark[w_list[q_2]] = 0;
                }
                out2_pos[i + 1] = (int32_t)(pout2 - begin);
            }
        next_block:
            free(w2_sorted);
            free(w1_sorted);
        }
        free(w_mark);
        free(w_list);
        free(w_vals);
    }
    if (failed) {
        return 1;
    }
    prefix_sum_i32(out2_pos, n_i + 1);
    return 0;
}
