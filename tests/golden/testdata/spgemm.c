/* out(i,k) = A(i,j) * B(j,k)
 * A: "ds" of f32
 * B: "ds" of f32
 * out: "ds" of f32
 * reorder(i, j, k)
 * precompute(all, w, at=1, row)
 * parallelize(i, threads)
 * workspace w: a dense row over k with a list of its entries, since the sum over [j] scatters into it
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

/* Writes the places of the bytes in mark[0:n] that are 1 to a; the others are 0. */
static void scan_i32(int32_t *restrict a, const uint8_t *restrict mark, int64_t n)
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
            *a++ = (int32_t)(p + __builtin_ctzll(found));
        }
    }
    for (; p < n; p++) {
        if (mark[p]) {
            *a++ = (int32_t)p;
        }
    }
}

/* Sorts a[0:n] in ascending order. */
__attribute__((noinline)) static void sort_i32(int32_t *a, int64_t n)
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
            const int32_t x = a[i];
            a[i] = a[below];
            a[below] = x;
            below += x <= middle;
        }
        sort_i32(a, below);
        sort_i32(a + below, n - below);
        return;
    }
    for (int64_t i = 1; i < n; i++) {
        const int32_t x = a[i];
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
    const int64_t n_j = slots[3];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[4];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[5];
    const int32_t *restrict B_pos2 = (const int32_t *)slots[7];
    const int32_t *restrict B_crd2 = (const int32_t *)slots[8];
    int64_t out_count2 = slots[10];
    int32_t *restrict out_pos2 = (int32_t *)slots[11];
    memset(out_pos2, 0, (size_t)(n_i + 1) * sizeof *out_pos2);
    const int64_t parts = A_pos2[n_i] * max_i64(1, B_pos2[n_j] / max_i64(1, n_j)) > 32768 ? threads * 16 : 1;
    int failed = 0;
    const int64_t team = parts > 1 ? threads : 1;
    #pragma omp parallel num_threads(team) reduction(| : failed)
    {
        int64_t w_count = 0;
        uint8_t *restrict w_mark = allocate_zero(n_k, sizeof *w_mark);
        failed |= !w_mark;
        int32_t *restrict w_crd = allocate(n_k, sizeof *w_crd);
        failed |= !w_crd;
        #pragma omp for schedule(dynamic, 1) nowait
        for (int64_t part = 0; part < parts; part++) {
            if (failed) {
                continue;
            }
            const int64_t i_share = (n_i + A_pos2[n_i] + (parts - 1)) / parts;
            int64_t i_begin = 0;
            int64_t i_begin_above = n_i;
            while (i_begin < i_begin_above) {
                const int64_t i_begin_middle = i_begin + (i_begin_above - i_begin) / 2;
                if (i_begin_middle + A_pos2[i_begin_middle] < part * i_share) {
                    i_begin = i_begin_middle + 1;
                } else {
                    i_begin_above = i_begin_middle;
                }
            }
            int64_t i_end = i_begin;
            int64_t i_end_above = n_i;
            while (i_end < i_end_above) {
                const int64_t i_end_middle = i_end + (i_end_above - i_end) / 2;
                if (i_end_middle + A_pos2[i_end_middle] < (part + 1) * i_share) {
                    i_end = i_end_middle + 1;
                } else {
                    i_end_above = i_end_middle;
                }
            }
            for (int64_t i = i_begin; i < i_end; i++) {
                int64_t out_p2 = 0;
                w_count = 0;
                for (int64_t A_p2 = A_pos2[i]; A_p2 < A_pos2[i + 1]; A_p2++) {
                    const int64_t j = A_crd2[A_p2];
                    for (int64_t B_p2 = B_pos2[j]; B_p2 < B_pos2[j + 1]; B_p2++) {
                        const int64_t k = B_crd2[B_p2];
                        if (w_mark[k] == 0) {
                            w_mark[k] = 1;
                            w_crd[w_count] = (int32_t)k;
                            w_count++;
                        }
                    }
                }
                for (int64_t w_p1 = 0; w_p1 < w_count; w_p1++) {
                    out_p2++;
                }
                for (int64_t q = 0; q < w_count; q++) {
                    w_mark[w_crd[q]] = 0;
                }
                out_pos2[i + 1] = (int32_t)out_p2;
            }
        }
        free(w_mark);
        free(w_crd);
    }
    if (failed) {
        return 1;
    }
    int64_t total = 0;
    for (int64_t p = 0; p < n_i; p++) {
        total += out_pos2[p + 1];
        out_pos2[p + 1] = (int32_t)total;
    }
    if (total > 2147483647) {
        return 2;
    }
    out_count2 = total;
    slots[10] = out_count2;
    return 0;
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int64_t n_k = slots[2];
    const int64_t n_j = slots[3];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[4];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[5];
    const float *restrict A_vals = (const float *)slots[6];
    const int32_t *restrict B_pos2 = (const int32_t *)slots[7];
    const int32_t *restrict B_crd2 = (const int32_t *)slots[8];
    const float *restrict B_vals = (const float *)slots[9];
    const int32_t *restrict out_pos2 = (const int32_t *)slots[11];
    int32_t *restrict out_crd2 = (int32_t *)slots[12];
    float *restrict out_vals = (float *)slots[13];
    const int64_t parts = A_pos2[n_i] * max_i64(1, B_pos2[n_j] / max_i64(1, n_j)) > 32768 ? threads * 16 : 1;
    int failed = 0;
    const int64_t team = parts > 1 ? threads : 1;
    #pragma omp parallel num_threads(team) reduction(| : failed)
    {
        int64_t w_count = 0;
        uint8_t *restrict w_mark = allocate_zero(n_k, sizeof *w_mark);
        failed |= !w_mark;
        int32_t *restrict w_crd = allocate(n_k, sizeof *w_crd);
        failed |= !w_crd;
        float *restrict w_vals = allocate(n_k, sizeof *w_vals);
        failed |= !w_vals;
        #pragma omp for schedule(dynamic, 1) nowait
        for (int64_t part = 0; part < parts; part++) {
            if (failed) {
                continue;
            }
            const int64_t i_share = (n_i + A_pos2[n_i] + (parts - 1)) / parts;
            int64_t i_begin = 0;
            int64_t i_begin_above = n_i;
            while (i_begin < i_begin_above) {
                const int64_t i_begin_middle = i_begin + (i_begin_above - i_begin) / 2;
                if (i_begin_middle + A_pos2[i_begin_middle] < part * i_share) {
                    i_begin = i_begin_middle + 1;
                } else {
                    i_begin_above = i_begin_middle;
                }
            }
            int64_t i_end = i_begin;
            int64_t i_end_above = n_i;
            while (i_end < i_end_above) {
                const int64_t i_end_middle = i_end + (i_end_above - i_end) / 2;
                if (i_end_middle + A_pos2[i_end_middle] < (part + 1) * i_share) {
                    i_end = i_end_middle + 1;
                } else {
                    i_end_above = i_end_middle;
                }
            }
            for (int64_t i = i_begin; i < i_end; i++) {
                int64_t out_p2 = out_pos2[i];
                w_count = 0;
                for (int64_t A_p2 = A_pos2[i]; A_p2 < A_pos2[i + 1]; A_p2++) {
                    const int64_t j = A_crd2[A_p2];
                    for (int64_t B_p2 = B_pos2[j]; B_p2 < B_pos2[j + 1]; B_p2++) {
                        const int64_t k = B_crd2[B_p2];
                        const float w_value = A_vals[A_p2] * B_vals[B_p2];
                        if (w_mark[k] == 0) {
                            w_mark[k] = 1;
                            w_crd[w_count] = (int32_t)k;
                            w_count++;
                            w_vals[k] = w_value;
                        } else {
                            w_vals[k] += w_value;
                        }
                    }
                }
                if (w_count > 16 && w_count * 64 > n_k) {
                    scan_i32(w_crd, w_mark, n_k);
                } else {
                    sort_i32(w_crd, w_count);
                }
                for (int64_t w_p1 = 0; w_p1 < w_count; w_p1++) {
                    const int64_t k_2 = w_crd[w_p1];
                    out_vals[out_p2] = w_vals[k_2];
                    out_crd2[out_p2] = (int32_t)k_2;
                    out_p2++;
                }
                for (int64_t q = 0; q < w_count; q++) {
                    w_mark[w_crd[q]] = 0;
                }
            }
        }
        free(w_mark);
        free(w_crd);
        free(w_vals);
    }
    if (failed) {
        return 1;
    }
    return 0;
}
