/* out(i,k) = A(i,j) * B(j,k)
 * A: "ds" of f32
 * B: "ds" of f32
 * out: "ds" of f32
 * reorder(i, j, k)
 * precompute(all, w, at=1, bitmap)
 * parallelize(i, threads)
 * assemble(bounded)
 * workspace w: a dense row over k with a bit for each entry, which puts them in order, since the sum over [j] scatters into it and entries are close
 * threads take blocks of i with equal numbers of entries of A, where there are enough of them
 * rows of out are written in one pass, to room for as many entries as they may have, and moved together
 */
int omp_get_num_threads(void);
int omp_get_thread_num(void);
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __SIZE_TYPE__ size_t;
typedef __UINT64_TYPE__ uint64_t;
void *aligned_alloc(__SIZE_TYPE__, __SIZE_TYPE__);
void *calloc(__SIZE_TYPE__, __SIZE_TYPE__);
void *malloc(__SIZE_TYPE__);
void *memset(void *, int, __SIZE_TYPE__);
void free(void *);

static void *allocate(int64_t count, size_t size)
{
    const size_t bytes = (size_t)count * size + 1;
    return bytes < 4096 ? malloc(bytes) : aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void *allocate_zero(int64_t count, size_t size)
{
    return calloc((size_t)count + 1, size);
}

/* Writes the places in a bitmap, all of them from lo to before hi, to a in order, with room for 8 more behind them, clears it, and returns their number. */
static int64_t list_places_i32(int32_t *a, int64_t *bits, int64_t lo, int64_t hi)
{
    int32_t *const begin = a;
    for (int64_t v = lo >> 6; v * 64 < hi; v++) {
        uint64_t found = (uint64_t)bits[v];
        if (!found) {
            continue;
        }
        int32_t *const end = a + __builtin_popcountll(found);
        bits[v] = 0;
        do {
            for (int64_t k = 0; k < 4; k++) {
                a[k] = (int32_t)(v * 64 + __builtin_ctzll(found | (uint64_t)1 << 63));
                found &= found - 1;
            }
            a += 4;
        } while (a < end);
        a = end;
    }
    return a - begin;
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
    const int64_t n_k = slots[2];
    const int64_t n_j = slots[3];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[4];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[5];
    const int32_t *restrict B_pos2 = (const int32_t *)slots[7];
    int64_t *restrict out_starts2 = (int64_t *)slots[14];
    int64_t out_bound2 = slots[15];
    memset(out_starts2, 0, (size_t)65 * sizeof *out_starts2);
    const int64_t blocks = A_pos2[n_i] * max_i64(1, B_pos2[n_j] / max_i64(1, n_j)) > 4096 && threads > 1 ? 64 : 1;
    const int64_t team = blocks > 1 && A_pos2[n_i] * max_i64(1, B_pos2[n_j] / max_i64(1, n_j)) > 32768 ? threads : 1;
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
                for (int64_t i = i_begin; i < i_end; i++) {
                    int64_t w_terms = 0;
                    for (int64_t A_p2 = A_pos2[i]; A_p2 < A_pos2[i + 1]; A_p2++) {
                        const int64_t j = A_crd2[A_p2];
                        w_terms += (int64_t)B_pos2[j + 1] - B_pos2[j];
                    }
                    w_terms = min_i64(w_terms, n_k);
                    out_p2 += w_terms;
                }
                out_starts2[block + 1] = out_p2;
            }
        }
    }
    prefix_sum_i64(out_starts2, 65);
    const int64_t total = out_starts2[64];
    out_bound2 = total;
    slots[15] = out_bound2;
    return 0;
}

