/* out(i,j) = A(i,j,k) * x(k)
 * A: "sss" of f32
 * x: "d" of f32
 * out: "ss" of f32
 * reorder(i, j, k)
 * precompute(all, w, at=2, tile)
 * workspace w: a scalar, since [k] is summed inside each element
 * one thread: the iterations of the outermost loop over i don't own what they write
 */
#include <stdint.h>

int32_t kernel_assemble(int64_t *slots)
{
    const int32_t *restrict A1_pos = (const int32_t *)slots[4];
    const int32_t *restrict A2_pos = (const int32_t *)slots[6];
    const int32_t *restrict A3_pos = (const int32_t *)slots[8];
    int64_t out1_count = slots[12];
    int64_t out2_count = slots[13];
    int64_t pout1 = 0;
    int64_t pout2 = 0;
    for (int64_t pA1 = A1_pos[0]; pA1 < A1_pos[1]; pA1++) {
        const int64_t begin = pout2;
        for (int64_t pA2 = A2_pos[pA1]; pA2 < A2_pos[pA1 + 1]; pA2++) {
            uint8_t w_set = 0;
            for (int64_t pA3 = A3_pos[pA2]; pA3 < A3_pos[pA2 + 1]; pA3++) {
                w_set = 1;
            }
            if (w_set) {
                pout2++;
            }
        }
        if (pout2 > begin) {
            pout1++;
        }
    }
    if (pout1 > 2147483647) {
        return 2;
    }
    out1_count = pout1;
    if (pout2 > 2147483647) {
        return 2;
    }
    out2_count = pout2;
    slots[12] = out1_count;
    slots[13] = out2_count;
    return 0;
}

int32_t kernel_compute(int64_t *slots)
{
    const int32_t *restrict A1_pos = (const int32_t *)slots[4];
    const int32_t *restrict A1_crd = (const int32_t *)slots[5];
    const int32_t *restrict A2_pos = (const int32_t *)slots[6];
    const int32_t *restrict A2_crd = (const int32_t *)slots[7];
    const int32_t *restrict A3_pos = (const int32_t *)slots[8];
    const int32_t *restrict A3_crd = (const int32_t *)slots[9];
    const float *restrict A_vals = (const float *)slots[10];
    const float *restrict x_vals = (const float *)slots[11];
    int32_t *restrict out1_pos = (int32_t *)slots[14];
    int32_t *restrict out1_crd = (int32_t *)slots[15];
    int32_t *restrict out2_pos = (int32_t *)slots[16];
    int32_t *restrict out2_crd = (int32_t *)slots[17];
    float *restrict out_vals = (float *)slots[18];
    int64_t pout1 = 0;
    out1_pos[0] = 0;
    int64_t pout2 = 0;
    out2_pos[0] = 0;
    for (int64_t pA1 = A1_pos[0]; pA1 < A1_pos[1]; pA1++) {
        const int64_t i = A1_crd[pA1];
        const int64_t begin = pout2;
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
        if (pout2 > begin) {
            out2_pos[pout1 + 1] = (int32_t)pout2;
            out1_crd[pout1] = (int32_t)i;
            pout1++;
        }
    }
    out1_pos[1] = (int32_t)pout1;
    return 0;
}
