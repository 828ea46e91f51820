/* out(i) = A(i,j) * x(j)
 * A: "ds" of f32
 * x: "d" of f32
 * out: "d" of f32
 * split(i, i0, i1, 8)
 * precompute(all, w, at=1, tile, rename=i1:iw)
 * vectorize(i1)
 * parallelize(i0, threads)
 */
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;

typedef float f32x8 __attribute__((vector_size(32), aligned(4), may_alias));

static inline int64_t max_i64(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

static inline int64_t min_i64(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

static void kernel_compute_work(int64_t *slots, const int64_t team)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[3];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[4];
    const float *restrict A_vals = (const float *)slots[5];
    const float *restrict x_vals = (const float *)slots[6];
    float *restrict out_vals = (float *)slots[7];
    #pragma omp for schedule(dynamic, team > 1 ? max_i64(1, (n_i + 7) / 8 / (threads * 16)) : (n_i + 7) / 8 + 1) nowait
    for (int64_t i0 = 0; i0 < (n_i + 7) / 8; i0++) {
        float w[8] __attribute__((aligned(64)));
        *(f32x8 *)&w[0] = (f32x8){0};
        for (int64_t iw = 0; iw < min_i64(8, n_i - i0 * 8); iw++) {
            for (int64_t A_p2 = A_pos2[i0 * 8 + iw]; A_p2 < A_pos2[i0 * 8 + iw + 1]; A_p2++) {
                const int64_t j = A_crd2[A_p2];
                w[iw] += A_vals[A_p2] * x_vals[j];
            }
        }
        #pragma omp simd
        for (int64_t i1 = 0; i1 < min_i64(8, n_i - i0 * 8); i1++) {
            out_vals[i0 * 8 + i1] = w[i1];
        }
    }
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[3];
    const int64_t team = A_pos2[n_i] > 20000 ? threads : 1;
    if (team > 1) {
        #pragma omp parallel num_threads(team)
        kernel_compute_work(slots, team);
    } else {
        kernel_compute_work(slots, 1);
    }
    return 0;
}
