/* y(i) = A(i,j(8:72:4)) * x(j)
 * A: "ds" of f32
 * x: "d" of f32
 * y: "d" of f32
 * reorder(i, j)
 * precompute(all, w, at=1, tile)
 * parallelize(i, threads)
 * workspace w: a scalar, since [j] is summed inside each element
 * threads take blocks of i with equal numbers of entries of A, where there are enough of them
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
    const int32_t *restrict A_pos2 = (const int32_t *)slots[4];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[5];
    const float *restrict A_vals = (const float *)slots[6];
    const float *restrict x_vals = (const float *)slots[7];
    float *restrict y_vals = (float *)slots[8];
    #pragma omp for schedule(dynamic, team > 1 ? max_i64(1, n_i / (threads * 16)) : n_i + 1) nowait
    for (int64_t i = 0; i < n_i; i++) {
        float w = 0.0f;
        for (int64_t A_p2 = A_pos2[i]; A_p2 < A_pos2[i + 1]; A_p2++) {
            if (A_crd2[A_p2] >= 8 && A_crd2[A_p2] < 72 && ((int64_t)A_crd2[A_p2] - 8) / 4 * 4 == (int64_t)A_crd2[A_p2] - 8) {
                const int64_t j = ((int64_t)A_crd2[A_p2] - 8) / 4;
                w += A_vals[A_p2] * x_vals[j];
            }
        }
        y_vals[i] = w;
    }
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int64_t n_j = slots[2];
    const int64_t A_mode2 = slots[3];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[4];
    if (A_mode2 < 72) {
        return 3;
    }
    if (n_j != 16) {
        return 3;
    }
    const int64_t team = A_pos2[n_i] > 20000 ? threads : 1;
    if (team > 1) {
        #pragma omp parallel num_threads(team)
        kernel_compute_work(slots, team);
    } else {
        kernel_compute_work(slots, 1);
    }
    return 0;
}
