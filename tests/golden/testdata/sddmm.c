/* out(i,j) = P(i,j) * Q(i,k) * K(j,k)
 * P: "ds" of f32, pattern only
 * Q: "dd" of f32
 * K: "dd" of f32
 * out: "ds" of f32, pattern of P
 * reorder(i, j, k)
 * precompute(all, w, at=2, tile)
 * bound(k, 32)
 * vectorize(k)
 * parallelize(i, threads)
 * workspace w: a scalar, since [k] is summed inside each element
 * threads take blocks of i with equal numbers of entries of P, where there are enough of them
 */
#include <stdint.h>

static void kernel_compute_work(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict P_pos2 = (const int32_t *)slots[4];
    const int32_t *restrict P_crd2 = (const int32_t *)slots[5];
    const float *restrict Q_vals = (const float *)slots[6];
    const float *restrict K_vals = (const float *)slots[7];
    float *restrict out_vals = (float *)slots[8];
    const int64_t parts = (int64_t)P_pos2[n_i] * 32 > 32768 ? threads * 16 : 1;
    #pragma omp for schedule(dynamic, 1) nowait
    for (int64_t part = 0; part < parts; part++) {
        const int64_t i_share = (n_i + P_pos2[n_i] + (parts - 1)) / parts;
        int64_t i_begin = 0;
        int64_t i_begin_above = n_i;
        while (i_begin < i_begin_above) {
            const int64_t i_begin_middle = i_begin + (i_begin_above - i_begin) / 2;
            if (i_begin_middle + P_pos2[i_begin_middle] < part * i_share) {
                i_begin = i_begin_middle + 1;
            } else {
                i_begin_above = i_begin_middle;
            }
        }
        int64_t i_end = i_begin;
        int64_t i_end_above = n_i;
        while (i_end < i_end_above) {
            const int64_t i_end_middle = i_end + (i_end_above - i_end) / 2;
            if (i_end_middle + P_pos2[i_end_middle] < (part + 1) * i_share) {
                i_end = i_end_middle + 1;
            } else {
                i_end_above = i_end_middle;
            }
        }
        for (int64_t i = i_begin; i < i_end; i++) {
            for (int64_t P_p2 = P_pos2[i]; P_p2 < P_pos2[i + 1]; P_p2++) {
                const int64_t j = P_crd2[P_p2];
                float w = 0.0f;
                #pragma omp simd reduction(+ : w)
                for (int64_t k = 0; k < 32; k++) {
                    w += Q_vals[i * 32 + k] * K_vals[j * 32 + k];
                }
                out_vals[P_p2] = w;
            }
        }
    }
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int64_t n_k = slots[3];
    const int32_t *restrict P_pos2 = (const int32_t *)slots[4];
    if (n_k != 32) {
        return 3;
    }
    const int64_t parts = (int64_t)P_pos2[n_i] * 32 > 32768 ? threads * 16 : 1;
    const int64_t team = parts > 1 ? threads : 1;
    if (team > 1) {
        #pragma omp parallel num_threads(team)
        kernel_compute_work(slots);
    } else {
        kernel_compute_work(slots);
    }
    return 0;
}