int32_t kernel_assemble(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int64_t n_k = slots[2];
    const int64_t n_j = slots[3];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[4];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[5];
    const float *restrict A_vals = (const float *)slots[6];
    const int32_t *restrict B_pos2 = (const int32_t *)slots[7];
    const int32_t *restrict B_crd2 = (const int32_t *)slots[8];
    const float *restrict B_vals = (const float *)slots[9];
    int64_t out_count2 = slots[10];
    int32_t *restrict out_pos2 = (int32_t *)slots[11];
    const int64_t *restrict out_starts2 = (const int64_t *)slots[14];
    int64_t *restrict out_filled2 = (int64_t *)slots[16];
    int32_t *restrict out_room_crd2 = (int32_t *)slots[17];
    float *restrict out_room_vals2 = (float *)slots[18];
    memset(out_pos2, 0, (size_t)(n_i + 1) * sizeof *out_pos2);
    memset(out_filled2, 0, (size_t)65 * sizeof *out_filled2);
    const int64_t blocks = A_pos2[n_i] * max_i64(1, B_pos2[n_j] / max_i64(1, n_j)) > 4096 && threads > 1 ? 64 : 1;
    int failed = 0;
    const int64_t team = blocks > 1 && out_starts2[64] > 16384 ? threads : 1;
    {
        int64_t begun[16 * team];
        for (int64_t n = 0; n < 16 * team; n++) {
            begun[n] = 0;
        }
        #pragma omp parallel num_threads(team) reduction(| : failed)
        {
            int64_t w_count = 0;
            int32_t *restrict w_crd = allocate(n_k + 8, sizeof *w_crd);
            failed |= !w_crd;
            int64_t *restrict w_bits = allocate_zero((n_k + 255) / 256 * 4, sizeof *w_bits);
            failed |= !w_bits;
            float *restrict w_vals = allocate_zero(n_k, sizeof *w_vals);
            failed |= !w_vals;
            int64_t block_turn = 0;
            for (int64_t block; (block = next_part(begun, 0, &block_turn, blocks)) < blocks;) {
                if (failed) {
                    continue;
                }
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
                    int64_t w_least = n_k;
                    int64_t w_end = 0;
                    for (int64_t A_p2 = A_pos2[i]; A_p2 < A_pos2[i + 1]; A_p2++) {
                        const int64_t j = A_crd2[A_p2];
                        if (B_pos2[j] < B_pos2[j + 1]) {
                            w_least = min_i64(w_least, (int64_t)B_crd2[B_pos2[j]]);
                            w_end = max_i64(w_end, (int64_t)B_crd2[(int64_t)B_pos2[j + 1] - 1] + 1);
                        }
                        for (int64_t B_p2 = B_pos2[j]; B_p2 < B_pos2[j + 1]; B_p2++) {
                            const int64_t k = B_crd2[B_p2];
                            w_bits[k >> 6] |= (int64_t)((uint64_t)1 << (k & 63));
                            w_vals[k] += A_vals[A_p2] * B_vals[B_p2];
                        }
                    }
                    w_count = list_places_i32(w_crd, w_bits, w_least, w_end);
                    for (int64_t w_p1 = 0; w_p1 < w_count; w_p1++) {
                        const int64_t k_2 = w_crd[w_p1];
                        out_room_vals2[out_p2] = w_vals[k_2];
                        out_room_crd2[out_p2] = (int32_t)k_2;
                        out_p2++;
                        w_vals[k_2] = 0.0f;
                    }
                    out_pos2[i + 1] = (int32_t)(out_p2 - begin);
                }
                out_filled2[block + 1] = out_p2 - out_starts2[block];
            }
            free(w_crd);
            free(w_bits);
            free(w_vals);
        }
    }
    if (failed) {
        return 1;
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
    slots[10] = out_count2;
    return 0;
}

static __attribute__((noinline)) void kernel_compute_part(int64_t *slots, const int64_t block)
{
    int32_t *restrict out_crd2 = (int32_t *)slots[12];
    float *restrict out_vals = (float *)slots[13];
    const int64_t *restrict out_starts2 = (const int64_t *)slots[14];
    const int64_t *restrict out_filled2 = (const int64_t *)slots[16];
    const int32_t *restrict out_room_crd2 = (const int32_t *)slots[17];
    const float *restrict out_room_vals2 = (const float *)slots[18];
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
    const int64_t *restrict out_filled2 = (const int64_t *)slots[16];
    const int64_t team = out_filled2[64] > 32768 ? threads : 1;
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
    const int64_t n_k = slots[2];
    const int64_t n_j = slots[3];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[4];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[5];
    const float *restrict A_vals = (const float *)slots[6];
    const int32_t *restrict B_pos2 = (const int32_t *)slots[7];
    const int32_t *restrict B_crd2 = (const int32_t *)slots[8];
    const float *restrict B_vals = (const float *)slots[9];
    const int32_t *restrict out_pos2 = (const int32_t *)slots[11];
    const int32_t *restrict out_crd2 = (const int32_t *)slots[12];
    float *restrict out_vals = (float *)slots[13];
    const int64_t parts = max_i64(A_pos2[n_i] * max_i64(1, B_pos2[n_j] / max_i64(1, n_j)), (int64_t)out_pos2[n_i]) > 32768 && threads > 1 ? max_i64(threads, min_i64(threads * 16, max_i64(A_pos2[n_i] * max_i64(1, B_pos2[n_j] / max_i64(1, n_j)), (int64_t)out_pos2[n_i]) / 8192)) : 1;
    int failed = 0;
    const int64_t team = parts > 1 ? threads : 1;
    {
        int64_t begun[16 * team];
        for (int64_t n = 0; n < 16 * team; n++) {
            begun[n] = 0;
        }
        #pragma omp parallel num_threads(team) reduction(| : failed)
        {
            float *restrict w_vals = allocate_zero(n_k, sizeof *w_vals);
            failed |= !w_vals;
            int64_t part_turn = 0;
            for (int64_t part; (part = next_part(begun, 0, &part_turn, parts)) < parts;) {
                if (failed) {
                    continue;
                }
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
                        for (int64_t B_p2 = B_pos2[j]; B_p2 < B_pos2[j + 1]; B_p2++) {
                            const int64_t k = B_crd2[B_p2];
                            w_vals[k] += A_vals[A_p2] * B_vals[B_p2];
                        }
                    }
                    for (int64_t w_p1 = out_pos2[i]; w_p1 < out_pos2[i + 1]; w_p1++) {
                        const int64_t k_2 = out_crd2[w_p1];
                        out_vals[out_p2] = w_vals[k_2];
                        out_p2++;
                        w_vals[k_2] = 0.0f;
                    }
                }
            }
            free(w_vals);
        }
    }
    if (failed) {
        return 1;
    }
    return 0;
}
