/* out(i) = A(i,j) * x(j)
 * A: "w(256)l(32)" of f32
 * x: "d" of f32
 * out: "d" of f32
 * reorder(i, j)
 * precompute(all, w, at=1, tile)
 * parallelize(i, threads)
 * workspace w: a scalar, since [j] is summed inside each element
 * threads take blocks of equally many i, where there is enough to compute
 */
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;

static inline int64_t max_i64(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

static void kernel_compute_work(int64_t *slots, const int64_t team)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A_crd1 = (const int32_t *)slots[4];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[5];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[6];
    const float *restrict A_vals = (const float *)slots[7];
    const float *restrict x_vals = (const float *)slots[8];
    float *restrict out_vals = (float *)slots[9];
    #pragma omp for schedule(dynamic, team > 1 ? max_i64(1, n_i / (threads * 16)) : n_i + 1) nowait
    for (int64_t A_p1 = 0; A_p1 < n_i; A_p1++) {
        const int64_t i = A_crd1[A_p1];
        float w = 0.0f;
        for (int64_t A_p2 = 0; A_p2 < ((int64_t)A_pos2[A_p1 / 32 + 1] - A_pos2[A_p1 / 32]) / 32; A_p2++) {
            if (A_crd2[A_pos2[A_p1 / 32] + (A_p1 - A_p1 / 32 * 32) + A_p2 * 32] >= 0) {
                const int64_t j = A_crd2[A_pos2[A_p1 / 32] + (A_p1 - A_p1 / 32 * 32) + A_p2 * 32];
                w += A_vals[A_pos2[A_p1 / 32] + (A_p1 - A_p1 / 32 * 32) + A_p2 * 32] * x_vals[j];
            }
        }
        out_vals[i] = w;
    }
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[5];
    const int64_t team = A_pos2[(n_i + 31) / 32] > 32768 ? threads : 1;
    if (team > 1) {
        #pragma omp parallel num_threads(team)
        kernel_compute_work(slots, team);
    } else {
        kernel_compute_work(slots, 1);
    }
    return 0;
}
