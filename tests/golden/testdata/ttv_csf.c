/* out(i,j) = A(i,j,k) * x(k)
 * A: "sss" of f32
 * x: "d" of f32
 * out: "ds" of f32
 * reorder(i, j, k)
 * precompute(all, w, at=2, tile)
 * parallelize(i, threads)
 * assemble(bounded)
 * workspace w: a scalar, since [k] is summed inside each element
 * threads take blocks of i with equal numbers of entries of A, where there are enough of them
 * rows of out are written in one pass, to room for as many entries as they may have, and moved together
 */
int omp_get_num_threads(void);
int omp_get_thread_num(void);
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __SIZE_TYPE__ size_t;
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
    const int32_t *restrict A_pos1 = (const int32_t *)slots[4];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[6];
    const int32_t *restrict A_pos3 = (const int32_t *)slots[8];
    int64_t *restrict out_starts2 = (int64_t *)slots[16];
    int64_t out_bound2 = slots[17];
    memset(out_starts2, 0, (size_t)65 * sizeof *out_starts2);
    const int64_t blocks = A_pos3[A_pos2[A_pos1[1]]] > 1500 && threads > 1 ? 64 : 1;
    const int64_t team = blocks > 1 && A_pos3[A_pos2[A_pos1[1]]] > 12000 ? threads : 1;
    {
        int64_t begun[16 * team];
        for (int64_t n = 0; n < 16 * team; n++) {
            begun[n] = 0;
        }
        #pragma omp parallel num_threads(team)
        {
            int64_t block_turn = 0;
            for (int64_t block; (block = next_part(begun, 0, &block_turn, blocks)) < blocks;) {
                int64_t out_p2 = 0;
                const int64_t A_p1_share = ((int64_t)A_pos1[1] + A_pos3[A_pos2[A_pos1[1]]] + (blocks - 1)) / blocks;
                int64_t A_p1_begin = A_pos1[0];
                int64_t A_p1_begin_above = A_pos1[1];
                while (A_p1_begin < A_p1_begin_above) {
                    const int64_t A_p1_begin_middle = A_p1_begin + (A_p1_begin_above - A_p1_begin) / 2;
                    if (A_p1_begin_middle + A_pos3[A_pos2[A_p1_begin_middle]] < block * A_p1_share) {
                        A_p1_begin = A_p1_begin_middle + 1;
                    } else {
                        A_p1_begin_above = A_p1_begin_middle;
                    }
                }
                int64_t A_p1_end = A_p1_begin;
                int64_t A_p1_end_above = A_pos1[1];
                while (A_p1_end < A_p1_end_above) {
                    const int64_t A_p1_end_middle = A_p1_end + (A_p1_end_above - A_p1_end) / 2;
                    if (A_p1_end_middle + A_pos3[A_pos2[A_p1_end_middle]] < (block + 1) * A_p1_share) {
                        A_p1_end = A_p1_end_middle + 1;
                    } else {
                        A_p1_end_above = A_p1_end_middle;
                    }
                }
                if (A_p1_begin < A_p1_end) {
                    out_p2 += (int64_t)A_pos2[A_p1_end] - A_pos2[A_p1_begin];
                }
                out_starts2[block + 1] = out_p2;
            }
        }
    }
    prefix_sum_i64(out_starts2, 65);
    const int64_t total = out_starts2[64];
    out_bound2 = total;
    slots[17] = out_bound2;
    return 0;
}

