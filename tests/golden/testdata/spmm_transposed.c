/* out(j,k) = A(i,j) * G(i,k)
 * A: "ds" of f32
 * G: "dd" of f32
 * out: "dd" of f32
 * reorder(i, j, k)
 * bound(k, 16)
 * vectorize(k)
 * one thread: the iterations of the outermost loop over i don't own what they write
 */
#include <stdint.h>
#include <string.h>

typedef float f32x8 __attribute__((vector_size(32), aligned(4), may_alias));

int32_t kernel_compute(int64_t *slots)
{
    const int64_t n_j = slots[1];
    const int64_t n_k = slots[2];
    const int64_t n_i = slots[3];
    const int32_t *restrict A2_pos = (const int32_t *)slots[4];
    const int32_t *restrict A2_crd = (const int32_t *)slots[5];
    const float *restrict A_vals = (const float *)slots[6];
    const float *restrict G_vals = (const float *)slots[7];
    float *restrict out_vals = (float *)slots[8];
    if (n_k != 16) {
        return 3;
    }
    memset(out_vals, 0, (size_t)(n_j * 16) * sizeof *out_vals);
    for (int64_t i = 0; i < n_i; i++) {
        for (int64_t pA2 = A2_pos[i]; pA2 < A2_pos[i + 1]; pA2++) {
            const int64_t j = A2_crd[pA2];
            #pragma GCC unroll 2
            for (int64_t k = 0; k < 16; k += 8) {
                *(f32x8 *)&out_vals[j * 16 + k] += A_vals[pA2] * *(const f32x8 *)&G_vals[i * 16 + k];
            }
        }
    }
    return 0;
}
