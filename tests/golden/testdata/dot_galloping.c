/* out = a(i) * b(i)
 * a: "s" of f32
 * b: "s" of f32
 * out: "" of f32
 * mergeby(i, gallop)
 */
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __SIZE_TYPE__ size_t;
void *memset(void *, int, __SIZE_TYPE__);

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
    const int32_t *restrict a_pos1 = (const int32_t *)slots[2];
    const int32_t *restrict a_crd1 = (const int32_t *)slots[3];
    const float *restrict a_vals = (const float *)slots[4];
    const int32_t *restrict b_pos1 = (const int32_t *)slots[5];
    const int32_t *restrict b_crd1 = (const int32_t *)slots[6];
    const float *restrict b_vals = (const float *)slots[7];
    float *restrict out_vals = (float *)slots[8];
    memset(out_vals, 0, (size_t)1 * sizeof *out_vals);
    int64_t a_p1 = a_pos1[0];
    const int64_t a_p1_end = a_pos1[1];
    int64_t b_p1 = b_pos1[0];
    const int64_t b_p1_end = b_pos1[1];
    while (a_p1 < a_p1_end && b_p1 < b_p1_end) {
        const int64_t ia = a_crd1[a_p1];
        const int64_t ib = b_crd1[b_p1];
        const int64_t i = max_i64(ia, ib);
        if (ia == i && ib == i) {
            out_vals[0] += a_vals[a_p1] * b_vals[b_p1];
        }
        if (ia == i && ib == i) {
            a_p1++;
            b_p1++;
        } else {
            if (ia < i) {
                int64_t a_p1_step = 1;
                while (a_p1 + a_p1_step < a_p1_end && a_crd1[a_p1 + a_p1_step] < i) {
                    a_p1 = a_p1 + a_p1_step;
                    a_p1_step = 2 * a_p1_step;
                }
                int64_t a_p1_next = a_p1 + 1;
                int64_t a_p1_next_above = min_i64(a_p1 + a_p1_step, a_p1_end);
                while (a_p1_next < a_p1_next_above) {
                    const int64_t a_p1_next_middle = a_p1_next + (a_p1_next_above - a_p1_next) / 2;
                    if (a_crd1[a_p1_next_middle] < i) {
                        a_p1_next = a_p1_next_middle + 1;
                    } else {
                        a_p1_next_above = a_p1_next_middle;
                    }
                }
                a_p1 = a_p1_next;
            }
            if (ib < i) {
                int64_t b_p1_step = 1;
                while (b_p1 + b_p1_step < b_p1_end && b_crd1[b_p1 + b_p1_step] < i) {
                    b_p1 = b_p1 + b_p1_step;
                    b_p1_step = 2 * b_p1_step;
                }
                int64_t b_p1_next = b_p1 + 1;
                int64_t b_p1_next_above = min_i64(b_p1 + b_p1_step, b_p1_end);
                while (b_p1_next < b_p1_next_above) {
                    const int64_t b_p1_next_middle = b_p1_next + (b_p1_next_above - b_p1_next) / 2;
                    if (b_crd1[b_p1_next_middle] < i) {
                        b_p1_next = b_p1_next_middle + 1;
                    } else {
                        b_p1_next_above = b_p1_next_middle;
                    }
                }
                b_p1 = b_p1_next;
            }
        }
    }
    return 0;
}
