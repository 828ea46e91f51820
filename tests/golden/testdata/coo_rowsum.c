/* out(i) = A(i,j,k)
 * A: "ucq" of f32
 * out: "d" of f32
 * reorder(i, j, k)
 * precompute(all, w, at=1, tile)
 * workspace w: a scalar, since [j k] is summed inside each element
 * one thread: the outermost loop over i merges what several levels store
 */
#include <stdint.h>
#include <string.h>

int32_t kernel_compute(int64_t *slots)
{
    const int64_t n_i = slots[1];
    const int32_t *restrict A1_pos = (const int32_t *)slots[4];
    const int32_t *restrict A1_crd = (const int32_t *)slots[5];
    const int32_t *restrict A2_crd = (const int32_t *)slots[6];
    const float *restrict A_vals = (const float *)slots[8];
    float *restrict out_vals = (float *)slots[9];
    memset(out_vals, 0, (size_t)n_i * sizeof *out_vals);
    int64_t pA1 = A1_pos[0];
    const int64_t pA1_end = A1_pos[1];
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
    return 0;
}