int32_t kernel_assemble(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A_pos1 = (const int32_t *)slots[4];
    const int32_t *restrict A_crd1 = (const int32_t *)slots[5];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[6];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[7];
    const int32_t *restrict A_pos3 = (const int32_t *)slots[8];
    const int32_t *restrict A_crd3 = (const int32_t *)slots[9];
    const float *restrict A_vals = (const float *)slots[10];
    const float *restrict x_vals = (const float *)slots[11];
    int64_t out_count2 = slots[12];
    int32_t *restrict out_pos2 = (int32_t *)slots[13];
    const int64_t *restrict out_starts2 = (const int64_t *)slots[16];
    int64_t *restrict out_filled2 = (int64_t *)slots[18];
    int32_t *restrict out_room_crd2 = (int32_t *)slots[19];
    float *restrict out_room_vals2 = (float *)slots[20];
    memset(out_pos2, 0, (size_t)(n_i + 1) * sizeof *out_pos2);
    memset(out_filled2, 0, (size_t)65 * sizeof *out_filled2);
    const int64_t blocks = A_pos3[A_pos2[A_pos1[1]]] > 1500 && threads > 1 ? 64 : 1;
    const int64_t team = blocks > 1 && out_starts2[64] > 6000 ? threads : 1;
    {
        int64_t begun[16 * team];
        for (int64_t n = 0; n < 16 * team; n++) {
            begun[n] = 0;
        }
        #pragma omp parallel num_threads(team)
        {
            int64_t block_turn = 0;
            for (int64_t block; (block = next_part(begun, 0, &block_turn, blocks)) < blocks;) {
                int64_t out_p2 = out_starts2[block];
                const int64_t A_p1_share = ((int64_t)A_pos1[1] + A_pos3[A_pos2[A_pos1[1]]] + (blocks - 1)) / blocks;
                int64_t A_p1_begin = A_pos1[0];
                int64_t A_p1_begin_above = A_pos1[1];
                while (A_p1_begin < A_p1_begin_above) {
                    const int64_t A_p1_begin_middle = A_p1_begin + (A_p1_begin_above - A_p1_begin) / 2;
                    if (A_p1_begin_middle + A_pos3[A_pos2[A_p1_begin_middle]] < block * A_p1_share) {
                        A_p1_begin = A_p1_begin_middle + 1;
                    } else {
                        A_p1_begin_above = A_p1_begin_middle;
                    }
                }
                int64_t A_p1_end = A_p1_begin;
                int64_t A_p1_end_above = A_pos1[1];
                while (A_p1_end < A_p1_end_above) {
                    const int64_t A_p1_end_middle = A_p1_end + (A_p1_end_above - A_p1_end) / 2;
                    if (A_p1_end_middle + A_pos3[A_pos2[A_p1_end_middle]] < (block + 1) * A_p1_share) {
                        A_p1_end = A_p1_end_middle + 1;
                    } else {
                        A_p1_end_above = A_p1_end_middle;
                    }
                }
                for (int64_t A_p1 = A_p1_begin; A_p1 < A_p1_end; A_p1++) {
                    const int64_t i = A_crd1[A_p1];
                    const int64_t begin = out_p2;
                    for (int64_t A_p2 = A_pos2[A_p1]; A_p2 < A_pos2[A_p1 + 1]; A_p2++) {
                        const int64_t j = A_crd2[A_p2];
                        uint8_t w_set = 0;
                        float w = 0.0f;
                        if (A_pos3[A_p2] < A_pos3[A_p2 + 1]) {
                            w_set = 1;
                        }
                        for (int64_t A_p3 = A_pos3[A_p2]; A_p3 < A_pos3[A_p2 + 1]; A_p3++) {
                            const int64_t k = A_crd3[A_p3];
                            w += A_vals[A_p3] * x_vals[k];
                        }
                        if (w_set) {
                            out_room_vals2[out_p2] = w;
                            out_room_crd2[out_p2] = (int32_t)j;
                            out_p2++;
                        }
                    }
                    out_pos2[i + 1] = (int32_t)(out_p2 - begin);
                }
                out_filled2[block + 1] = out_p2 - out_starts2[block];
            }
        }
    }
    int64_t total = 0;
    for (int64_t p = 0; p < n_i; p++) {
        total += out_pos2[p + 1];
        out_pos2[p + 1] = (int32_t)total;
    }
    if (total > 2147483647) {
        return 2;
    }
    out_count2 = total;
    prefix_sum_i64(out_filled2, 65);
    slots[12] = out_count2;
    return 0;
}

