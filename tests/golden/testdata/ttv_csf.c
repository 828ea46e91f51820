/* out(i,j) = A(i,j,k) * x(k)
 * A: "sss" of f32
 * x: "d" of f32
 * out: "ds" of f32
 * reorder(i, j, k)
 * precompute(all, w, at=2, tile)
 * parallelize(i, threads)
 * workspace w: a scalar, since [k] is summed inside each element
 */
#include <stdint.h>
#include <string.h>

static inline int64_t max_i64(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

int32_t kernel_assemble(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A1_pos = (const int32_t *)slots[4];
    const int32_t *restrict A1_crd = (const int32_t *)slots[5];
    const int32_t *restrict A2_pos = (const int32_t *)slots[6];
    const int32_t *restrict A3_pos = (const int32_t *)slots[8];
    int64_t out2_count = slots[12];
    int32_t *restrict out2_pos = (int32_t *)slots[13];
    memset(out2_pos, 0, (size_t)(n_i + 1) * sizeof *out2_pos);
    #pragma omp parallel num_threads(threads) if (A3_pos[A2_pos[A1_pos[1]]] > 32768)
    {
        #pragma omp for schedule(dynamic, max_i64(1, A1_pos[1] / (threads * 16))) nowait
        for (int64_t pA1 = A1_pos[0]; pA1 < A1_pos[1]; pA1++) {
            const int64_t i = A1_crd[pA1];
            int64_t pout2 = 0;
            for (int64_t pA2 = A2_pos[pA1]; pA2 < A2_pos[pA1 + 1]; pA2++) {
                uint8_t w_set = 0;
                for (int64_t pA3 = A3_pos[pA2]; pA3 < A3_pos[pA2 + 1]; pA3++) {
                    w_set = 1;
                }
                if (w_set) {
                    pout2++;
                }
            }
            out2_pos[i + 1] = (int32_t)pout2;
        }
    }
    int64_t total = 0;
    for (int64_t p = 0; p < n_i; p++) {
        total += out2_pos[p + 1];
        out2_pos[p + 1] = (int32_t)total;
    }
    if (total > 2147483647) {
        return 2;
    }
    out2_count = total;
    slots[12] = out2_count;
    return 0;
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int32_t *restrict A1_pos = (const int32_t *)slots[4];
    const int32_t *restrict A1_crd = (const int32_t *)slots[5];
    const int32_t *restrict A2_pos = (const int32_t *)slots[6];
    const int32_t *restrict A2_crd = (const int32_t *)slots[7];
    const int32_t *restrict A3_pos = (const int32_t *)slots[8];
    const int32_t *restrict A3_crd = (const int32_t *)slots[9];
    const float *restrict A_vals = (const float *)slots[10];
    const float *restrict x_vals = (const float *)slots[11];
    const int32_t *restrict out2_pos = (const int32_t *)slots[13];
    int32_t *restrict out2_crd = (int32_t *)slots[14];
    float *restrict out_vals = (float *)slots[15];
    #pragma omp parallel num_threads(threads) if (A3_pos[A2_pos[A1_pos[1]]] > 32768)
    {
        #pragma omp for schedule(dynamic, max_i64(1, A1_pos[1] / (threads * 16))) nowait
        for (int64_t pA1 = A1_pos[0]; pA1 < A1_pos[1]; pA1++) {
            const int64_t i = A1_crd[pA1];
            int64_t pout2 = out2_pos[i];
            for (int64_t pA2 = A2_pos[pA1]; pA2 < A2_pos[pA1 + 1]; pA2++) {
                const int64_t j = A2_crd[pA2];
                uint8_t w_set = 0;
                float w = 0.0f;
                for (int64_t pA3 = A3_pos[pA2]; pA3 < A3_pos[pA2 + 1]; pA3++) {
                    const int64_t k = A3_crd[pA3];
                    w_set = 1;
                    w += A_vals[pA3] * x_vals[k];
                }
                if (w_set) {
                    out_vals[pout2] = w;
                    out2_crd[pout2] = (int32_t)j;
                    pout2++;
                }
            }
        }
    }
    return 0;
}
