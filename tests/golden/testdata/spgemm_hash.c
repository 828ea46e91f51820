/* out(i,k) = A(i,j) * B(j,k)
 * A: "ds" of f32
 * B: "ds" of f32
 * out: "ds" of f32
 * reorder(i, j, k)
 * precompute(all, w, at=1, hash)
 * parallelize(i, threads)
 */
#define NULL ((void *)0)
int omp_get_num_threads(void);
int omp_get_thread_num(void);
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __SIZE_TYPE__ size_t;
typedef __UINT64_TYPE__ uint64_t;
void *aligned_alloc(__SIZE_TYPE__, __SIZE_TYPE__);
void *malloc(__SIZE_TYPE__);
void *memcpy(void *restrict, const void *restrict, __SIZE_TYPE__);
void *memset(void *, int, __SIZE_TYPE__);
void *realloc(void *, __SIZE_TYPE__);
void free(void *);

static void *allocate(int64_t count, size_t size)
{
    const size_t bytes = (size_t)count * size + 1;
    return bytes < 4096 ? malloc(bytes) : aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static inline void fill_i64(int64_t *restrict a, int64_t n, int64_t x)
{
    for (int64_t i = 0; i < n; i++) {
        a[i] = x;
    }
}

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

static void *resize(void *array, int64_t count, size_t size)
{
    void *const resized = realloc(array, (size_t)count * size);
    if (!resized) {
        free(array);
    }
    return resized;
}

/* Rearranges perm[0:n] so that key[perm[.]] ascends; ties keep their order. Returns 1 if out of memory. */
static int sort_by_i64_i32(int64_t *perm, const int32_t *key, int64_t n, int64_t extent)
{
    int64_t ordered = 1;
    while (ordered < n && key[perm[ordered - 1]] <= key[perm[ordered]]) {
        ordered++;
    }
    if (ordered >= n) {
        return 0;
    }
    if (n <= 64) {
        for (int64_t i = ordered; i < n; i++) {
            const int64_t x = perm[i];
            int64_t j = i;
            for (; j > 0 && key[perm[j - 1]] > key[x]; j--) {
                perm[j] = perm[j - 1];
            }
            perm[j] = x;
        }
        return 0;
    }
    int64_t *const buffer = malloc((size_t)n * sizeof *buffer);
    if (!buffer) {
        return 1;
    }
    int64_t *from = perm, *to = buffer;
    for (int shift = 0; shift < 63 && (extent - 1) >> shift > 0; shift += 11) {
        int64_t next[2049] = {0};
        for (int64_t i = 0; i < n; i++) {
            next[(((int64_t)key[from[i]] >> shift) & 2047) + 1]++;
        }
        for (int d = 1; d < 2048; d++) {
            next[d] += next[d - 1];
        }
        for (int64_t i = 0; i < n; i++) {
            to[next[((int64_t)key[from[i]] >> shift) & 2047]++] = from[i];
        }
        int64_t *const swap = from;
        from = to;
        to = swap;
    }
    if (from != perm) {
        memcpy(perm, from, (size_t)n * sizeof *perm);
    }
    free(buffer);
    return 0;
}

int32_t kernel_assemble(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int64_t n_j = slots[3];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[4];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[5];
    const int32_t *restrict B_pos2 = (const int32_t *)slots[7];
    const int32_t *restrict B_crd2 = (const int32_t *)slots[8];
    int64_t out_count2 = slots[10];
    int32_t *restrict out_pos2 = (int32_t *)slots[11];
    memset(out_pos2, 0, (size_t)(n_i + 1) * sizeof *out_pos2);
    const int64_t parts = A_pos2[n_i] * max_i64(1, B_pos2[n_j] / max_i64(1, n_j)) > 32768 && threads > 1 ? max_i64(threads, min_i64(threads * 16, A_pos2[n_i] * max_i64(1, B_pos2[n_j] / max_i64(1, n_j)) / 8192)) : 1;
    int failed = 0;
    const int64_t team = parts > 1 ? threads : 1;
    {
        int64_t begun[16 * team];
        for (int64_t n = 0; n < 16 * team; n++) {
            begun[n] = 0;
        }
        #pragma omp parallel num_threads(team) reduction(| : failed)
        {
            int64_t w_count = 0;
            int64_t w_crd1_room = 1024;
            int32_t *w_crd1 = allocate(w_crd1_room, sizeof *w_crd1);
            failed |= !w_crd1;
            int64_t w_table_room = 2048;
            int64_t *w_table = allocate(w_table_room, sizeof *w_table);
            failed |= !w_table;
            if (!failed) {
                fill_i64(w_table, w_table_room, -1);
            }
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
                    int64_t out_p2 = 0;
                    w_count = 0;
                    for (int64_t A_p2 = A_pos2[i]; A_p2 < A_pos2[i + 1]; A_p2++) {
                        const int64_t j = A_crd2[A_p2];
                        for (int64_t B_p2 = B_pos2[j]; B_p2 < B_pos2[j + 1]; B_p2++) {
                            const int64_t k = B_crd2[B_p2];
                            int64_t w_at = hash(k, w_table_room);
                            while (w_table[w_at] >= 0 && w_crd1[w_table[w_at]] != k) {
                                w_at = w_at + 1 == w_table_room ? 0 : w_at + 1;
                            }
                            const int64_t w_entry = w_table[w_at];
                            if (w_entry < 0) {
                                if (w_count + 1 > w_crd1_room) {
                                    w_crd1_room = max_i64(w_count + 1, 2 * w_crd1_room);
                                    w_crd1 = resize(w_crd1, w_crd1_room, sizeof *w_crd1);
                                    if (!w_crd1) {
                                        failed = 1;
                                        goto next_part_;
                                    }
                                }
                                w_crd1[w_count] = (int32_t)k;
                                w_table[w_at] = w_count;
                                w_count++;
                                if (2 * w_count > w_table_room) {
                                    if (2 * w_table_room > w_table_room) {
                                        w_table_room = max_i64(2 * w_table_room, 2 * w_table_room);
                                        w_table = resize(w_table, w_table_room, sizeof *w_table);
                                        if (!w_table) {
                                            failed = 1;
                                            goto next_part_;
                                        }
                                    }
                                    fill_i64(w_table, w_table_room, -1);
                                    for (int64_t q = 0; q < w_count; q++) {
                                        int64_t w_at_2 = hash(w_crd1[q], w_table_room);
                                        while (w_table[w_at_2] >= 0) {
                                            w_at_2 = w_at_2 + 1 == w_table_room ? 0 : w_at_2 + 1;
                                        }
                                        w_table[w_at_2] = q;
                                    }
                                }
                            }
                        }
                    }
                    for (int64_t w_p1 = 0; w_p1 < w_count; w_p1++) {
                        out_p2++;
                    }
                    for (int64_t q_2 = 0; q_2 < w_count; q_2++) {
                        int64_t w_at_3 = hash(w_crd1[q_2], w_table_room);
                        while (w_table[w_at_3] != q_2) {
                            w_at_3 = w_at_3 + 1 == w_table_room ? 0 : w_at_3 + 1;
                        }
                        w_table[w_at_3] = -1;
                    }
                    out_pos2[i + 1] = (int32_t)out_p2;
                }
            next_part_:;
            }
            free(w_crd1);
            free(w_table);
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
    slots[10] = out_count2;
    return 0;
}

int32_t kernel_compute(int64_t *slots)
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
    int32_t *restrict out_crd2 = (int32_t *)slots[12];
    float *restrict out_vals = (float *)slots[13];
    const int64_t parts = A_pos2[n_i] * max_i64(1, B_pos2[n_j] / max_i64(1, n_j)) > 32768 && threads > 1 ? max_i64(threads, min_i64(threads * 16, A_pos2[n_i] * max_i64(1, B_pos2[n_j] / max_i64(1, n_j)) / 8192)) : 1;
    int failed = 0;
    const int64_t team = parts > 1 ? threads : 1;
    {
        int64_t begun[16 * team];
        for (int64_t n = 0; n < 16 * team; n++) {
            begun[n] = 0;
        }
        #pragma omp parallel num_threads(team) reduction(| : failed)
        {
            int64_t w_count = 0;
            int64_t w_crd1_room = 1024;
            int32_t *w_crd1 = allocate(w_crd1_room, sizeof *w_crd1);
            failed |= !w_crd1;
            int64_t w_vals_room = 1024;
            float *w_vals = allocate(w_vals_room, sizeof *w_vals);
            failed |= !w_vals;
            int64_t w_table_room = 2048;
            int64_t *w_table = allocate(w_table_room, sizeof *w_table);
            failed |= !w_table;
            if (!failed) {
                fill_i64(w_table, w_table_room, -1);
            }
            int64_t part_turn = 0;
            for (int64_t part; (part = next_part(begun, 0, &part_turn, parts)) < parts;) {
                if (failed) {
                    continue;
                }
                int64_t *restrict w_perm = NULL;
                int32_t *restrict w_sorted1 = NULL;
                float *restrict w_vals_sorted = NULL;
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
                    w_count = 0;
                    for (int64_t A_p2 = A_pos2[i]; A_p2 < A_pos2[i + 1]; A_p2++) {
                        const int64_t j = A_crd2[A_p2];
                        for (int64_t B_p2 = B_pos2[j]; B_p2 < B_pos2[j + 1]; B_p2++) {
                            const int64_t k = B_crd2[B_p2];
                            const float w_value = A_vals[A_p2] * B_vals[B_p2];
                            int64_t w_at = hash(k, w_table_room);
                            while (w_table[w_at] >= 0 && w_crd1[w_table[w_at]] != k) {
                                w_at = w_at + 1 == w_table_room ? 0 : w_at + 1;
                            }
                            const int64_t w_entry = w_table[w_at];
                            if (w_entry < 0) {
                                if (w_count + 1 > w_crd1_room) {
                                    w_crd1_room = max_i64(w_count + 1, 2 * w_crd1_room);
                                    w_crd1 = resize(w_crd1, w_crd1_room, sizeof *w_crd1);
                                    if (!w_crd1) {
                                        failed = 1;
                                        goto next_part_;
                                    }
                                }
                                if (w_count + 1 > w_vals_room) {
                                    w_vals_room = max_i64(w_count + 1, 2 * w_vals_room);
                                    w_vals = resize(w_vals, w_vals_room, sizeof *w_vals);
                                    if (!w_vals) {
                                        failed = 1;
                                        goto next_part_;
                                    }
                                }
                                w_crd1[w_count] = (int32_t)k;
                                w_vals[w_count] = w_value;
                                w_table[w_at] = w_count;
                                w_count++;
                                if (2 * w_count > w_table_room) {
                                    if (2 * w_table_room > w_table_room) {
                                        w_table_room = max_i64(2 * w_table_room, 2 * w_table_room);
                                        w_table = resize(w_table, w_table_room, sizeof *w_table);
                                        if (!w_table) {
                                            failed = 1;
                                            goto next_part_;
                                        }
                                    }
                                    fill_i64(w_table, w_table_room, -1);
                                    for (int64_t q = 0; q < w_count; q++) {
                                        int64_t w_at_2 = hash(w_crd1[q], w_table_room);
                                        while (w_table[w_at_2] >= 0) {
                                            w_at_2 = w_at_2 + 1 == w_table_room ? 0 : w_at_2 + 1;
                                        }
                                        w_table[w_at_2] = q;
                                    }
                                }
                            } else {
                                w_vals[w_entry] += w_value;
                            }
                        }
                    }
                    w_perm = allocate(max_i64(w_count, 1), sizeof *w_perm);
                    w_sorted1 = allocate(max_i64(w_count, 1), sizeof *w_sorted1);
                    w_vals_sorted = allocate(max_i64(w_count, 1), sizeof *w_vals_sorted);
                    if (!w_perm || !w_sorted1 || !w_vals_sorted) {
                        failed = 1;
                        goto next_part_;
                    }
                    for (int64_t q_2 = 0; q_2 < w_count; q_2++) {
                        w_perm[q_2] = q_2;
                    }
                    if (sort_by_i64_i32(w_perm, w_crd1, w_count, n_k)) {
                        failed = 1;
                        goto next_part_;
                    }
                    for (int64_t q_3 = 0; q_3 < w_count; q_3++) {
                        const int64_t from = w_perm[q_3];
                        w_sorted1[q_3] = w_crd1[from];
                        w_vals_sorted[q_3] = w_vals[from];
                    }
                    for (int64_t w_p1 = 0; w_p1 < w_count; w_p1++) {
                        const int64_t k_2 = w_sorted1[w_p1];
                        out_vals[out_p2] = w_vals_sorted[w_p1];
                        out_crd2[out_p2] = (int32_t)k_2;
                        out_p2++;
                    }
                    free(w_perm);
                    w_perm = NULL;
                    free(w_sorted1);
                    w_sorted1 = NULL;
                    free(w_vals_sorted);
                    w_vals_sorted = NULL;
                    for (int64_t q_4 = 0; q_4 < w_count; q_4++) {
                        int64_t w_at_3 = hash(w_crd1[q_4], w_table_room);
                        while (w_table[w_at_3] != q_4) {
                            w_at_3 = w_at_3 + 1 == w_table_room ? 0 : w_at_3 + 1;
                        }
                        w_table[w_at_3] = -1;
                    }
                }
            next_part_:
                free(w_vals_sorted);
                free(w_sorted1);
                free(w_perm);
            }
            free(w_crd1);
            free(w_vals);
            free(w_table);
        }
    }
    if (failed) {
        return 1;
    }
    return 0;
}
