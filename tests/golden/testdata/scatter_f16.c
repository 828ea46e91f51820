/* out(j) = A(i,j) * x(i)
 * A: "ss:1,0" of f16
 * x: "d" of f16
 * out: "d" of f16
 * reorder(j, i)
 * precompute(all, w, at=1, tile)
 * parallelize(j, threads)
 * operand A: converted from "ss" to "ss:1,0", because the loops visit it in that order; the copy is kept with its pattern
 * workspace w: a scalar, since [i] is summed inside each element
 * threads take blocks of j with equal numbers of entries of A, where there are enough of them
 */
#include <stdint.h>
#include <string.h>

static inline float f32_of_f16(uint16_t x)
{
#ifdef __F16C__
    return __builtin_ia32_vcvtph2ps((short __attribute__((vector_size(16)))){(short)x})[0];
#else
    const uint32_t magnitude = (uint32_t)(x & 0x7fff) << 13;
    union { uint32_t bits; float value; } normal, tiny;
    normal.bits = magnitude + (magnitude < 0x0f800000 ? 0x38000000 : 0x70000000);
    tiny.bits = magnitude + 0x38800000;
    tiny.value -= 0x1p-14f;
    normal.bits = (magnitude < 0x00800000 ? tiny.bits : normal.bits) | (uint32_t)(x & 0x8000) << 16;
    return normal.value;
#endif
}

/* Rounds to nearest, ties to even. */
static inline uint16_t f32_to_f16(float x)
{
    union { float value; uint32_t bits; } y = {x}, tiny;
    const uint32_t sign = y.bits & 0x80000000;
    y.bits ^= sign;
    tiny.value = y.value + 0.5f;
    const uint32_t normal = (y.bits - 0x38000000 + 0xfff + (y.bits >> 13 & 1)) >> 13;
    const uint32_t finite = y.bits < 0x38800000 ? tiny.bits - 0x3f000000 : normal;
    const uint32_t special = y.bits > 0x7f800000 ? 0x7e00 : 0x7c00;
    return (y.bits < 0x47800000 ? finite : special) | sign >> 16;
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_j = slots[1];
    const int32_t *restrict A1_pos = (const int32_t *)slots[3];
    const int32_t *restrict A1_crd = (const int32_t *)slots[4];
    const int32_t *restrict A2_pos = (const int32_t *)slots[5];
    const int32_t *restrict A2_crd = (const int32_t *)slots[6];
    const int32_t *restrict A_perm = (const int32_t *)slots[7];
    const uint16_t *restrict A_vals = (const uint16_t *)slots[8];
    const uint16_t *restrict x_vals = (const uint16_t *)slots[9];
    uint16_t *restrict out_vals = (uint16_t *)slots[10];
    memset(out_vals, 0, (size_t)n_j * sizeof *out_vals);
    const int64_t parts = A2_pos[A1_pos[1]] > 32768 ? threads * 16 : 1;
    const int64_t pA1_share = ((int64_t)A1_pos[1] + A2_pos[A1_pos[1]] + (parts - 1)) / parts;
    #pragma omp parallel num_threads(threads) if (parts > 1)
    {
        #pragma omp for schedule(dynamic, 1) nowait
        for (int64_t part = 0; part < parts; part++) {
            int64_t pA1_begin = A1_pos[0];
            int64_t pA1_begin_above = A1_pos[1];
            while (pA1_begin < pA1_begin_above) {
                const int64_t pA1_begin_middle = pA1_begin + (pA1_begin_above - pA1_begin) / 2;
                if (pA1_begin_middle + A2_pos[pA1_begin_middle] < part * pA1_share) {
                    pA1_begin = pA1_begin_middle + 1;
                } else {
                    pA1_begin_above = pA1_begin_middle;
                }
            }
            int64_t pA1_end = pA1_begin;
            int64_t pA1_end_above = A1_pos[1];
            while (pA1_end < pA1_end_above) {
                const int64_t pA1_end_middle = pA1_end + (pA1_end_above - pA1_end) / 2;
                if (pA1_end_middle + A2_pos[pA1_end_middle] < (part + 1) * pA1_share) {
                    pA1_end = pA1_end_middle + 1;
                } else {
                    pA1_end_above = pA1_end_middle;
                }
            }
            for (int64_t pA1 = pA1_begin; pA1 < pA1_end; pA1++) {
                const int64_t j = A1_crd[pA1];
                float w = 0.0f;
                for (int64_t pA2 = A2_pos[pA1]; pA2 < A2_pos[pA1 + 1]; pA2++) {
                    const int64_t i = A2_crd[pA2];
                    w += f32_of_f16(A_vals[A_perm[pA2]]) * f32_of_f16(x_vals[i]);
                }
                out_vals[j] = f32_to_f16(w);
            }
        }
    }
    return 0;
}
