/* out(i,j) = A(i,j) * B(i,j)
 * A: "ss" of f32
 * B: "ss" of f32
 * out: "ss" of f32
 * reorder(i, j)
 * divide(i, i0, i1, 64)
 * parallelize(i0, threads)
 * i is cut into 64 strips of coordinates for threads, since its loop merges what several levels store
 */
int omp_get_num_threads(void);
int omp_get_thread_num(void);
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __SIZE_TYPE__ size_t;
typedef __UINT64_TYPE__ uint64_t;
void *memset(void *, int, __SIZE_TYPE__);

static inline int64_t min_i64(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

/* The next part of a loop for a thread: of its own, then of those that other threads haven't begun. A thread without a team has no
 * counters of parts that are begun, and takes all. */
static inline int64_t next_part(int64_t *begun, int64_t loop, int64_t *turn, int64_t parts)
{
    if (!begun) {
        return (*turn)++;
    }
    const int64_t team = omp_get_num_threads();
    for (; *turn < team; ++*turn) {
        const int64_t owner = (omp_get_thread_num() + *turn) % team;
        const int64_t part = parts * owner / team + __atomic_fetch_add(&begun[16 * owner + loop], 1, __ATOMIC_RELAXED);
        if (part < parts * (owner + 1) / team) {
            return part;
        }
    }
    return parts;
}

static void prefix_sum_i64(int64_t *restrict a, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        a[i] += a[i - 1];
    }
}