static __attribute__((noinline)) void kernel_compute_part(int64_t *slots, const int64_t block)
{
    int32_t *restrict out_crd2 = (int32_t *)slots[14];
    float *restrict out_vals = (float *)slots[15];
    const int64_t *restrict out_starts2 = (const int64_t *)slots[16];
    const int64_t *restrict out_filled2 = (const int64_t *)slots[18];
    const int32_t *restrict out_room_crd2 = (const int32_t *)slots[19];
    const float *restrict out_room_vals2 = (const float *)slots[20];
    const int64_t from = out_starts2[block];
    const int64_t to = out_filled2[block];
    const int64_t count = out_filled2[block + 1] - to;
    for (int64_t q = 0; q < count; q++) {
        out_crd2[to + q] = out_room_crd2[from + q];
    }
    for (int64_t q_2 = 0; q_2 < count; q_2++) {
        out_vals[to + q_2] = out_room_vals2[from + q_2];
    }
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t *restrict out_filled2 = (const int64_t *)slots[18];
    const int64_t team = out_filled2[64] > 12000 ? threads : 1;
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

static __attribute__((noinline)) void kernel_revalue_part(int64_t *slots, const int64_t part)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A_pos1 = (const int32_t *)slots[4];
    const int32_t *restrict A_crd1 = (const int32_t *)slots[5];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[6];
    const int32_t *restrict A_pos3 = (const int32_t *)slots[8];
    const int32_t *restrict A_crd3 = (const int32_t *)slots[9];
    const float *restrict A_vals = (const float *)slots[10];
    const float *restrict x_vals = (const float *)slots[11];
    const int32_t *restrict out_pos2 = (const int32_t *)slots[13];
    float *restrict out_vals = (float *)slots[15];
    const int64_t parts = max_i64((int64_t)A_pos3[A_pos2[A_pos1[1]]], (int64_t)out_pos2[n_i]) > 12000 && threads > 1 ? max_i64(threads, min_i64(threads * 16, max_i64((int64_t)A_pos3[A_pos2[A_pos1[1]]], (int64_t)out_pos2[n_i]) / 3000)) : 1;
    const int64_t A_p1_share = ((int64_t)A_pos1[1] + A_pos3[A_pos2[A_pos1[1]]] + (parts - 1)) / parts;
    int64_t A_p1_begin = A_pos1[0];
    int64_t A_p1_begin_above = A_pos1[1];
    while (A_p1_begin < A_p1_begin_above) {
        const int64_t A_p1_begin_middle = A_p1_begin + (A_p1_begin_above - A_p1_begin) / 2;
        if (A_p1_begin_middle + A_pos3[A_pos2[A_p1_begin_middle]] < part * A_p1_share) {
            A_p1_begin = A_p1_begin_middle + 1;
        } else {
            A_p1_begin_above = A_p1_begin_middle;
        }
    }
    int64_t A_p1_end = A_p1_begin;
    int64_t A_p1_end_above = A_pos1[1];
    while (A_p1_end < A_p1_end_above) {
        const int64_t A_p1_end_middle = A_p1_end + (A_p1_end_above - A_p1_end) / 2;
        if (A_p1_end_middle + A_pos3[A_pos2[A_p1_end_middle]] < (part + 1) * A_p1_share) {
            A_p1_end = A_p1_end_middle + 1;
        } else {
            A_p1_end_above = A_p1_end_middle;
        }
    }
    for (int64_t A_p1 = A_p1_begin; A_p1 < A_p1_end; A_p1++) {
        const int64_t i = A_crd1[A_p1];
        int64_t out_p2 = out_pos2[i];
        for (int64_t A_p2 = A_pos2[A_p1]; A_p2 < A_pos2[A_p1 + 1]; A_p2++) {
            uint8_t w_set = 0;
            float w = 0.0f;
            if (A_pos3[A_p2] < A_pos3[A_p2 + 1]) {
                w_set = 1;
            }
            for (int64_t A_p3 = A_pos3[A_p2]; A_p3 < A_pos3[A_p2 + 1]; A_p3++) {
                const int64_t k = A_crd3[A_p3];
                w += A_vals[A_p3] * x_vals[k];
            }
            if (w_set) {
                out_vals[out_p2] = w;
                out_p2++;
            }
        }
    }
}

int32_t kernel_revalue(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A_pos1 = (const int32_t *)slots[4];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[6];
    const int32_t *restrict A_pos3 = (const int32_t *)slots[8];
    const int32_t *restrict out_pos2 = (const int32_t *)slots[13];
    const int64_t parts = max_i64((int64_t)A_pos3[A_pos2[A_pos1[1]]], (int64_t)out_pos2[n_i]) > 12000 && threads > 1 ? max_i64(threads, min_i64(threads * 16, max_i64((int64_t)A_pos3[A_pos2[A_pos1[1]]], (int64_t)out_pos2[n_i]) / 3000)) : 1;
    const int64_t team = parts > 1 ? threads : 1;
    if (team > 1) {
        int64_t begun[16 * team];
        for (int64_t n = 0; n < 16 * team; n++) {
            begun[n] = 0;
        }
        #pragma omp parallel num_threads(team)
        {
            int64_t part_turn = 0;
            for (int64_t part; (part = next_part(begun, 0, &part_turn, parts)) < parts;) {
                kernel_revalue_part(slots, part);
            }
        }
    } else {
        for (int64_t part = 0; part < parts; part++) {
            kernel_revalue_part(slots, part);
        }
    }
    return 0;
}
