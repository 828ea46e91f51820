/* out(i) = A(i,j,k)
 * A: "ucq" of f32
 * out: "d" of f32
 * reorder(i, j, k)
 * precompute(all, w, at=1, tile)
 * divide(i, i0, i1, 64)
 * parallelize(i0, threads)
 * workspace w: a scalar, since [j k] is summed inside each element
 * i is cut into 64 strips of coordinates for threads, since its loop merges what several levels store
 */
#include <stdint.h>
#include <string.h>

static inline void clear(void *array, int64_t count, size_t size)
{
    if (count > 0) {
        memset(array, 0, (size_t)count * size);
    }
}

static inline int64_t max_i64(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

static inline int64_t min_i64(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A1_pos = (const int32_t *)slots[4];
    const int32_t *restrict A1_crd = (const int32_t *)slots[5];
    const int32_t *restrict A2_crd = (const int32_t *)slots[6];
    const float *restrict A_vals = (const float *)slots[8];
    float *restrict out_vals = (float *)slots[9];
    clear(out_vals, n_i, sizeof *out_vals);
    #pragma omp parallel num_threads(threads) if (A1_pos[1] > 32768)
    {
        #pragma omp for schedule(dynamic, max_i64(1, 64 / (threads * 16))) nowait
        for (int64_t i0 = 0; i0 < 64; i0++) {
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
            while (pA1 < pA1_end) {
                const int64_t i = A1_crd[pA1];
                int64_t pA1_run = pA1;
                while (pA1_run < pA1_end && A1_crd[pA1_run] == i) {
                    pA1_run++;
                }
                float w = 0.0f;
                int64_t pA2 = pA1;
                const int64_t pA2_end = pA1_run;
                while (pA2 < pA2_end) {
                    const int64_t j = A2_crd[pA2];
                    int64_t pA2_run = pA2;
                    while (pA2_run < pA2_end && A2_crd[pA2_run] == j) {
                        pA2_run++;
                    }
                    for (int64_t pA3 = pA2; pA3 < pA2_run; pA3++) {
                        w += A_vals[pA3];
                    }
                    pA2 = pA2_run;
                }
                out_vals[i] = w;
                pA1 = pA1_run;
            }
        }
    }
    return 0;
}
