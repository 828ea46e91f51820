/* out = a(i) * b(i)
 * a: "s" of f32
 * b: "s" of f32
 * out: "" of f32
 * mergeby(i, gallop)
 */
#include <stdint.h>
#include <string.h>

static inline int64_t max_i64(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

static inline int64_t min_i64(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

int32_t kernel_compute(int64_t *slots)
{
    const int32_t *restrict a1_pos = (const int32_t *)slots[2];
    const int32_t *restrict a1_crd = (const int32_t *)slots[3];
    const float *restrict a_vals = (const float *)slots[4];
    const int32_t *restrict b1_pos = (const int32_t *)slots[5];
    const int32_t *restrict b1_crd = (const int32_t *)slots[6];
    const float *restrict b_vals = (const float *)slots[7];
    float *restrict out_vals = (float *)slots[8];
    memset(out_vals, 0, (size_t)1 * sizeof *out_vals);
    int64_t pa1 = a1_pos[0];
    const int64_t pa1_end = a1_pos[1];
    int64_t pb1 = b1_pos[0];
    const int64_t pb1_end = b1_pos[1];
    while (pa1 < pa1_end && pb1 < pb1_end) {
        const int64_t ia = a1_crd[pa1];
        const int64_t ib = b1_crd[pb1];
        const int64_t i = max_i64(ia, ib);
        if (ia == i && ib == i) {
            out_vals[0] += a_vals[pa1] * b_vals[pb1];
        }
        if (ia == i && ib == i) {
            pa1++;
            pb1++;
        } else {
            if (ia < i) {
                int64_t pa1_step = 1;
                while (pa1 + pa1_step < pa1_end && a1_crd[pa1 + pa1_step] < i) {
                    pa1 = pa1 + pa1_step;
                    pa1_step = 2 * pa1_step;
                }
                int64_t pa1_next = pa1 + 1;
                int64_t pa1_next_above = min_i64(pa1 + pa1_step, pa1_end);
                while (pa1_next < pa1_next_above) {
                    const int64_t pa1_next_middle = pa1_next + (pa1_next_above - pa1_next) / 2;
                    if (a1_crd[pa1_next_middle] < i) {
                        pa1_next = pa1_next_middle + 1;
                    } else {
                        pa1_next_above = pa1_next_middle;
                    }
                }
                pa1 = pa1_next;
            }
            if (ib < i) {
                int64_t pb1_step = 1;
                while (pb1 + pb1_step < pb1_end && b1_crd[pb1 + pb1_step] < i) {
                    pb1 = pb1 + pb1_step;
                    pb1_step = 2 * pb1_step;
                }
                int64_t pb1_next = pb1 + 1;
                int64_t pb1_next_above = min_i64(pb1 + pb1_step, pb1_end);
                while (pb1_next < pb1_next_above) {
                    const int64_t pb1_next_middle = pb1_next + (pb1_next_above - pb1_next) / 2;
                    if (b1_crd[pb1_next_middle] < i) {
                        pb1_next = pb1_next_middle + 1;
                    } else {
                        pb1_next_above = pb1_next_middle;
                    }
                }
                pb1 = pb1_next;
            }
        }
    }
    return 0;
}
