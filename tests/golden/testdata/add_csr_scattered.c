/* C(i,j) = A(i,j) + B(i,j)
 * A: "ds" of f32
 * B: "ds" of f32
 * C: "ds" of f32
 * reorder(i, j)
 * parallelize(i, threads)
 * assemble(bounded)
 * mergeby(j, choose)
 * threads take blocks of i with equal numbers of entries of A, where there are enough of them
 * rows of C are written in one pass, to room for as many entries as they may have, and moved together
 * values over j are chosen without branches, since nothing foretells which operand has the next entry
 */
int omp_get_num_threads(void);
int omp_get_thread_num(void);
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __SIZE_TYPE__ size_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __UINT8_TYPE__ uint8_t;
void *memset(void *, int, __SIZE_TYPE__);

static inline int64_t max_i64(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

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

int32_t kernel_bound(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[3];
    const int32_t *restrict B_pos2 = (const int32_t *)slots[6];
    int64_t *restrict C_starts2 = (int64_t *)slots[13];
    int64_t C_bound2 = slots[14];
    memset(C_starts2, 0, (size_t)65 * sizeof *C_starts2);
    const int64_t blocks = (int64_t)A_pos2[n_i] + B_pos2[n_i] > 1500 && threads > 1 ? 64 : 1;
    const int64_t team = blocks > 1 && (int64_t)A_pos2[n_i] + B_pos2[n_i] > 12000 ? threads : 1;
    {
        int64_t begun[16 * team];
        for (int64_t n = 0; n < 16 * team; n++) {
            begun[n] = 0;
        }
        #pragma omp parallel num_threads(team)
        {
            int64_t block_turn = 0;
            for (int64_t block; (block = next_part(begun, 0, &block_turn, blocks)) < blocks;) {
                int64_t C_p2 = 0;
                const int64_t i_share = (n_i + A_pos2[n_i] + B_pos2[n_i] + (blocks - 1)) / blocks;
                int64_t i_begin = 0;
                int64_t i_begin_above = n_i;
                while (i_begin < i_begin_above) {
                    const int64_t i_begin_middle = i_begin + (i_begin_above - i_begin) / 2;
                    if (i_begin_middle + A_pos2[i_begin_middle] + B_pos2[i_begin_middle] < block * i_share) {
                        i_begin = i_begin_middle + 1;
                    } else {
                        i_begin_above = i_begin_middle;
                    }
                }
                int64_t i_end = i_begin;
                int64_t i_end_above = n_i;
                while (i_end < i_end_above) {
                    const int64_t i_end_middle = i_end + (i_end_above - i_end) / 2;
                    if (i_end_middle + A_pos2[i_end_middle] + B_pos2[i_end_middle] < (block + 1) * i_share) {
                        i_end = i_end_middle + 1;
                    } else {
                        i_end_above = i_end_middle;
                    }
                }
                if (i_begin < i_end) {
                    C_p2 += (int64_t)A_pos2[i_end] - A_pos2[i_begin] + ((int64_t)B_pos2[i_end] - B_pos2[i_begin]);
                }
                C_starts2[block + 1] = C_p2;
            }
        }
    }
    prefix_sum_i64(C_starts2, 65);
    const int64_t total = C_starts2[64];
    C_bound2 = total;
    slots[14] = C_bound2;
    return 0;
}

int32_t kernel_assemble(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[3];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[4];
    const float *restrict A_vals = (const float *)slots[5];
    const int32_t *restrict B_pos2 = (const int32_t *)slots[6];
    const int32_t *restrict B_crd2 = (const int32_t *)slots[7];
    const float *restrict B_vals = (const float *)slots[8];
    int64_t C_count2 = slots[9];
    int32_t *restrict C_pos2 = (int32_t *)slots[10];
    const int64_t *restrict C_starts2 = (const int64_t *)slots[13];
    int64_t *restrict C_filled2 = (int64_t *)slots[15];
    int32_t *restrict C_room_crd2 = (int32_t *)slots[16];
    float *restrict C_room_vals2 = (float *)slots[17];
    memset(C_pos2, 0, (size_t)(n_i + 1) * sizeof *C_pos2);
    memset(C_filled2, 0, (size_t)65 * sizeof *C_filled2);
    const int64_t blocks = (int64_t)A_pos2[n_i] + B_pos2[n_i] > 1500 && threads > 1 ? 64 : 1;
    const int64_t team = blocks > 1 && C_starts2[64] > 6000 ? threads : 1;
    {
        int64_t begun[16 * team];
        for (int64_t n = 0; n < 16 * team; n++) {
            begun[n] = 0;
        }
        #pragma omp parallel num_threads(team)
        {
            int64_t block_turn = 0;
            for (int64_t block; (block = next_part(begun, 0, &block_turn, blocks)) < blocks;) {
                int64_t C_p2 = C_starts2[block];
                const int64_t i_share = (n_i + A_pos2[n_i] + B_pos2[n_i] + (blocks - 1)) / blocks;
                int64_t i_begin = 0;
                int64_t i_begin_above = n_i;
                while (i_begin < i_begin_above) {
                    const int64_t i_begin_middle = i_begin + (i_begin_above - i_begin) / 2;
                    if (i_begin_middle + A_pos2[i_begin_middle] + B_pos2[i_begin_middle] < block * i_share) {
                        i_begin = i_begin_middle + 1;
                    } else {
                        i_begin_above = i_begin_middle;
                    }
                }
                int64_t i_end = i_begin;
                int64_t i_end_above = n_i;
                while (i_end < i_end_above) {
                    const int64_t i_end_middle = i_end + (i_end_above - i_end) / 2;
                    if (i_end_middle + A_pos2[i_end_middle] + B_pos2[i_end_middle] < (block + 1) * i_share) {
                        i_end = i_end_middle + 1;
                    } else {
                        i_end_above = i_end_middle;
                    }
                }
                for (int64_t i = i_begin; i < i_end; i++) {
                    const int64_t begin = C_p2;
                    int64_t A_p2 = A_pos2[i];
                    const int64_t A_p2_end = A_pos2[i + 1];
                    int64_t B_p2 = B_pos2[i];
                    const int64_t B_p2_end = B_pos2[i + 1];
                    if (A_p2_end + 1 < A_pos2[n_i] && B_p2_end + 1 < B_pos2[n_i]) {
                        int64_t jA_2 = A_crd2[A_p2];
                        int64_t jA_2_next = A_crd2[A_p2 + 1];
                        int64_t jB_2 = B_crd2[B_p2];
                        int64_t jB_2_next = B_crd2[B_p2 + 1];
                        while (A_p2 < A_p2_end && B_p2 < B_p2_end) {
                            const int64_t j_2 = min_i64(jA_2, jB_2);
                            float choices_2[4] __attribute__((aligned(64)));
                            choices_2[3] = A_vals[A_p2] + B_vals[B_p2];
                            choices_2[1] = A_vals[A_p2];
                            choices_2[2] = B_vals[B_p2];
                            C_room_vals2[C_p2] = choices_2[(jA_2 == j_2) + (int64_t)(jB_2 == j_2) * 2];
                            C_room_crd2[C_p2] = (int32_t)j_2;
                            C_p2++;
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
                        float choices[4] __attribute__((aligned(64)));
                        choices[3] = A_vals[A_p2] + B_vals[B_p2];
                        choices[1] = A_vals[A_p2];
                        choices[2] = B_vals[B_p2];
                        C_room_vals2[C_p2] = choices[(jA == j) + (int64_t)(jB == j) * 2];
                        C_room_crd2[C_p2] = (int32_t)j;
                        C_p2++;
                        A_p2 = A_p2 + ((uint64_t)jA <= (uint64_t)jB);
                        B_p2 = B_p2 + ((uint64_t)jB <= (uint64_t)jA);
                    }
                    while (A_p2 < A_p2_end) {
                        const int64_t j_3 = A_crd2[A_p2];
                        C_room_vals2[C_p2] = A_vals[A_p2];
                        C_room_crd2[C_p2] = (int32_t)j_3;
                        C_p2++;
                        A_p2 = A_p2 + 1;
                    }
                    while (B_p2 < B_p2_end) {
                        const int64_t j_4 = B_crd2[B_p2];
                        C_room_vals2[C_p2] = B_vals[B_p2];
                        C_room_crd2[C_p2] = (int32_t)j_4;
                        C_p2++;
                        B_p2 = B_p2 + 1;
                    }
                    C_pos2[i + 1] = (int32_t)(C_p2 - begin);
                }
                C_filled2[block + 1] = C_p2 - C_starts2[block];
            }
        }
    }
    int64_t total = 0;
    for (int64_t p = 0; p < n_i; p++) {
        total += C_pos2[p + 1];
        C_pos2[p + 1] = (int32_t)total;
    }
    if (total > 2147483647) {
        return 2;
    }
    C_count2 = total;
    prefix_sum_i64(C_filled2, 65);
    slots[9] = C_count2;
    return 0;
}

static __attribute__((noinline)) void kernel_compute_part(int64_t *slots, const int64_t block)
{
    int32_t *restrict C_crd2 = (int32_t *)slots[11];
    float *restrict C_vals = (float *)slots[12];
    const int64_t *restrict C_starts2 = (const int64_t *)slots[13];
    const int64_t *restrict C_filled2 = (const int64_t *)slots[15];
    const int32_t *restrict C_room_crd2 = (const int32_t *)slots[16];
    const float *restrict C_room_vals2 = (const float *)slots[17];
    const int64_t from = C_starts2[block];
    const int64_t to = C_filled2[block];
    const int64_t count = C_filled2[block + 1] - to;
    for (int64_t q = 0; q < count; q++) {
        C_crd2[to + q] = C_room_crd2[from + q];
    }
    for (int64_t q_2 = 0; q_2 < count; q_2++) {
        C_vals[to + q_2] = C_room_vals2[from + q_2];
    }
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t *restrict C_filled2 = (const int64_t *)slots[15];
    const int64_t team = C_filled2[64] > 12000 ? threads : 1;
    if (team > 1) {
        int64_t begun[16 * team];
        for (int64_t n = 0; n < 16 * team; n++) {
            begun[n] = 0;
        }
        #pragma omp parallel num_threads(team)
        {
            int64_t block_turn = 0;
            for (int64_t block; (block = next_part(begun, 0, &block_turn, 64)) < 64;) {
                kernel_compute_part(slots, block);
            }
        }
    } else {
        for (int64_t block = 0; block < 64; block++) {
            kernel_compute_part(slots, block);
        }
    }
    return 0;
}

int32_t kernel_revalue(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[3];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[4];
    const float *restrict A_vals = (const float *)slots[5];
    const int32_t *restrict B_pos2 = (const int32_t *)slots[6];
    const int32_t *restrict B_crd2 = (const int32_t *)slots[7];
    const float *restrict B_vals = (const float *)slots[8];
    const int32_t *restrict C_pos2 = (const int32_t *)slots[10];
    float *restrict C_vals = (float *)slots[12];
    const int64_t C_coded2 = slots[18];
    uint8_t *restrict C_code2 = (uint8_t *)slots[19];
    if (C_coded2 != 0 && A_pos2[n_i] > 0 && B_pos2[n_i] > 0) {
        const int64_t total = C_pos2[n_i];
        const int64_t blocks = total > 12000 && threads > 1 ? threads * 16 : 1;
        const int64_t team = blocks > 1 ? threads : 1;
        {
            int64_t begun[16 * team];
            for (int64_t n = 0; n < 16 * team; n++) {
                begun[n] = 0;
            }
            #pragma omp parallel num_threads(team)
            {
                int64_t block_turn = 0;
                for (int64_t block; (block = next_part(begun, 0, &block_turn, blocks)) < blocks;) {
                    const int64_t share = (total + (blocks - 1)) / blocks;
                    int64_t row_begin = 0;
                    int64_t row_begin_above = n_i;
                    while (row_begin < row_begin_above) {
                        const int64_t row_begin_middle = row_begin + (row_begin_above - row_begin) / 2;
                        if (C_pos2[row_begin_middle] < block * share) {
                            row_begin = row_begin_middle + 1;
                        } else {
                            row_begin_above = row_begin_middle;
                        }
                    }
                    int64_t row_end = row_begin;
                    int64_t row_end_above = n_i;
                    while (row_end < row_end_above) {
                        const int64_t row_end_middle = row_end + (row_end_above - row_end) / 2;
                        if (C_pos2[row_end_middle] < (block + 1) * share) {
                            row_end = row_end_middle + 1;
                        } else {
                            row_end_above = row_end_middle;
                        }
                    }
                    float choices[4] __attribute__((aligned(64)));
                    int64_t A_p2 = A_pos2[row_begin];
                    const int64_t A_p2_last = (int64_t)A_pos2[n_i] - 1;
                    int64_t B_p2 = B_pos2[row_begin];
                    const int64_t B_p2_last = (int64_t)B_pos2[n_i] - 1;
                    for (int64_t q = C_pos2[row_begin]; q < C_pos2[row_end]; q++) {
                        const int64_t code = C_code2[q];
                        const int64_t A_p2_here = min_i64(A_p2, A_p2_last);
                        const int64_t B_p2_here = min_i64(B_p2, B_p2_last);
                        choices[3] = A_vals[A_p2_here] + B_vals[B_p2_here];
                        choices[1] = A_vals[A_p2_here];
                        choices[2] = B_vals[B_p2_here];
                        C_vals[q] = choices[code];
                        A_p2 += code - code / 2 * 2;
                        B_p2 += code / 2 - code / 4 * 2;
                    }
                }
            }
        }
        return 0;
    }
    const int64_t parts = max_i64((int64_t)A_pos2[n_i] + B_pos2[n_i], (int64_t)C_pos2[n_i]) > 12000 && threads > 1 ? max_i64(threads, min_i64(threads * 16, max_i64((int64_t)A_pos2[n_i] + B_pos2[n_i], (int64_t)C_pos2[n_i]) / 3000)) : 1;
    const int64_t team_ = parts > 1 ? threads : 1;
    {
        int64_t begun_[16 * team_];
        for (int64_t n_ = 0; n_ < 16 * team_; n_++) {
            begun_[n_] = 0;
        }
        #pragma omp parallel num_threads(team_)
        {
            int64_t part_turn = 0;
            for (int64_t part; (part = next_part(begun_, 0, &part_turn, parts)) < parts;) {
                const int64_t i_share = (n_i + A_pos2[n_i] + B_pos2[n_i] + (parts - 1)) / parts;
                int64_t i_begin = 0;
                int64_t i_begin_above = n_i;
                while (i_begin < i_begin_above) {
                    const int64_t i_begin_middle = i_begin + (i_begin_above - i_begin) / 2;
                    if (i_begin_middle + A_pos2[i_begin_middle] + B_pos2[i_begin_middle] < part * i_share) {
                        i_begin = i_begin_middle + 1;
                    } else {
                        i_begin_above = i_begin_middle;
                    }
                }
                int64_t i_end = i_begin;
                int64_t i_end_above = n_i;
                while (i_end < i_end_above) {
                    const int64_t i_end_middle = i_end + (i_end_above - i_end) / 2;
                    if (i_end_middle + A_pos2[i_end_middle] + B_pos2[i_end_middle] < (part + 1) * i_share) {
                        i_end = i_end_middle + 1;
                    } else {
                        i_end_above = i_end_middle;
                    }
                }
                for (int64_t i = i_begin; i < i_end; i++) {
                    int64_t C_p2 = C_pos2[i];
                    int64_t A_p2_2 = A_pos2[i];
                    const int64_t A_p2_end = A_pos2[i + 1];
                    int64_t B_p2_2 = B_pos2[i];
                    const int64_t B_p2_end = B_pos2[i + 1];
                    if (A_p2_end + 1 < A_pos2[n_i] && B_p2_end + 1 < B_pos2[n_i]) {
                        int64_t jA_2 = A_crd2[A_p2_2];
                        int64_t jA_2_next = A_crd2[A_p2_2 + 1];
                        int64_t jB_2 = B_crd2[B_p2_2];
                        int64_t jB_2_next = B_crd2[B_p2_2 + 1];
                        while (A_p2_2 < A_p2_end && B_p2_2 < B_p2_end) {
                            const int64_t j_2 = min_i64(jA_2, jB_2);
                            uint8_t choices_4[4] __attribute__((aligned(64)));
                            choices_4[3] = 3;
                            choices_4[1] = 1;
                            choices_4[2] = 2;
                            C_code2[C_p2] = choices_4[(jA_2 == j_2) + (int64_t)(jB_2 == j_2) * 2];
                            float choices_5[4] __attribute__((aligned(64)));
                            choices_5[3] = A_vals[A_p2_2] + B_vals[B_p2_2];
                            choices_5[1] = A_vals[A_p2_2];
                            choices_5[2] = B_vals[B_p2_2];
                            C_vals[C_p2] = choices_5[(jA_2 == j_2) + (int64_t)(jB_2 == j_2) * 2];
                            C_p2++;
                            const int64_t A_p2_passed = (uint64_t)jA_2 <= (uint64_t)jB_2;
                            const int64_t B_p2_passed = (uint64_t)jB_2 <= (uint64_t)jA_2;
                            A_p2_2 = A_p2_2 + A_p2_passed;
                            jA_2 = A_p2_passed != 0 ? jA_2_next : jA_2;
                            jA_2_next = A_crd2[A_p2_2 + 1];
                            B_p2_2 = B_p2_2 + B_p2_passed;
                            jB_2 = B_p2_passed != 0 ? jB_2_next : jB_2;
                            jB_2_next = B_crd2[B_p2_2 + 1];
                        }
                    }
                    while (A_p2_2 < A_p2_end && B_p2_2 < B_p2_end) {
                        const int64_t jA = A_crd2[A_p2_2];
                        const int64_t jB = B_crd2[B_p2_2];
                        const int64_t j = min_i64(jA, jB);
                        uint8_t choices_2[4] __attribute__((aligned(64)));
                        choices_2[3] = 3;
                        choices_2[1] = 1;
                        choices_2[2] = 2;
                        C_code2[C_p2] = choices_2[(jA == j) + (int64_t)(jB == j) * 2];
                        float choices_3[4] __attribute__((aligned(64)));
                        choices_3[3] = A_vals[A_p2_2] + B_vals[B_p2_2];
                        choices_3[1] = A_vals[A_p2_2];
                        choices_3[2] = B_vals[B_p2_2];
                        C_vals[C_p2] = choices_3[(jA == j) + (int64_t)(jB == j) * 2];
                        C_p2++;
                        A_p2_2 = A_p2_2 + ((uint64_t)jA <= (uint64_t)jB);
                        B_p2_2 = B_p2_2 + ((uint64_t)jB <= (uint64_t)jA);
                    }
                    while (A_p2_2 < A_p2_end) {
                        C_code2[C_p2] = 1;
                        C_vals[C_p2] = A_vals[A_p2_2];
                        C_p2++;
                        A_p2_2 = A_p2_2 + 1;
                    }
                    while (B_p2_2 < B_p2_end) {
                        C_code2[C_p2] = 2;
                        C_vals[C_p2] = B_vals[B_p2_2];
                        C_p2++;
                        B_p2_2 = B_p2_2 + 1;
                    }
                }
            }
        }
    }
    return 0;
}
