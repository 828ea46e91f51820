/* out(i) = A(i,j) * x(j)
 * A: "ds" of c64
 * x: "d" of c64
 * out: "d" of c64
 * reorder(i, j)
 * precompute(all, w, at=1, tile)
 * parallelize(i, threads)
 * workspace w: a scalar, since [j] is summed inside each element
 */
#include <stdint.h>

static inline int64_t max_i64(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

static inline float _Complex mul_c64(float _Complex x, float _Complex y)
{
    const float a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;
    return __builtin_complex(a * c - b * d, a * d + b * c);
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A2_pos = (const int32_t *)slots[3];
    const int32_t *restrict A2_crd = (const int32_t *)slots[4];
    const float _Complex *restrict A_vals = (const float _Complex *)slots[5];
    const float _Complex *restrict x_vals = (const float _Complex *)slots[6];
    float _Complex *restrict out_vals = (float _Complex *)slots[7];
    #pragma omp parallel num_threads(threads) if (A2_pos[n_i] > 32768)
    {
        #pragma omp for schedule(dynamic, max_i64(1, n_i / (threads * 16))) nowait
        for (int64_t i = 0; i < n_i; i++) {
            float _Complex w = 0.0f;
            for (int64_t pA2 = A2_pos[i]; pA2 < A2_pos[i + 1]; pA2++) {
                const int64_t j = A2_crd[pA2];
                w += mul_c64(A_vals[pA2], x_vals[j]);
            }
            out_vals[i] = w;
        }
    }
    return 0;
}
