/* C(i,k) = A(i,j) * B(j,k)
 * A: ds, B: dd, C: dd
 * parallel over i: rows of C are independent
 */
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;

typedef float f32x2 __attribute__((vector_size(8), aligned(4), may_alias));
typedef float f32x4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef float f32x8 __attribute__((vector_size(32), aligned(4), may_alias));

static void kernel_compute_work(int64_t *slots)
{
    const int64_t n_i = slots[1];
    const int32_t *restrict A2_pos = (const int32_t *)slots[2];
    const int32_t *restrict A2_crd = (const int32_t *)slots[3];
    const float *restrict A_vals = (const float *)slots[4];
    const float *restrict B_vals = (const float *)slots[5];
    float *restrict C_vals = (float *)slots[6];
    // one row of C at a time
    #pragma omp for schedule(dynamic, 16) nowait
    for (int64_t i = 0; i < n_i; i++) {
        float w[71] __attribute__((aligned(64))) = {0};
        for (int64_t pA = A2_pos[i]; pA < A2_pos[i + 1]; pA++) {
            const int64_t j = A2_crd[pA];
            const float a = A_vals[pA];
            #pragma GCC unroll 8
            for (int64_t k = 0; k < 64; k += 8) {
                *(f32x8 *)&w[k] += a * *(const f32x8 *)&B_vals[j * 71 + k];
            }
            *(f32x4 *)&w[64] += a * *(const f32x4 *)&B_vals[j * 71 + 64];
            *(f32x2 *)&w[68] += a * *(const f32x2 *)&B_vals[j * 71 + 68];
            w[70] += a * B_vals[j * 71 + 70];
        }
        #pragma GCC unroll 8
        for (int64_t k2 = 0; k2 < 64; k2 += 8) {
            *(f32x8 *)&C_vals[i * 71 + k2] = *(f32x8 *)&w[k2];
        }
        *(f32x4 *)&C_vals[i * 71 + 64] = *(f32x4 *)&w[64];
        *(f32x2 *)&C_vals[i * 71 + 68] = *(f32x2 *)&w[68];
        C_vals[i * 71 + 70] = w[70];
    }
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t team = 1 < threads ? threads : 1;
    if (team > 1) {
        #pragma omp parallel num_threads(team)
        kernel_compute_work(slots);
    } else {
        kernel_compute_work(slots);
    }
    return 0;
}