int32_t kernel_assemble(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A_pos1 = (const int32_t *)slots[3];
    const int32_t *restrict A_crd1 = (const int32_t *)slots[4];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[5];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[6];
    const int32_t *restrict B_pos1 = (const int32_t *)slots[8];
    const int32_t *restrict B_crd1 = (const int32_t *)slots[9];
    const int32_t *restrict B_pos2 = (const int32_t *)slots[10];
    const int32_t *restrict B_crd2 = (const int32_t *)slots[11];
    int64_t out_count1 = slots[13];
    int64_t out_count2 = slots[14];
    int64_t *restrict out_starts1 = (int64_t *)slots[20];
    int64_t *restrict out_starts2 = (int64_t *)slots[21];
    memset(out_starts1, 0, (size_t)65 * sizeof *out_starts1);
    memset(out_starts2, 0, (size_t)65 * sizeof *out_starts2);
    const int64_t team = (int64_t)A_pos2[A_pos1[1]] + B_pos2[B_pos1[1]] > 12000 ? threads : 1;
    {
        int64_t begun[16 * team];
        for (int64_t n = 0; n < 16 * team; n++) {
            begun[n] = 0;
        }
        #pragma omp parallel num_threads(team)
        {
            int64_t block_turn = 0;
            for (int64_t block; (block = next_part(begun, 0, &block_turn, 64)) < 64;) {
                int64_t out_p1 = 0;
                int64_t out_p2 = 0;
                const int64_t i0_share = 1;
                for (int64_t i0 = block * i0_share; i0 < min_i64(64, block * i0_share + i0_share); i0++) {
                    int64_t A_p1_begin = A_pos1[0];
                    int64_t A_p1_begin_above = A_pos1[1];
                    while (A_p1_begin < A_p1_begin_above) {
                        const int64_t A_p1_begin_middle = A_p1_begin + (A_p1_begin_above - A_p1_begin) / 2;
                        if (A_crd1[A_p1_begin_middle] < i0 * ((n_i + 63) / 64)) {
                            A_p1_begin = A_p1_begin_middle + 1;
                        } else {
                            A_p1_begin_above = A_p1_begin_middle;
                        }
                    }
                    int64_t A_p1_stop = A_p1_begin;
                    int64_t A_p1_stop_above = A_pos1[1];
                    while (A_p1_stop < A_p1_stop_above) {
                        const int64_t A_p1_stop_middle = A_p1_stop + (A_p1_stop_above - A_p1_stop) / 2;
                        if (A_crd1[A_p1_stop_middle] < i0 * ((n_i + 63) / 64) + min_i64((n_i + 63) / 64, n_i - i0 * ((n_i + 63) / 64))) {
                            A_p1_stop = A_p1_stop_middle + 1;
                        } else {
                            A_p1_stop_above = A_p1_stop_middle;
                        }
                    }
                    int64_t A_p1 = A_p1_begin;
                    const int64_t A_p1_end = A_p1_stop;
                    int64_t B_p1_begin = B_pos1[0];
                    int64_t B_p1_begin_above = B_pos1[1];
                    while (B_p1_begin < B_p1_begin_above) {
                        const int64_t B_p1_begin_middle = B_p1_begin + (B_p1_begin_above - B_p1_begin) / 2;
                        if (B_crd1[B_p1_begin_middle] < i0 * ((n_i + 63) / 64)) {
                            B_p1_begin = B_p1_begin_middle + 1;
                        } else {
                            B_p1_begin_above = B_p1_begin_middle;
                        }
                    }
                    int64_t B_p1_stop = B_p1_begin;
                    int64_t B_p1_stop_above = B_pos1[1];
                    while (B_p1_stop < B_p1_stop_above) {
                        const int64_t B_p1_stop_middle = B_p1_stop + (B_p1_stop_above - B_p1_stop) / 2;
                        if (B_crd1[B_p1_stop_middle] < i0 * ((n_i + 63) / 64) + min_i64((n_i + 63) / 64, n_i - i0 * ((n_i + 63) / 64))) {
                            B_p1_stop = B_p1_stop_middle + 1;
                        } else {
                            B_p1_stop_above = B_p1_stop_middle;
                        }
                    }
                    int64_t B_p1 = B_p1_begin;
                    const int64_t B_p1_end = B_p1_stop;
                    while (A_p1 < A_p1_end && B_p1 < B_p1_end) {
                        const int64_t iA = A_crd1[A_p1];
                        const int64_t iB = B_crd1[B_p1];
                        const int64_t i = min_i64(iA, iB);
                        if (iA == i && iB == i) {
                            const int64_t begin = out_p2;
                            int64_t A_p2 = A_pos2[A_p1];
                            const int64_t A_p2_end = A_pos2[A_p1 + 1];
                            int64_t B_p2 = B_pos2[B_p1];
                            const int64_t B_p2_end = B_pos2[B_p1 + 1];
                            if (A_p2_end + 1 < A_pos2[A_pos1[1]] && B_p2_end + 1 < B_pos2[B_pos1[1]]) {
                                int64_t jA_2 = A_crd2[A_p2];
                                int64_t jA_2_next = A_crd2[A_p2 + 1];
                                int64_t jB_2 = B_crd2[B_p2];
                                int64_t jB_2_next = B_crd2[B_p2 + 1];
                                while (A_p2 < A_p2_end && B_p2 < B_p2_end) {
                                    const int64_t j_2 = min_i64(jA_2, jB_2);
                                    if (jA_2 == j_2 && jB_2 == j_2) {
                                        out_p2++;
                                    }
                                    const int64_t A_p2_passed = (uint64_t)jA_2 <= (uint64_t)jB_2;
                                    const int64_t B_p2_passed = (uint64_t)jB_2 <= (uint64_t)jA_2;
                                    A_p2 = A_p2 + A_p2_passed;
                                    jA_2 = A_p2_passed != 0 ? jA_2_next : jA_2;
                                    jA_2_next = A_crd2[A_p2 + 1];
                                    B_p2 = B_p2 + B_p2_passed;
                                    jB_2 = B_p2_passed != 0 ? jB_2_next : jB_2;
                                    jB_2_next = B_crd2[B_p2 + 1];
                                }
                            }
                            while (A_p2 < A_p2_end && B_p2 < B_p2_end) {
                                const int64_t jA = A_crd2[A_p2];
                                const int64_t jB = B_crd2[B_p2];
                                const int64_t j = min_i64(jA, jB);
                                if (jA == j && jB == j) {
                                    out_p2++;
                                }
                                A_p2 = A_p2 + ((uint64_t)jA <= (uint64_t)jB);
                                B_p2 = B_p2 + ((uint64_t)jB <= (uint64_t)jA);
                            }
                            if (out_p2 > begin) {
                                out_p1++;
                            }
                        }
                        A_p1 = A_p1 + ((uint64_t)iA <= (uint64_t)iB);
                        B_p1 = B_p1 + ((uint64_t)iB <= (uint64_t)iA);
                    }
                }
                out_starts1[block + 1] = out_p1;
                out_starts2[block + 1] = out_p2;
            }
        }
    }
    prefix_sum_i64(out_starts1, 65);
    const int64_t total = out_starts1[64];
    if (total > 2147483647) {
        return 2;
    }
    out_count1 = total;
    prefix_sum_i64(out_starts2, 65);
    const int64_t total_2 = out_starts2[64];
    if (total_2 > 2147483647) {
        return 2;
    }
    out_count2 = total_2;
    slots[13] = out_count1;
    slots[14] = out_count2;
    return 0;
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A_pos1 = (const int32_t *)slots[3];
    const int32_t *restrict A_crd1 = (const int32_t *)slots[4];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[5];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[6];
    const float *restrict A_vals = (const float *)slots[7];
    const int32_t *restrict B_pos1 = (const int32_t *)slots[8];
    const int32_t *restrict B_crd1 = (const int32_t *)slots[9];
    const int32_t *restrict B_pos2 = (const int32_t *)slots[10];
    const int32_t *restrict B_crd2 = (const int32_t *)slots[11];
    const float *restrict B_vals = (const float *)slots[12];
    int32_t *restrict out_pos1 = (int32_t *)slots[15];
    int32_t *restrict out_crd1 = (int32_t *)slots[16];
    int32_t *restrict out_pos2 = (int32_t *)slots[17];
    int32_t *restrict out_crd2 = (int32_t *)slots[18];
    float *restrict out_vals = (float *)slots[19];
    const int64_t *restrict out_starts1 = (const int64_t *)slots[20];
    const int64_t *restrict out_starts2 = (const int64_t *)slots[21];
    out_pos1[0] = 0;
    out_pos1[1] = (int32_t)out_starts1[64];
    out_pos2[0] = 0;
    const int64_t team = (int64_t)A_pos2[A_pos1[1]] + B_pos2[B_pos1[1]] > 12000 ? threads : 1;
    {
        int64_t begun[16 * team];
        for (int64_t n = 0; n < 16 * team; n++) {
            begun[n] = 0;
        }
        #pragma omp parallel num_threads(team)
        {
            int64_t block_turn = 0;
            for (int64_t block; (block = next_part(begun, 0, &block_turn, 64)) < 64;) {
                int64_t out_p1 = out_starts1[block];
                int64_t out_p2 = out_starts2[block];
                const int64_t i0_share = 1;
                for (int64_t i0 = block * i0_share; i0 < min_i64(64, block * i0_share + i0_share); i0++) {
                    int64_t A_p1_begin = A_pos1[0];
                    int64_t A_p1_begin_above = A_pos1[1];
                    while (A_p1_begin < A_p1_begin_above) {
                        const int64_t A_p1_begin_middle = A_p1_begin + (A_p1_begin_above - A_p1_begin) / 2;
                        if (A_crd1[A_p1_begin_middle] < i0 * ((n_i + 63) / 64)) {
                            A_p1_begin = A_p1_begin_middle + 1;
                        } else {
                            A_p1_begin_above = A_p1_begin_middle;
                        }
                    }
                    int64_t A_p1_stop = A_p1_begin;
                    int64_t A_p1_stop_above = A_pos1[1];
                    while (A_p1_stop < A_p1_stop_above) {
                        const int64_t A_p1_stop_middle = A_p1_stop + (A_p1_stop_above - A_p1_stop) / 2;
                        if (A_crd1[A_p1_stop_middle] < i0 * ((n_i + 63) / 64) + min_i64((n_i + 63) / 64, n_i - i0 * ((n_i + 63) / 64))) {
                            A_p1_stop = A_p1_stop_middle + 1;
                        } else {
                            A_p1_stop_above = A_p1_stop_middle;
                        }
                    }
                    int64_t A_p1 = A_p1_begin;
                    const int64_t A_p1_end = A_p1_stop;
                    int64_t B_p1_begin = B_pos1[0];
                    int64_t B_p1_begin_above = B_pos1[1];
                    while (B_p1_begin < B_p1_begin_above) {
                        const int64_t B_p1_begin_middle = B_p1_begin + (B_p1_begin_above - B_p1_begin) / 2;
                        if (B_crd1[B_p1_begin_middle] < i0 * ((n_i + 63) / 64)) {
                            B_p1_begin = B_p1_begin_middle + 1;
                        } else {
                            B_p1_begin_above = B_p1_begin_middle;
                        }
                    }
                    int64_t B_p1_stop = B_p1_begin;
                    int64_t B_p1_stop_above = B_pos1[1];
                    while (B_p1_stop < B_p1_stop_above) {
                        const int64_t B_p1_stop_middle = B_p1_stop + (B_p1_stop_above - B_p1_stop) / 2;
                        if (B_crd1[B_p1_stop_middle] < i0 * ((n_i + 63) / 64) + min_i64((n_i + 63) / 64, n_i - i0 * ((n_i + 63) / 64))) {
                            B_p1_stop = B_p1_stop_middle + 1;
                        } else {
                            B_p1_stop_above = B_p1_stop_middle;
                        }
                    }
                    int64_t B_p1 = B_p1_begin;
                    const int64_t B_p1_end = B_p1_stop;
                    while (A_p1 < A_p1_end && B_p1 < B_p1_end) {
                        const int64_t iA = A_crd1[A_p1];
                        const int64_t iB = B_crd1[B_p1];
                        const int64_t i = min_i64(iA, iB);
                        if (iA == i && iB == i) {
                            const int64_t begin = out_p2;
                            int64_t A_p2 = A_pos2[A_p1];
                            const int64_t A_p2_end = A_pos2[A_p1 + 1];
                            int64_t B_p2 = B_pos2[B_p1];
                            const int64_t B_p2_end = B_pos2[B_p1 + 1];
                            if (A_p2_end + 1 < A_pos2[A_pos1[1]] && B_p2_end + 1 < B_pos2[B_pos1[1]]) {
                                int64_t jA_2 = A_crd2[A_p2];
                                int64_t jA_2_next = A_crd2[A_p2 + 1];
                                int64_t jB_2 = B_crd2[B_p2];
                                int64_t jB_2_next = B_crd2[B_p2 + 1];
                                while (A_p2 < A_p2_end && B_p2 < B_p2_end) {
                                    const int64_t j_2 = min_i64(jA_2, jB_2);
                                    if (jA_2 == j_2 && jB_2 == j_2) {
                                        out_vals[out_p2] = A_vals[A_p2] * B_vals[B_p2];
                                        out_crd2[out_p2] = (int32_t)j_2;
                                        out_p2++;
                                    }
                                    const int64_t A_p2_passed = (uint64_t)jA_2 <= (uint64_t)jB_2;
                                    const int64_t B_p2_passed = (uint64_t)jB_2 <= (uint64_t)jA_2;
                                    A_p2 = A_p2 + A_p2_passed;
                                    jA_2 = A_p2_passed != 0 ? jA_2_next : jA_2;
                                    jA_2_next = A_crd2[A_p2 + 1];
                                    B_p2 = B_p2 + B_p2_passed;
                                    jB_2 = B_p2_passed != 0 ? jB_2_next : jB_2;
                                    jB_2_next = B_crd2[B_p2 + 1];
                                }
                            }
                            while (A_p2 < A_p2_end && B_p2 < B_p2_end) {
                                const int64_t jA = A_crd2[A_p2];
                                const int64_t jB = B_crd2[B_p2];
                                const int64_t j = min_i64(jA, jB);
                                if (jA == j && jB == j) {
                                    out_vals[out_p2] = A_vals[A_p2] * B_vals[B_p2];
                                    out_crd2[out_p2] = (int32_t)j;
                                    out_p2++;
                                }
                                A_p2 = A_p2 + ((uint64_t)jA <= (uint64_t)jB);
                                B_p2 = B_p2 + ((uint64_t)jB <= (uint64_t)jA);
                            }
                            if (out_p2 > begin) {
                                out_pos2[out_p1 + 1] = (int32_t)out_p2;
                                out_crd1[out_p1] = (int32_t)i;
                                out_p1++;
                            }
                        }
                        A_p1 = A_p1 + ((uint64_t)iA <= (uint64_t)iB);
                        B_p1 = B_p1 + ((uint64_t)iB <= (uint64_t)iA);
                    }
                }
            }
        }
    }
    return 0;
}
