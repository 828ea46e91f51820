/* out(i,j) = A(i,j) * B(i,j)
 * A: "ds" of f32
 * B: "dh" of f32
 * out: "ds" of f32
 * reorder(i, j)
 * parallelize(i, threads)
 * assemble(bounded)
 * threads take blocks of i with equal numbers of entries of A, where there are enough of them
 * rows of out are written in one pass, to room for as many entries as they may have, and moved together
 */
int omp_get_num_threads(void);
int omp_get_thread_num(void);
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __SIZE_TYPE__ size_t;
typedef __UINT64_TYPE__ uint64_t;
void *memset(void *, int, __SIZE_TYPE__);

/* The place of a key in a table of size places, a power of two. */
static inline int64_t hash(int64_t key, int64_t size)
{
    return (int64_t)((unsigned __int128)((uint64_t)key * 0x9e3779b97f4a7c15u) * (uint64_t)size >> 64);
}

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
    int64_t *restrict out_starts2 = (int64_t *)slots[13];
    int64_t out_bound2 = slots[14];
    memset(out_starts2, 0, (size_t)65 * sizeof *out_starts2);
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
                int64_t out_p2 = 0;
                const int64_t i_share = (n_i + A_pos2[n_i] + (blocks - 1)) / blocks;
                int64_t i_begin = 0;
                int64_t i_begin_above = n_i;
                while (i_begin < i_begin_above) {
                    const int64_t i_begin_middle = i_begin + (i_begin_above - i_begin) / 2;
                    if (i_begin_middle + A_pos2[i_begin_middle] < block * i_share) {
                        i_begin = i_begin_middle + 1;
                    } else {
                        i_begin_above = i_begin_middle;
                    }
                }
                int64_t i_end = i_begin;
                int64_t i_end_above = n_i;
                while (i_end < i_end_above) {
                    const int64_t i_end_middle = i_end + (i_end_above - i_end) / 2;
                    if (i_end_middle + A_pos2[i_end_middle] < (block + 1) * i_share) {
                        i_end = i_end_middle + 1;
                    } else {
                        i_end_above = i_end_middle;
                    }
                }
                if (i_begin < i_end) {
                    out_p2 += (int64_t)A_pos2[i_end] - A_pos2[i_begin];
                }
                out_starts2[block + 1] = out_p2;
            }
        }
    }
    prefix_sum_i64(out_starts2, 65);
    const int64_t total = out_starts2[64];
    out_bound2 = total;
    slots[14] = out_bound2;
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
    int64_t out_count2 = slots[9];
    int32_t *restrict out_pos2 = (int32_t *)slots[10];
    const int64_t *restrict out_starts2 = (const int64_t *)slots[13];
    int64_t *restrict out_filled2 = (int64_t *)slots[15];
    int32_t *restrict out_room_crd2 = (int32_t *)slots[16];
    float *restrict out_room_vals2 = (float *)slots[17];
    memset(out_pos2, 0, (size_t)(n_i + 1) * sizeof *out_pos2);
    memset(out_filled2, 0, (size_t)65 * sizeof *out_filled2);
    const int64_t blocks = (int64_t)A_pos2[n_i] + B_pos2[n_i] > 1500 && threads > 1 ? 64 : 1;
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
                const int64_t i_share = (n_i + A_pos2[n_i] + (blocks - 1)) / blocks;
                int64_t i_begin = 0;
                int64_t i_begin_above = n_i;
                while (i_begin < i_begin_above) {
                    const int64_t i_begin_middle = i_begin + (i_begin_above - i_begin) / 2;
                    if (i_begin_middle + A_pos2[i_begin_middle] < block * i_share) {
                        i_begin = i_begin_middle + 1;
                    } else {
                        i_begin_above = i_begin_middle;
                    }
                }
                int64_t i_end = i_begin;
                int64_t i_end_above = n_i;
                while (i_end < i_end_above) {
                    const int64_t i_end_middle = i_end + (i_end_above - i_end) / 2;
                    if (i_end_middle + A_pos2[i_end_middle] < (block + 1) * i_share) {
                        i_end = i_end_middle + 1;
                    } else {
                        i_end_above = i_end_middle;
                    }
                }
                for (int64_t i = i_begin; i < i_end; i++) {
                    const int64_t begin = out_p2;
                    for (int64_t A_p2 = A_pos2[i]; A_p2 < A_pos2[i + 1]; A_p2++) {
                        const int64_t j = A_crd2[A_p2];
                        const int64_t B_p2_begin = B_pos2[i];
                        const int64_t B_p2_end = B_pos2[i + 1];
                        int64_t B_p2 = B_p2_begin + hash(j, B_p2_end - B_p2_begin);
                        while (B_p2_begin < B_p2_end && B_crd2[B_p2] >= 0 && B_crd2[B_p2] != j) {
                            B_p2 = B_p2 + 1 == B_p2_end ? B_p2_begin : B_p2 + 1;
                        }
                        const int64_t B_p2_run = B_p2 + (B_p2_begin < B_p2_end && B_crd2[B_p2] == j);
                        if (B_p2_run > B_p2) {
                            out_room_vals2[out_p2] = A_vals[A_p2] * B_vals[B_p2];
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
    slots[9] = out_count2;
    return 0;
}

static __attribute__((noinline)) void kernel_compute_part(int64_t *slots, const int64_t block)
{
    int32_t *restrict out_crd2 = (int32_t *)slots[11];
    float *restrict out_vals = (float *)slots[12];
    const int64_t *restrict out_starts2 = (const int64_t *)slots[13];
    const int64_t *restrict out_filled2 = (const int64_t *)slots[15];
    const int32_t *restrict out_room_crd2 = (const int32_t *)slots[16];
    const float *restrict out_room_vals2 = (const float *)slots[17];
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
    const int64_t *restrict out_filled2 = (const int64_t *)slots[15];
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
    const int32_t *restrict A_pos2 = (const int32_t *)slots[3];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[4];
    const float *restrict A_vals = (const float *)slots[5];
    const int32_t *restrict B_pos2 = (const int32_t *)slots[6];
    const int32_t *restrict B_crd2 = (const int32_t *)slots[7];
    const float *restrict B_vals = (const float *)slots[8];
    const int32_t *restrict out_pos2 = (const int32_t *)slots[10];
    float *restrict out_vals = (float *)slots[12];
    const int64_t parts = max_i64((int64_t)A_pos2[n_i] + B_pos2[n_i], (int64_t)out_pos2[n_i]) > 12000 && threads > 1 ? max_i64(threads, min_i64(threads * 16, max_i64((int64_t)A_pos2[n_i] + B_pos2[n_i], (int64_t)out_pos2[n_i]) / 3000)) : 1;
    const int64_t i_share = (n_i + A_pos2[n_i] + (parts - 1)) / parts;
    int64_t i_begin = 0;
    int64_t i_begin_above = n_i;
    while (i_begin < i_begin_above) {
        const int64_t i_begin_middle = i_begin + (i_begin_above - i_begin) / 2;
        if (i_begin_middle + A_pos2[i_begin_middle] < part * i_share) {
            i_begin = i_begin_middle + 1;
        } else {
            i_begin_above = i_begin_middle;
        }
    }
    int64_t i_end = i_begin;
    int64_t i_end_above = n_i;
    while (i_end < i_end_above) {
        const int64_t i_end_middle = i_end + (i_end_above - i_end) / 2;
        if (i_end_middle + A_pos2[i_end_middle] < (part + 1) * i_share) {
            i_end = i_end_middle + 1;
        } else {
            i_end_above = i_end_middle;
        }
    }
    for (int64_t i = i_begin; i < i_end; i++) {
        int64_t out_p2 = out_pos2[i];
        for (int64_t A_p2 = A_pos2[i]; A_p2 < A_pos2[i + 1]; A_p2++) {
            const int64_t j = A_crd2[A_p2];
            const int64_t B_p2_begin = B_pos2[i];
            const int64_t B_p2_end = B_pos2[i + 1];
            int64_t B_p2 = B_p2_begin + hash(j, B_p2_end - B_p2_begin);
            while (B_p2_begin < B_p2_end && B_crd2[B_p2] >= 0 && B_crd2[B_p2] != j) {
                B_p2 = B_p2 + 1 == B_p2_end ? B_p2_begin : B_p2 + 1;
            }
            const int64_t B_p2_run = B_p2 + (B_p2_begin < B_p2_end && B_crd2[B_p2] == j);
            if (B_p2_run > B_p2) {
                out_vals[out_p2] = A_vals[A_p2] * B_vals[B_p2];
                out_p2++;
            }
        }
    }
}

int32_t kernel_revalue(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[3];
    const int32_t *restrict B_pos2 = (const int32_t *)slots[6];
    const int32_t *restrict out_pos2 = (const int32_t *)slots[10];
    const int64_t parts = max_i64((int64_t)A_pos2[n_i] + B_pos2[n_i], (int64_t)out_pos2[n_i]) > 12000 && threads > 1 ? max_i64(threads, min_i64(threads * 16, max_i64((int64_t)A_pos2[n_i] + B_pos2[n_i], (int64_t)out_pos2[n_i]) / 3000)) : 1;
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
