/* out(i,k) = A(i,j) * B(j,k)
 * A: "ds" of f32
 * B: "ds" of f32
 * out: "ds" of f32
 * reorder(i, j, k)
 * precompute(all, w, at=1, adaptive)
 * parallelize(i, threads)
 * assemble(bounded)
 * workspace w: a dense row over k with a list, a bitmap or a bytemap of its entries, as each row has few or many terms, near each other or not, since the sum over [j] scatters into it
 * threads take blocks of i with equal numbers of entries of A, where there are enough of them
 * rows of out are written in one pass, to room for as many entries as they may have, and moved together
 */
int omp_get_num_threads(void);
int omp_get_thread_num(void);
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __SIZE_TYPE__ size_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __UINT8_TYPE__ uint8_t;
void *aligned_alloc(__SIZE_TYPE__, __SIZE_TYPE__);
void *calloc(__SIZE_TYPE__, __SIZE_TYPE__);
void *malloc(__SIZE_TYPE__);
void *memset(void *, int, __SIZE_TYPE__);
void free(void *);

typedef int32_t i32x8 __attribute__((vector_size(32), aligned(4), may_alias));

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

/* The same of a bitmap whose words are marked. */
static int64_t list_places_where_marked_i32(int32_t *a, int64_t *bits, uint8_t *words, int64_t lo, int64_t hi)
{
    int32_t *const begin = a;
    if (hi - lo < 1024) {
        for (int64_t v = lo >> 6; v * 64 < hi; v++) {
            words[v] = 0;
        }
        return list_places_i32(a, bits, lo, hi);
    }
    for (int64_t w = lo >> 12 << 6; w * 64 < hi; w += 64) {
        uint64_t *const marks = (uint64_t *)(words + w);
        uint64_t marked = 0;
        for (int64_t k = 0; k < 8; k++) {
            marked |= marks[k] * 0x0102040810204080 >> 56 << 8 * k;
            marks[k] = 0;
        }
        for (; marked; marked &= marked - 1) {
            const int64_t v = w + __builtin_ctzll(marked);
            uint64_t found = (uint64_t)bits[v];
            int32_t *const end = a + __builtin_popcountll(found);
            bits[v] = 0;
            do {
                for (int64_t k = 0; k < 2; k++) {
                    a[k] = (int32_t)(v * 64 + __builtin_ctzll(found | (uint64_t)1 << 63));
                    found &= found - 1;
                }
                a += 2;
            } while (a < end);
            a = end;
        }
    }
    return a - begin;
}

