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

/* Writes the places of the bytes in mark[0:n] that are 1 to a; the others are 0. */
static void scan_i64(int64_t *restrict a, const uint8_t *restrict mark, int64_t n)
{
    int64_t p = 0;
    for (; p + 64 <= n; p += 64) {
        uint64_t words[8], any = 0, found = 0;
        memcpy(words, mark + p, sizeof words);
        for (int w = 0; w < 8; w++) {
            any |= words[w];
        }
        if (!any) {
            continue;
        }
        for (int w = 0; w < 8; w++) {
            found |= words[w] * 0x0102040810204080u >> 56 << 8 * w;
        }
        for (; found; found &= found - 1) {
            *a++ = (int64_t)(p + __builtin_ctzll(found));
        }
    }
    for (; p < n; p++) {
        if (mark[p]) {
            *a++ = (int64_t)p;
        }
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
    const int32_t *restrict A_pos2 = (const int32_t *)slots[5];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[6];
    const int32_t *restrict T_pos2 = (const int32_t *)slots[8];
    const int32_t *restrict T_crd2 = (const int32_t *)slots[9];
    const int32_t *restrict T_pos3 = (const int32_t *)slots[10];
    const int32_t *restrict T_crd3 = (const int32_t *)slots[11];
    int64_t out_count2 = slots[13];
    int64_t out_count3 = slots[14];
    int64_t *restrict out_starts2 = (int64_t *)slots[20];
    int64_t *restrict out_starts3 = (int64_t *)slots[21];
    if (8 > INT64_C(9223372036854775807) / max_i64(n_k, 1)) {
        return 3;
    }
    if (8 * n_k > INT64_C(9223372036854775807) / max_i64(n_l, 1)) {
        return 3;
    }
    memset(out_starts2, 0, (size_t)65 * sizeof *out_starts2);
    memset(out_starts3, 0, (size_t)65 * sizeof *out_starts3);
    int failed = 0;
    const int64_t team = A_pos2[n_i] * max_i64(1, T_pos3[T_pos2[n_j]] / max_i64(1, n_j)) > 32768 ? threads : 1;
    #pragma omp parallel num_threads(team) reduction(| : failed)
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
            int32_t *restrict w_sorted1 = NULL;
            int32_t *restrict w_sorted2 = NULL;
            int64_t out_p2 = 0;
            int64_t out_p3 = 0;
            const int64_t i_share = (n_i + A_pos2[n_i] + 63) / 64;
            int64_t i_begin = 0;
            int64_t i_begin_above = n_i;
            while (i_begin < i_begin_above) {
                const int64_t i_begin_middle = i_begin + (i_begin_above - i_begin) / 2;
                if (i_begin_middle + A_pos2[i_begin_middle] < block * i_share) {
                    i_begin = i_begin_middle + 1;
                } else {
                    i_begin_above = i_begin_middle;
                }
            }
            int64_t i_end = i_begin;
            int64_t i_end_above = n_i;
            while (i_end < i_end_above) {
                const int64_t i_end_middle = i_end + (i_end_above - i_end) / 2;
                if (i_end_middle + A_pos2[i_end_middle] < (block + 1) * i_share) {
                    i_end = i_end_middle + 1;
                } else {
                    i_end_above = i_end_middle;
                }
            }
            for (int64_t i = i_begin; i < i_end; i++) {
                w_count = 0;
                for (int64_t A_p2 = A_pos2[i]; A_p2 < A_pos2[i + 1]; A_p2++) {
                    const int64_t j = A_crd2[A_p2];
                    for (int64_t T_p2 = T_pos2[j]; T_p2 < T_pos2[j + 1]; T_p2++) {
                        const int64_t k = T_crd2[T_p2];
                        for (int64_t T_p3 = T_pos3[T_p2]; T_p3 < T_pos3[T_p2 + 1]; T_p3++) {
                            const int64_t l = T_crd3[T_p3];
                            const int64_t w_at = k * n_l + l;
                            if (w_mark[w_at] == 0) {
                                w_mark[w_at] = 1;
                                w_list[w_count] = w_at;
                                w_count++;
                            }
                        }
                    }
                }
                w_sorted1 = allocate(max_i64(w_count, 1), sizeof *w_sorted1);
                w_sorted2 = allocate(max_i64(w_count, 1), sizeof *w_sorted2);
                if (!w_sorted1 || !w_sorted2) {
                    failed = 1;
                    goto next_block;
                }
                if (w_count > 16 && w_count * 64 > n_k * n_l) {
                    scan_i64(w_list, w_mark, n_k * n_l);
                } else {
                    sort_i64(w_list, w_count);
                }
                for (int64_t q = 0; q < w_count; q++) {
                    int64_t rest = w_list[q];
                    const int64_t above = rest / n_l;
                    w_sorted2[q] = (int32_t)(rest - above * n_l);
                    rest = above;
                    w_sorted1[q] = (int32_t)rest;
                }
                int64_t w_p1 = 0;
                const int64_t w_p1_end = w_count;
                while (w_p1 < w_p1_end) {
                    const int64_t k_2 = w_sorted1[w_p1];
                    int64_t w_p1_run = w_p1;
                    while (w_p1_run < w_p1_end && w_sorted1[w_p1_run] == k_2) {
                        w_p1_run++;
                    }
                    const int64_t begin = out_p3;
                    for (int64_t w_p2 = w_p1; w_p2 < w_p1_run; w_p2++) {
                        out_p3++;
                    }
                    if (out_p3 > begin) {
                        out_p2++;
                    }
                    w_p1 = w_p1_run;
                }
                free(w_sorted1);
                w_sorted1 = NULL;
                free(w_sorted2);
                w_sorted2 = NULL;
                for (int64_t q_2 = 0; q_2 < w_count; q_2++) {
                    w_mark[w_list[q_2]] = 0;
                }
            }
            out_starts2[block + 1] = out_p2;
            out_starts3[block + 1] = out_p3;
        next_block:
            free(w_sorted2);
            free(w_sorted1);
        }
        free(w_mark);
        free(w_list);
    }
    if (failed) {
        return 1;
    }
    prefix_sum_i64(out_starts2, 65);
    const int64_t total = out_starts2[64];
    if (total > 2147483647) {
        return 2;
    }
    out_count2 = total;
    prefix_sum_i64(out_starts3, 65);
    const int64_t total_2 = out_starts3[64];
    if (total_2 > 2147483647) {
        return 2;
    }
    out_count3 = total_2;
    slots[13] = out_count2;
    slots[14] = out_count3;
    return 0;
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int64_t n_k = slots[2];
    const int64_t n_l = slots[3];
    const int64_t n_j = slots[4];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[5];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[6];
    const float *restrict A_vals = (const float *)slots[7];
    const int32_t *restrict T_pos2 = (const int32_t *)slots[8];
    const int32_t *restrict T_crd2 = (const int32_t *)slots[9];
    const int32_t *restrict T_pos3 = (const int32_t *)slots[10];
    const int32_t *restrict T_crd3 = (const int32_t *)slots[11];
    const float *restrict T_vals = (const float *)slots[12];
    int32_t *restrict out_pos2 = (int32_t *)slots[15];
    int32_t *restrict out_crd2 = (int32_t *)slots[16];
    int32_t *restrict out_pos3 = (int32_t *)slots[17];
    int32_t *restrict out_crd3 = (int32_t *)slots[18];
    float *restrict out_vals = (float *)slots[19];
    const int64_t *restrict out_starts2 = (const int64_t *)slots[20];
    const int64_t *restrict out_starts3 = (const int64_t *)slots[21];
    if (8 > INT64_C(9223372036854775807) / max_i64(n_k, 1)) {
        return 3;
    }
    if (8 * n_k > INT64_C(9223372036854775807) / max_i64(n_l, 1)) {
        return 3;
    }
    memset(out_pos2, 0, (size_t)(n_i + 1) * sizeof *out_pos2);
    out_pos3[0] = 0;
    int failed = 0;
    const int64_t team = A_pos2[n_i] * max_i64(1, T_pos3[T_pos2[n_j]] / max_i64(1, n_j)) > 32768 ? threads : 1;
    #pragma omp parallel num_threads(team) reduction(| : failed)
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
            int32_t *restrict w_sorted1 = NULL;
            int32_t *restrict w_sorted2 = NULL;
            int64_t out_p2 = out_starts2[block];
            int64_t out_p3 = out_starts3[block];
            const int64_t i_share = (n_i + A_pos2[n_i] + 63) / 64;
            int64_t i_begin = 0;
            int64_t i_begin_above = n_i;
            while (i_begin < i_begin_above) {
                const int64_t i_begin_middle = i_begin + (i_begin_above - i_begin) / 2;
                if (i_begin_middle + A_pos2[i_begin_middle] < block * i_share) {
                    i_begin = i_begin_middle + 1;
                } else {
                    i_begin_above = i_begin_middle;
                }
            }
            int64_t i_end = i_begin;
            int64_t i_end_above = n_i;
            while (i_end < i_end_above) {
                const int64_t i_end_middle = i_end + (i_end_above - i_end) / 2;
                if (i_end_middle + A_pos2[i_end_middle] < (block + 1) * i_share) {
                    i_end = i_end_middle + 1;
                } else {
                    i_end_above = i_end_middle;
                }
            }
            for (int64_t i = i_begin; i < i_end; i++) {
                const int64_t begin = out_p2;
                w_count = 0;
                for (int64_t A_p2 = A_pos2[i]; A_p2 < A_pos2[i + 1]; A_p2++) {
                    const int64_t j = A_crd2[A_p2];
                    for (int64_t T_p2 = T_pos2[j]; T_p2 < T_pos2[j + 1]; T_p2++) {
                        const int64_t k = T_crd2[T_p2];
                        for (int64_t T_p3 = T_pos3[T_p2]; T_p3 < T_pos3[T_p2 + 1]; T_p3++) {
                            const int64_t l = T_crd3[T_p3];
                            const int64_t w_at = k * n_l + l;
                            const float w_value = A_vals[A_p2] * T_vals[T_p3];
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
                w_sorted1 = allocate(max_i64(w_count, 1), sizeof *w_sorted1);
                w_sorted2 = allocate(max_i64(w_count, 1), sizeof *w_sorted2);
                if (!w_sorted1 || !w_sorted2) {
                    failed = 1;
                    goto next_block;
                }
                if (w_count > 16 && w_count * 64 > n_k * n_l) {
                    scan_i64(w_list, w_mark, n_k * n_l);
                } else {
                    sort_i64(w_list, w_count);
                }
                for (int64_t q = 0; q < w_count; q++) {
                    int64_t rest = w_list[q];
                    const int64_t above = rest / n_l;
                    w_sorted2[q] = (int32_t)(rest - above * n_l);
                    rest = above;
                    w_sorted1[q] = (int32_t)rest;
                }
                int64_t w_p1 = 0;
                const int64_t w_p1_end = w_count;
                while (w_p1 < w_p1_end) {
                    const int64_t k_2 = w_sorted1[w_p1];
                    int64_t w_p1_run = w_p1;
                    while (w_p1_run < w_p1_end && w_sorted1[w_p1_run] == k_2) {
                        w_p1_run++;
                    }
                    const int64_t begin_2 = out_p3;
                    for (int64_t w_p2 = w_p1; w_p2 < w_p1_run; w_p2++) {
                        const int64_t l_2 = w_sorted2[w_p2];
                        out_vals[out_p3] = w_vals[w_list[w_p2]];
                        out_crd3[out_p3] = (int32_t)l_2;
                        out_p3++;
                    }
                    if (out_p3 > begin_2) {
                        out_pos3[out_p2 + 1] = (int32_t)out_p3;
                        out_crd2[out_p2] = (int32_t)k_2;
                        out_p2++;
                    }
                    w_p1 = w_p1_run;
                }
                free(w_sorted1);
                w_sorted1 = NULL;
                free(w_sorted2);
                w_sorted2 = NULL;
                for (int64_t q_2 = 0; q_2 < w_count; q_2++) {
                    w_mark[w_list[q_2]] = 0;
                }
                out_pos2[i + 1] = (int32_t)(out_p2 - begin);
            }
        next_block:
            free(w_sorted2);
            free(w_sorted1);
        }
        free(w_mark);
        free(w_list);
        free(w_vals);
    }
    if (failed) {
        return 1;
    }
    prefix_sum_i32(out_pos2, n_i + 1);
    return 0;
}
