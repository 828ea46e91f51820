/* out(i,k,l) = A(i,j) * T(j,k,l)
 * A: "ds" of f32
 * T: "dss" of f32
 * out: "dss" of f32
 * reorder(i, j, k, l)
 * precompute(all, w, at=1, row)
 * parallelize(i, threads)
 * workspace w: a place for each element over [k l], few enough to stay in a near cache, with a list of those in use
 * threads take blocks of i with equal numbers of entries of A, where there are enough of them
 */
#define INT64_C(x) x##L
#define NULL ((void *)0)
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

typedef int64_t i64x4 __attribute__((vector_size(32), aligned(8), may_alias));

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
static int64_t list_places_i64(int64_t *a, int64_t *bits, int64_t lo, int64_t hi)
{
    int64_t *const begin = a;
    for (int64_t v = lo >> 6; v * 64 < hi; v++) {
        uint64_t found = (uint64_t)bits[v];
        if (!found) {
            continue;
        }
        int64_t *const end = a + __builtin_popcountll(found);
        bits[v] = 0;
        do {
            for (int64_t k = 0; k < 4; k++) {
                a[k] = (int64_t)(v * 64 + __builtin_ctzll(found | (uint64_t)1 << 63));
                found &= found - 1;
            }
            a += 4;
        } while (a < end);
        a = end;
    }
    return a - begin;
}

/* The same of a bitmap whose words are marked. */
static int64_t list_places_where_marked_i64(int64_t *a, int64_t *bits, uint8_t *words, int64_t lo, int64_t hi)
{
    int64_t *const begin = a;
    if (hi - lo < 1024) {
        for (int64_t v = lo >> 6; v * 64 < hi; v++) {
            words[v] = 0;
        }
        return list_places_i64(a, bits, lo, hi);
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
            int64_t *const end = a + __builtin_popcountll(found);
            bits[v] = 0;
            do {
                for (int64_t k = 0; k < 2; k++) {
                    a[k] = (int64_t)(v * 64 + __builtin_ctzll(found | (uint64_t)1 << 63));
                    found &= found - 1;
                }
                a += 2;
            } while (a < end);
            a = end;
        }
    }
    return a - begin;
}

static inline int64_t max_i64(int64_t x, int64_t y)
{
    return x > y ? x : y;
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

static void prefix_sum_i32(int32_t *restrict a, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        a[i] += a[i - 1];
    }
}

static void prefix_sum_i64(int64_t *restrict a, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        a[i] += a[i - 1];
    }
}

/* Sorts a[0:n]: different places below extent, with room for 8 more behind them. The bitmap is zero before and after. */
static void sort_places_i64x4(int64_t *a, int64_t n, int64_t *bits, uint8_t *words, int64_t extent)
{
    if (n > 64 && n * 4096 > extent) {
        for (int64_t i = 0; i < n; i++) {
            bits[a[i] >> 6] |= (int64_t)((uint64_t)1 << (a[i] & 63));
            words[a[i] >> 6] = 1;
        }
        list_places_where_marked_i64(a, bits, words, 0, extent);
        return;
    }
    if (n > 64) {
        int64_t least = a[0], most = a[0];
        int64_t below = 0;
        for (int64_t i = 1; i < n; i++) {
            least = a[i] < least ? a[i] : least;
            most = a[i] > most ? a[i] : most;
        }
        const int64_t middle = least + (most - least) / 2;
        for (int64_t i = 0; i < n; i++) {
            const int64_t x = a[i];
            a[i] = a[below];
            a[below] = x;
            below += x <= middle;
        }
        sort_places_i64x4(a, below, bits, words, extent);
        sort_places_i64x4(a + below, n - below, bits, words, extent);
        return;
    }
    if (n <= 8) {
        for (int64_t i = 1; i < n; i++) {
            const int64_t x = a[i];
            int64_t j = i;
            for (; j > 0 && a[j - 1] > x; j--) {
                a[j] = a[j - 1];
            }
            a[j] = x;
        }
        return;
    }
    int64_t places[64 + 2 * 4], ranks[2 * 4];
    for (int64_t i = 0; i < n; i += 4) {
        *(i64x4 *)&places[i] = *(const i64x4 *)&a[i];
    }
    for (int64_t i = 0; i < n; i += 2 * 4) {
        const i64x4 x = *(const i64x4 *)&places[i], y = *(const i64x4 *)&places[i + 4];
        i64x4 before_x = {0}, before_y = {0};
        for (int64_t j = 0; j < n; j++) {
            before_x -= places[j] - (i64x4){0} < x;
            before_y -= places[j] - (i64x4){0} < y;
        }
        *(i64x4 *)&ranks[0] = before_x;
        *(i64x4 *)&ranks[4] = before_y;
        for (int64_t k = 0; k < 2 * 4 && i + k < n; k++) {
            a[ranks[k]] = places[i + k];
        }
    }
}

