/* y(i) = a(i) + b(i)
 */
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;

static inline int64_t min_i64(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

int32_t kernel_compute(int64_t *slots)
{
    int64_t count = slots[0];
    const int32_t *restrict a1_pos = (const int32_t *)slots[1];
    const int32_t *restrict a1_crd = (const int32_t *)slots[2];
    const double *restrict a_vals = (const double *)slots[3];
    const int32_t *restrict b1_pos = (const int32_t *)slots[4];
    const int32_t *restrict b1_crd = (const int32_t *)slots[5];
    const double *restrict b_vals = (const double *)slots[6];
    int32_t *restrict y1_crd = (int32_t *)slots[7];
    double *restrict y_vals = (double *)slots[8];
    int64_t pa = a1_pos[0];
    const int64_t pa_end = a1_pos[1];
    int64_t pb = b1_pos[0];
    const int64_t pb_end = b1_pos[1];
    int64_t py = 0;
    while (pa < pa_end && pb < pb_end) {
        const int64_t ia = a1_crd[pa];
        const int64_t ib = b1_crd[pb];
        const int64_t i = min_i64(ia, ib);
        y1_crd[py] = (int32_t)i;
        if (ia == i && ib == i) {
            y_vals[py] = a_vals[pa] + b_vals[pb];
        } else if (ia == i) {
            y_vals[py] = a_vals[pa];
        } else {
            y_vals[py] = b_vals[pb];
        }
        pa += ia == i;
        pb += ib == i;
        py++;
    }
    while (pa < pa_end) {
        y1_crd[py] = a1_crd[pa];
        y_vals[py] = a_vals[pa];
        pa++;
        py++;
    }
    while (pb < pb_end) {
        y1_crd[py] = b1_crd[pb];
        y_vals[py] = b_vals[pb];
        pb++;
        py++;
    }
    count = py;
    slots[0] = count;
    return 0;
}