/* Writes the places whose bytes are 1, all of them from lo to before hi, to a in order, with room for 8 more behind them, clears them, and returns their number. */
static int64_t list_set_places_i32(int32_t *a, uint8_t *set, int64_t lo, int64_t hi)
{
    int32_t *const begin = a;
    for (int64_t v = lo >> 6; v * 64 < hi; v++) {
        uint64_t bytes, found = 0;
        for (int64_t k = 0; k < 8; k++) {
            __builtin_memcpy(&bytes, &set[v * 64 + k * 8], 8);
            found |= bytes * 0x0102040810204080 >> 56 << 8 * k;
        }
        if (!found) {
            continue;
        }
        int32_t *const end = a + __builtin_popcountll(found);
        __builtin_memset(&set[v * 64], 0, 64);
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

/* Sorts a[0:n]: different places below extent, with room for 8 more behind them. The bitmap is zero before and after. */
static void sort_places_i32x8(int32_t *a, int64_t n, int64_t *bits, uint8_t *words, int64_t extent)
{
    if (n > 64 && n * 4096 > extent) {
        for (int64_t i = 0; i < n; i++) {
            bits[a[i] >> 6] |= (int64_t)((uint64_t)1 << (a[i] & 63));
            words[a[i] >> 6] = 1;
        }
        list_places_where_marked_i32(a, bits, words, 0, extent);
        return;
    }
    if (n > 64) {
        int32_t least = a[0], most = a[0];
        int64_t below = 0;
        for (int64_t i = 1; i < n; i++) {
            least = a[i] < least ? a[i] : least;
            most = a[i] > most ? a[i] : most;
        }
        const int32_t middle = least + (most - least) / 2;
        for (int64_t i = 0; i < n; i++) {
            const int32_t x = a[i];
            a[i] = a[below];
            a[below] = x;
            below += x <= middle;
        }
        sort_places_i32x8(a, below, bits, words, extent);
        sort_places_i32x8(a + below, n - below, bits, words, extent);
        return;
    }
    if (n <= 8) {
        for (int64_t i = 1; i < n; i++) {
            const int32_t x = a[i];
            int64_t j = i;
            for (; j > 0 && a[j - 1] > x; j--) {
                a[j] = a[j - 1];
            }
            a[j] = x;
        }
        return;
    }
    int32_t places[64 + 2 * 8], ranks[2 * 8];
    for (int64_t i = 0; i < n; i += 8) {
        *(i32x8 *)&places[i] = *(const i32x8 *)&a[i];
    }
    for (int64_t i = 0; i < n; i += 2 * 8) {
        const i32x8 x = *(const i32x8 *)&places[i], y = *(const i32x8 *)&places[i + 8];
        i32x8 before_x = {0}, before_y = {0};
        for (int64_t j = 0; j < n; j++) {
            before_x -= places[j] - (i32x8){0} < x;
            before_y -= places[j] - (i32x8){0} < y;
        }
        *(i32x8 *)&ranks[0] = before_x;
        *(i32x8 *)&ranks[8] = before_y;
        for (int64_t k = 0; k < 2 * 8 && i + k < n; k++) {
            a[ranks[k]] = places[i + k];
        }
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
            uint8_t *restrict w_mark = allocate_zero(n_k, sizeof *w_mark);
            failed |= !w_mark;
            int64_t *restrict w_bits = allocate_zero((n_k + 255) / 256 * 4, sizeof *w_bits);
            failed |= !w_bits;
            uint8_t *restrict w_words = allocate_zero((n_k + 4095) / 4096 * 64, sizeof *w_words);
            failed |= !w_words;
            float *restrict w_vals = allocate_zero(n_k, sizeof *w_vals);
            failed |= !w_vals;
            uint8_t *restrict w_set = allocate_zero((n_k + 63) / 64 * 64, sizeof *w_set);
            failed |= !w_set;
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
                    if ((int64_t)A_pos2[i + 1] - A_pos2[i] <= 1) {
                        for (int64_t A_p2_6 = A_pos2[i]; A_p2_6 < A_pos2[i + 1]; A_p2_6++) {
                            const int64_t j_6 = A_crd2[A_p2_6];
                            for (int64_t B_p2_5 = B_pos2[j_6]; B_p2_5 < B_pos2[j_6 + 1]; B_p2_5++) {
                                const int64_t k_6 = B_crd2[B_p2_5];
                                const float w_sum = 0.0f + A_vals[A_p2_6] * B_vals[B_p2_5];
                                out_room_vals2[out_p2] = w_sum;
                                out_room_crd2[out_p2] = (int32_t)k_6;
                                out_p2++;
                            }
                        }
                    } else {
                        int64_t w_least = n_k;
                        int64_t w_end = 0;
                        int64_t w_terms = 0;
                        for (int64_t A_p2 = A_pos2[i]; A_p2 < A_pos2[i + 1]; A_p2++) {
                            const int64_t j = A_crd2[A_p2];
                            if (B_pos2[j] < B_pos2[j + 1]) {
                                w_least = min_i64(w_least, (int64_t)B_crd2[B_pos2[j]]);
                                w_end = max_i64(w_end, (int64_t)B_crd2[(int64_t)B_pos2[j + 1] - 1] + 1);
                            }
                            w_terms += (int64_t)B_pos2[j + 1] - B_pos2[j];
                        }
                        if (w_end - w_least <= w_terms * (w_terms <= 48 ? 64 : 32)) {
                            if (w_end - w_least <= w_terms * 4 && w_terms >= 512) {
                                for (int64_t A_p2_2 = A_pos2[i]; A_p2_2 < A_pos2[i + 1]; A_p2_2++) {
                                    const int64_t j_2 = A_crd2[A_p2_2];
                                    for (int64_t B_p2 = B_pos2[j_2]; B_p2 < B_pos2[j_2 + 1]; B_p2++) {
                                        const int64_t k = B_crd2[B_p2];
                                        w_set[k] = 1;
                                        w_vals[k] += A_vals[A_p2_2] * B_vals[B_p2];
                                    }
                                }
                                w_count = list_set_places_i32(w_crd, w_set, w_least, w_end);
                            } else {
                                for (int64_t A_p2_3 = A_pos2[i]; A_p2_3 < A_pos2[i + 1]; A_p2_3++) {
                                    const int64_t j_3 = A_crd2[A_p2_3];
                                    for (int64_t B_p2_2 = B_pos2[j_3]; B_p2_2 < B_pos2[j_3 + 1]; B_p2_2++) {
                                        const int64_t k_2 = B_crd2[B_p2_2];
                                        w_bits[k_2 >> 6] |= (int64_t)((uint64_t)1 << (k_2 & 63));
                                        w_vals[k_2] += A_vals[A_p2_3] * B_vals[B_p2_2];
                                    }
                                }
                                w_count = list_places_i32(w_crd, w_bits, w_least, w_end);
                            }
                        } else {
                            if (w_terms <= 48) {
                                w_count = 0;
                                for (int64_t A_p2_4 = A_pos2[i]; A_p2_4 < A_pos2[i + 1]; A_p2_4++) {
                                    const int64_t j_4 = A_crd2[A_p2_4];
                                    for (int64_t B_p2_3 = B_pos2[j_4]; B_p2_3 < B_pos2[j_4 + 1]; B_p2_3++) {
                                        const int64_t k_3 = B_crd2[B_p2_3];
                                        w_crd[w_count] = (int32_t)k_3;
                                        w_count += w_mark[k_3] == 0;
                                        w_mark[k_3] = 1;
                                        w_vals[k_3] += A_vals[A_p2_4] * B_vals[B_p2_3];
                                    }
                                }
                                sort_places_i32x8(w_crd, w_count, w_bits, w_words, n_k);
                                for (int64_t q = 0; q < w_count; q++) {
                                    w_mark[w_crd[q]] = 0;
                                }
                            } else {
                                for (int64_t A_p2_5 = A_pos2[i]; A_p2_5 < A_pos2[i + 1]; A_p2_5++) {
                                    const int64_t j_5 = A_crd2[A_p2_5];
                                    for (int64_t B_p2_4 = B_pos2[j_5]; B_p2_4 < B_pos2[j_5 + 1]; B_p2_4++) {
                                        const int64_t k_4 = B_crd2[B_p2_4];
                                        w_bits[k_4 >> 6] |= (int64_t)((uint64_t)1 << (k_4 & 63));
                                        w_words[k_4 >> 6] = 1;
                                        w_vals[k_4] += A_vals[A_p2_5] * B_vals[B_p2_4];
                                    }
                                }
                                w_count = list_places_where_marked_i32(w_crd, w_bits, w_words, w_least, w_end);
                            }
                        }
                        for (int64_t w_p1 = 0; w_p1 < w_count; w_p1++) {
                            const int64_t k_5 = w_crd[w_p1];
                            out_room_vals2[out_p2] = w_vals[k_5];
                            out_room_crd2[out_p2] = (int32_t)k_5;
                            out_p2++;
                            w_vals[k_5] = 0.0f;
                        }
                    }
                    out_pos2[i + 1] = (int32_t)(out_p2 - begin);
                }
                out_filled2[block + 1] = out_p2 - out_starts2[block];
            }
            free(w_crd);
            free(w_mark);
            free(w_bits);
            free(w_words);
            free(w_vals);
            free(w_set);
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
