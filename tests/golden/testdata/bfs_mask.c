/* next(j) = first[0 & ~1](front(j), seen(j))
 * front: "s" of f32
 * seen: "s" of f32
 * next: "s" of f32
 * reorder(j)
 * one thread: the outermost loop over j merges what several levels store
 */
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT64_TYPE__ uint64_t;

static inline int64_t min_i64(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

int32_t kernel_assemble(int64_t *slots)
{
    const int32_t *restrict front_pos1 = (const int32_t *)slots[2];
    const int32_t *restrict front_crd1 = (const int32_t *)slots[3];
    const int32_t *restrict seen_pos1 = (const int32_t *)slots[5];
    const int32_t *restrict seen_crd1 = (const int32_t *)slots[6];
    int64_t next_count1 = slots[8];
    int64_t next_p1 = 0;
    int64_t front_p1 = front_pos1[0];
    const int64_t front_p1_end = front_pos1[1];
    int64_t seen_p1 = seen_pos1[0];
    const int64_t seen_p1_end = seen_pos1[1];
    while (front_p1 < front_p1_end && seen_p1 < seen_p1_end) {
        const int64_t jfront = front_crd1[front_p1];
        const int64_t jseen = seen_crd1[seen_p1];
        const int64_t j = min_i64(jfront, jseen);
        if (jfront != j || jseen != j) {
            if (jfront == j) {
                next_p1++;
            }
        }
        front_p1 = front_p1 + ((uint64_t)jfront <= (uint64_t)jseen);
        seen_p1 = seen_p1 + ((uint64_t)jseen <= (uint64_t)jfront);
    }
    while (front_p1 < front_p1_end) {
        next_p1++;
        front_p1 = front_p1 + 1;
    }
    if (next_p1 > 2147483647) {
        return 2;
    }
    next_count1 = next_p1;
    slots[8] = next_count1;
    return 0;
}

int32_t kernel_compute(int64_t *slots)
{
    const int32_t *restrict front_pos1 = (const int32_t *)slots[2];
    const int32_t *restrict front_crd1 = (const int32_t *)slots[3];
    const float *restrict front_vals = (const float *)slots[4];
    const int32_t *restrict seen_pos1 = (const int32_t *)slots[5];
    const int32_t *restrict seen_crd1 = (const int32_t *)slots[6];
    int32_t *restrict next_pos1 = (int32_t *)slots[9];
    int32_t *restrict next_crd1 = (int32_t *)slots[10];
    float *restrict next_vals = (float *)slots[11];
    int64_t next_p1 = 0;
    next_pos1[0] = 0;
    int64_t front_p1 = front_pos1[0];
    const int64_t front_p1_end = front_pos1[1];
    int64_t seen_p1 = seen_pos1[0];
    const int64_t seen_p1_end = seen_pos1[1];
    while (front_p1 < front_p1_end && seen_p1 < seen_p1_end) {
        const int64_t jfront = front_crd1[front_p1];
        const int64_t jseen = seen_crd1[seen_p1];
        const int64_t j = min_i64(jfront, jseen);
        if (jfront != j || jseen != j) {
            if (jfront == j) {
                next_vals[next_p1] = front_vals[front_p1];
                next_crd1[next_p1] = (int32_t)j;
                next_p1++;
            }
        }
        front_p1 = front_p1 + ((uint64_t)jfront <= (uint64_t)jseen);
        seen_p1 = seen_p1 + ((uint64_t)jseen <= (uint64_t)jfront);
    }
    while (front_p1 < front_p1_end) {
        const int64_t j_2 = front_crd1[front_p1];
        next_vals[next_p1] = front_vals[front_p1];
        next_crd1[next_p1] = (int32_t)j_2;
        next_p1++;
        front_p1 = front_p1 + 1;
    }
    next_pos1[1] = (int32_t)next_p1;
    return 0;
}
