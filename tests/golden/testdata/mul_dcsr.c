/* out(i,j) = A(i,j) * B(i,j)
 * A: "ss" of f32
 * B: "ss" of f32
 * out: "ss" of f32
 * reorder(i, j)
 * one thread: the iterations of the outermost loop over i don't own what they write
 */
#include <stdint.h>

static inline int64_t min_i64(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

int32_t kernel_assemble(int64_t *slots)
{
    const int32_t *restrict A1_pos = (const int32_t *)slots[3];
    const int32_t *restrict A1_crd = (const int32_t *)slots[4];
    const int32_t *restrict A2_pos = (const int32_t *)slots[5];
    const int32_t *restrict A2_crd = (const int32_t *)slots[6];
    const int32_t *restrict B1_pos = (const int32_t *)slots[8];
    const int32_t *restrict B1_crd = (const int32_t *)slots[9];
    const int32_t *restrict B2_pos = (const int32_t *)slots[10];
    const int32_t *restrict B2_crd = (const int32_t *)slots[11];
    int64_t out1_count = slots[13];
    int64_t out2_count = slots[14];
    int64_t pout1 = 0;
    int64_t pout2 = 0;
    int64_t pA1 = A1_pos[0];
    const int64_t pA1_end = A1_pos[1];
    int64_t pB1 = B1_pos[0];
    const int64_t pB1_end = B1_pos[1];
    while (pA1 < pA1_end && pB1 < pB1_end) {
        const int64_t iA = A1_crd[pA1];
        const int64_t iB = B1_crd[pB1];
        const int64_t i = min_i64(iA, iB);
        if (iA == i && iB == i) {
            const int64_t begin = pout2;
            int64_t pA2 = A2_pos[pA1];
            const int64_t pA2_end = A2_pos[pA1 + 1];
            int64_t pB2 = B2_pos[pB1];
            const int64_t pB2_end = B2_pos[pB1 + 1];
            while (pA2 < pA2_end && pB2 < pB2_end) {
                const int64_t jA = A2_crd[pA2];
                const int64_t jB = B2_crd[pB2];
                const int64_t j = min_i64(jA, jB);
                if (jA == j && jB == j) {
                    pout2++;
                }
                pA2 = pA2 + (jA == j);
                pB2 = pB2 + (jB == j);
            }
            if (pout2 > begin) {
                pout1++;
            }
        }
        pA1 = pA1 + (iA == i);
        pB1 = pB1 + (iB == i);
    }
    if (pout1 > 2147483647) {
        return 2;
    }
    out1_count = pout1;
    if (pout2 > 2147483647) {
        return 2;
    }
    out2_count = pout2;
    slots[13] = out1_count;
    slots[14] = out2_count;
    return 0;
}

int32_t kernel_compute(int64_t *slots)
{
    const int32_t *restrict A1_pos = (const int32_t *)slots[3];
    const int32_t *restrict A1_crd = (const int32_t *)slots[4];
    const int32_t *restrict A2_pos = (const int32_t *)slots[5];
    const int32_t *restrict A2_crd = (const int32_t *)slots[6];
    const float *restrict A_vals = (const float *)slots[7];
    const int32_t *restrict B1_pos = (const int32_t *)slots[8];
    const int32_t *restrict B1_crd = (const int32_t *)slots[9];
    const int32_t *restrict B2_pos = (const int32_t *)slots[10];
    const int32_t *restrict B2_crd = (const int32_t *)slots[11];
    const float *restrict B_vals = (const float *)slots[12];
    int32_t *restrict out1_pos = (int32_t *)slots[15];
    int32_t *restrict out1_crd = (int32_t *)slots[16];
    int32_t *restrict out2_pos = (int32_t *)slots[17];
    int32_t *restrict out2_crd = (int32_t *)slots[18];
    float *restrict out_vals = (float *)slots[19];
    int64_t pout1 = 0;
    out1_pos[0] = 0;
    int64_t pout2 = 0;
    out2_pos[0] = 0;
    int64_t pA1 = A1_pos[0];
    const int64_t pA1_end = A1_pos[1];
    int64_t pB1 = B1_pos[0];
    const int64_t pB1_end = B1_pos[1];
    while (pA1 < pA1_end && pB1 < pB1_end) {
        const int64_t iA = A1_crd[pA1];
        const int64_t iB = B1_crd[pB1];
        const int64_t i = min_i64(iA, iB);
        if (iA == i && iB == i) {
            const int64_t begin = pout2;
            int64_t pA2 = A2_pos[pA1];
            const int64_t pA2_end = A2_pos[pA1 + 1];
            int64_t pB2 = B2_pos[pB1];
            const int64_t pB2_end = B2_pos[pB1 + 1];
            while (pA2 < pA2_end && pB2 < pB2_end) {
                const int64_t jA = A2_crd[pA2];
                const int64_t jB = B2_crd[pB2];
                const int64_t j = min_i64(jA, jB);
                if (jA == j && jB == j) {
                    out_vals[pout2] = A_vals[pA2] * B_vals[pB2];
                    out2_crd[pout2] = (int32_t)j;
                    pout2++;
                }
                pA2 = pA2 + (jA == j);
                pB2 = pB2 + (jB == j);
            }
            if (pout2 > begin) {
                out2_pos[pout1 + 1] = (int32_t)pout2;
                out1_crd[pout1] = (int32_t)i;
                pout1++;
            }
        }
        pA1 = pA1 + (iA == i);
        pB1 = pB1 + (iB == i);
    }
    out1_pos[1] = (int32_t)pout1;
    return 0;
}