int32_t kernel_assemble(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int64_t n_k = slots[2];
    const int64_t n_l = slots[3];
    const int64_t n_j = slots[4];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[5];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[6];
    const int32_t *restrict T_pos2 = (const int32_t *)slots[8];
    const int32_t *restrict T_crd2 = (const int32_t *)slots[9];
    const int32_t *restrict T_pos3 = (const int32_t *)slots[10];
    const int32_t *restrict T_crd3 = (const int32_t *)slots[11];
    int64_t out_count2 = slots[13];
    int64_t out_count3 = slots[14];
    int64_t *restrict out_starts2 = (int64_t *)slots[20];
    int64_t *restrict out_starts3 = (int64_t *)slots[21];
    if (8 > INT64_C(9223372036854775807) / max_i64(n_k, 1)) {
        return 3;
    }
    if (8 * n_k > INT64_C(9223372036854775807) / max_i64(n_l, 1)) {
        return 3;
    }
    memset(out_starts2, 0, (size_t)65 * sizeof *out_starts2);
    memset(out_starts3, 0, (size_t)65 * sizeof *out_starts3);
    int failed = 0;
    const int64_t team = A_pos2[n_i] * max_i64(1, T_pos3[T_pos2[n_j]] / max_i64(1, n_j)) > 32768 ? threads : 1;
    {
        int64_t begun[16 * team];
        for (int64_t n = 0; n < 16 * team; n++) {
            begun[n] = 0;
        }
        #pragma omp parallel num_threads(team) reduction(| : failed)
        {
            int64_t w_count = 0;
            int64_t *restrict w_list = allocate(n_k * n_l + 8, sizeof *w_list);
            failed |= !w_list;
            uint8_t *restrict w_mark = allocate_zero(n_k * n_l, sizeof *w_mark);
            failed |= !w_mark;
            int64_t *restrict w_bits = allocate_zero((n_k * n_l + 255) / 256 * 4, sizeof *w_bits);
            failed |= !w_bits;
            uint8_t *restrict w_words = allocate_zero((n_k * n_l + 4095) / 4096 * 64, sizeof *w_words);
            failed |= !w_words;
            int64_t block_turn = 0;
            for (int64_t block; (block = next_part(begun, 0, &block_turn, 64)) < 64;) {
                if (failed) {
                    continue;
                }
                int32_t *restrict w_sorted1 = NULL;
                int32_t *restrict w_sorted2 = NULL;
                int64_t out_p2 = 0;
                int64_t out_p3 = 0;
                const int64_t i_share = (n_i + A_pos2[n_i] + 63) / 64;
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
                    w_count = 0;
                    for (int64_t A_p2 = A_pos2[i]; A_p2 < A_pos2[i + 1]; A_p2++) {
                        const int64_t j = A_crd2[A_p2];
                        for (int64_t T_p2 = T_pos2[j]; T_p2 < T_pos2[j + 1]; T_p2++) {
                            const int64_t k = T_crd2[T_p2];
                            for (int64_t T_p3 = T_pos3[T_p2]; T_p3 < T_pos3[T_p2 + 1]; T_p3++) {
                                const int64_t l = T_crd3[T_p3];
                                const int64_t w_at = k * n_l + l;
                                if (w_mark[w_at] == 0) {
                                    w_mark[w_at] = 1;
                                    w_list[w_count] = w_at;
                                    w_count++;
                                }
                            }
                        }
                    }
                    sort_places_i64x4(w_list, w_count, w_bits, w_words, n_k * n_l);
                    w_sorted1 = allocate(max_i64(w_count, 1), sizeof *w_sorted1);
                    w_sorted2 = allocate(max_i64(w_count, 1), sizeof *w_sorted2);
                    if (!w_sorted1 || !w_sorted2) {
                        failed = 1;
                        goto next_block;
                    }
                    for (int64_t q = 0; q < w_count; q++) {
                        int64_t rest = w_list[q];
                        const int64_t above = rest / n_l;
                        w_sorted2[q] = (int32_t)(rest - above * n_l);
                        rest = above;
                        w_sorted1[q] = (int32_t)rest;
                    }
                    int64_t w_p1 = 0;
                    const int64_t w_p1_end = w_count;
                    while (w_p1 < w_p1_end) {
                        const int64_t k_2 = w_sorted1[w_p1];
                        int64_t w_p1_run = w_p1;
                        while (w_p1_run < w_p1_end && w_sorted1[w_p1_run] == k_2) {
                            w_p1_run++;
                        }
                        const int64_t begin = out_p3;
                        for (int64_t w_p2 = w_p1; w_p2 < w_p1_run; w_p2++) {
                            out_p3++;
                        }
                        if (out_p3 > begin) {
                            out_p2++;
                        }
                        w_p1 = w_p1_run;
                    }
                    free(w_sorted1);
                    w_sorted1 = NULL;
                    free(w_sorted2);
                    w_sorted2 = NULL;
                    for (int64_t q_2 = 0; q_2 < w_count; q_2++) {
                        w_mark[w_list[q_2]] = 0;
                    }
                }
                out_starts2[block + 1] = out_p2;
                out_starts3[block + 1] = out_p3;
            next_block:
                free(w_sorted2);
                free(w_sorted1);
            }
            free(w_list);
            free(w_mark);
            free(w_bits);
            free(w_words);
        }
    }
    if (failed) {
        return 1;
    }
    prefix_sum_i64(out_starts2, 65);
    const int64_t total = out_starts2[64];
    if (total > 2147483647) {
        return 2;
    }
    out_count2 = total;
    prefix_sum_i64(out_starts3, 65);
    const int64_t total_2 = out_starts3[64];
    if (total_2 > 2147483647) {
        return 2;
    }
    out_count3 = total_2;
    slots[13] = out_count2;
    slots[14] = out_count3;
    return 0;
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int64_t n_k = slots[2];
    const int64_t n_l = slots[3];
    const int64_t n_j = slots[4];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[5];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[6];
    const float *restrict A_vals = (const float *)slots[7];
    const int32_t *restrict T_pos2 = (const int32_t *)slots[8];
    const int32_t *restrict T_crd2 = (const int32_t *)slots[9];
    const int32_t *restrict T_pos3 = (const int32_t *)slots[10];
    const int32_t *restrict T_crd3 = (const int32_t *)slots[11];
    const float *restrict T_vals = (const float *)slots[12];
    int32_t *restrict out_pos2 = (int32_t *)slots[15];
    int32_t *restrict out_crd2 = (int32_t *)slots[16];
    int32_t *restrict out_pos3 = (int32_t *)slots[17];
    int32_t *restrict out_crd3 = (int32_t *)slots[18];
    float *restrict out_vals = (float *)slots[19];
    const int64_t *restrict out_starts2 = (const int64_t *)slots[20];
    const int64_t *restrict out_starts3 = (const int64_t *)slots[21];
    if (8 > INT64_C(9223372036854775807) / max_i64(n_k, 1)) {
        return 3;
    }
    if (8 * n_k > INT64_C(9223372036854775807) / max_i64(n_l, 1)) {
        return 3;
    }
    memset(out_pos2, 0, (size_t)(n_i + 1) * sizeof *out_pos2);
    out_pos3[0] = 0;
    int failed = 0;
    const int64_t team = A_pos2[n_i] * max_i64(1, T_pos3[T_pos2[n_j]] / max_i64(1, n_j)) > 32768 ? threads : 1;
    {
        int64_t begun[16 * team];
        for (int64_t n = 0; n < 16 * team; n++) {
            begun[n] = 0;
        }
        #pragma omp parallel num_threads(team) reduction(| : failed)
        {
            int64_t w_count = 0;
            int64_t *restrict w_list = allocate(n_k * n_l + 8, sizeof *w_list);
            failed |= !w_list;
            uint8_t *restrict w_mark = allocate_zero(n_k * n_l, sizeof *w_mark);
            failed |= !w_mark;
            int64_t *restrict w_bits = allocate_zero((n_k * n_l + 255) / 256 * 4, sizeof *w_bits);
            failed |= !w_bits;
            uint8_t *restrict w_words = allocate_zero((n_k * n_l + 4095) / 4096 * 64, sizeof *w_words);
            failed |= !w_words;
            float *restrict w_vals = allocate_zero(n_k * n_l, sizeof *w_vals);
            failed |= !w_vals;
            int64_t block_turn = 0;
            for (int64_t block; (block = next_part(begun, 0, &block_turn, 64)) < 64;) {
                if (failed) {
                    continue;
                }
                int32_t *restrict w_sorted1 = NULL;
                int32_t *restrict w_sorted2 = NULL;
                int64_t out_p2 = out_starts2[block];
                int64_t out_p3 = out_starts3[block];
                const int64_t i_share = (n_i + A_pos2[n_i] + 63) / 64;
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
                    w_count = 0;
                    for (int64_t A_p2 = A_pos2[i]; A_p2 < A_pos2[i + 1]; A_p2++) {
                        const int64_t j = A_crd2[A_p2];
                        for (int64_t T_p2 = T_pos2[j]; T_p2 < T_pos2[j + 1]; T_p2++) {
                            const int64_t k = T_crd2[T_p2];
                            for (int64_t T_p3 = T_pos3[T_p2]; T_p3 < T_pos3[T_p2 + 1]; T_p3++) {
                                const int64_t l = T_crd3[T_p3];
                                const int64_t w_at = k * n_l + l;
                                if (w_mark[w_at] == 0) {
                                    w_mark[w_at] = 1;
                                    w_list[w_count] = w_at;
                                    w_count++;
                                }
                                w_vals[w_at] += A_vals[A_p2] * T_vals[T_p3];
                            }
                        }
                    }
                    sort_places_i64x4(w_list, w_count, w_bits, w_words, n_k * n_l);
                    w_sorted1 = allocate(max_i64(w_count, 1), sizeof *w_sorted1);
                    w_sorted2 = allocate(max_i64(w_count, 1), sizeof *w_sorted2);
                    if (!w_sorted1 || !w_sorted2) {
                        failed = 1;
                        goto next_block;
                    }
                    for (int64_t q = 0; q < w_count; q++) {
                        int64_t rest = w_list[q];
                        const int64_t above = rest / n_l;
                        w_sorted2[q] = (int32_t)(rest - above * n_l);
                        rest = above;
                        w_sorted1[q] = (int32_t)rest;
                    }
                    int64_t w_p1 = 0;
                    const int64_t w_p1_end = w_count;
                    while (w_p1 < w_p1_end) {
                        const int64_t k_2 = w_sorted1[w_p1];
                        int64_t w_p1_run = w_p1;
                        while (w_p1_run < w_p1_end && w_sorted1[w_p1_run] == k_2) {
                            w_p1_run++;
                        }
                        const int64_t begin_2 = out_p3;
                        for (int64_t w_p2 = w_p1; w_p2 < w_p1_run; w_p2++) {
                            const int64_t l_2 = w_sorted2[w_p2];
                            out_vals[out_p3] = w_vals[w_list[w_p2]];
                            out_crd3[out_p3] = (int32_t)l_2;
                            out_p3++;
                        }
                        if (out_p3 > begin_2) {
                            out_pos3[out_p2 + 1] = (int32_t)out_p3;
                            out_crd2[out_p2] = (int32_t)k_2;
                            out_p2++;
                        }
                        w_p1 = w_p1_run;
                    }
                    free(w_sorted1);
                    w_sorted1 = NULL;
                    free(w_sorted2);
                    w_sorted2 = NULL;
                    for (int64_t q_2 = 0; q_2 < w_count; q_2++) {
                        w_mark[w_list[q_2]] = 0;
                        w_vals[w_list[q_2]] = 0.0f;
                    }
                    out_pos2[i + 1] = (int32_t)(out_p2 - begin);
                }
            next_block:
                free(w_sorted2);
                free(w_sorted1);
            }
            free(w_list);
            free(w_mark);
            free(w_bits);
            free(w_words);
            free(w_vals);
        }
    }
    if (failed) {
        return 1;
    }
    prefix_sum_i32(out_pos2, n_i + 1);
    return 0;
}
