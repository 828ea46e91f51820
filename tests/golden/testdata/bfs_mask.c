/* next(j) = first[0 & ~1](front(j), seen(j))
 * front: "s" of f32
 * seen: "s" of f32
 * next: "s" of f32
 * reorder(j)
 * one thread: the outermost loop over j merges what several levels store
 */
#include <stdint.h>

static inline int64_t min_i64(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

int32_t kernel_assemble(int64_t *slots)
{
    const int32_t *restrict front1_pos = (const int32_t *)slots[2];
    const int32_t *restrict front1_crd = (const int32_t *)slots[3];
    const int32_t *restrict seen1_pos = (const int32_t *)slots[5];
    const int32_t *restrict seen1_crd = (const int32_t *)slots[6];
    int64_t next1_count = slots[8];
    int64_t pnext1 = 0;
    int64_t pfront1 = front1_pos[0];
    const int64_t pfront1_end = front1_pos[1];
    int64_t pseen1 = seen1_pos[0];
    const int64_t pseen1_end = seen1_pos[1];
    while (pfront1 < pfront1_end && pseen1 < pseen1_end) {
        const int64_t jfront = front1_crd[pfront1];
        const int64_t jseen = seen1_crd[pseen1];
        const int64_t j = min_i64(jfront, jseen);
        if (jfront != j || jseen != j) {
            if (jfront == j) {
                pnext1++;
            }
        }
        pfront1 = pfront1 + (jfront == j);
        pseen1 = pseen1 + (jseen == j);
    }
    while (pfront1 < pfront1_end) {
        pnext1++;
        pfront1 = pfront1 + 1;
    }
    if (pnext1 > 2147483647) {
        return 2;
    }
    next1_count = pnext1;
    slots[8] = next1_count;
    return 0;
}

int32_t kernel_compute(int64_t *slots)
{
    const int32_t *restrict front1_pos = (const int32_t *)slots[2];
    const int32_t *restrict front1_crd = (const int32_t *)slots[3];
    const float *restrict front_vals = (const float *)slots[4];
    const int32_t *restrict seen1_pos = (const int32_t *)slots[5];
    const int32_t *restrict seen1_crd = (const int32_t *)slots[6];
    int32_t *restrict next1_pos = (int32_t *)slots[9];
    int32_t *restrict next1_crd = (int32_t *)slots[10];
    float *restrict next_vals = (float *)slots[11];
    int64_t pnext1 = 0;
    next1_pos[0] = 0;
    int64_t pfront1 = front1_pos[0];
    const int64_t pfront1_end = front1_pos[1];
    int64_t pseen1 = seen1_pos[0];
    const int64_t pseen1_end = seen1_pos[1];
    while (pfront1 < pfront1_end && pseen1 < pseen1_end) {
        const int64_t jfront = front1_crd[pfront1];
        const int64_t jseen = seen1_crd[pseen1];
        const int64_t j = min_i64(jfront, jseen);
        if (jfront != j || jseen != j) {
            if (jfront == j) {
                next_vals[pnext1] = front_vals[pfront1];
                next1_crd[pnext1] = (int32_t)j;
                pnext1++;
            }
        }
        pfront1 = pfront1 + (jfront == j);
        pseen1 = pseen1 + (jseen == j);
    }
    while (pfront1 < pfront1_end) {
        const int64_t j_2 = front1_crd[pfront1];
        next_vals[pnext1] = front_vals[pfront1];
        next1_crd[pnext1] = (int32_t)j_2;
        pnext1++;
        pfront1 = pfront1 + 1;
    }
    next1_pos[1] = (int32_t)pnext1;
    return 0;
}
