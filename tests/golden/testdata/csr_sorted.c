/* out(i,j) = A(i,j)
 * A: "ds" of f32
 * out: "w(256)s" of f32
 */
#define NULL ((void *)0)
int omp_get_num_threads(void);
int omp_get_thread_num(void);
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __SIZE_TYPE__ size_t;
void *aligned_alloc(__SIZE_TYPE__, __SIZE_TYPE__);
void *malloc(__SIZE_TYPE__);
void *memcpy(void *restrict, const void *restrict, __SIZE_TYPE__);
void *memset(void *, int, __SIZE_TYPE__);
void free(void *);

static void *allocate(int64_t count, size_t size)
{
    const size_t bytes = (size_t)count * size + 1;
    return bytes < 4096 ? malloc(bytes) : aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static inline void clear(void *array, int64_t count, size_t size)
{
    if (count > 0) {
        memset(array, 0, (size_t)count * size);
    }
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

static void prefix_sum_i32(int32_t *restrict a, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        a[i] += a[i - 1];
    }
}

/* Rearranges perm[0:n] so that key[perm[.]] ascends; ties keep their order. Returns 1 if out of memory. */
static int sort_by_team_i64_i64(int64_t *perm, const int64_t *key, int64_t n, int64_t extent, int64_t threads)
{
    const int64_t parts = n < 65536 ? 1 : threads;
    int unordered = 0;
    #pragma omp parallel for num_threads(parts) reduction(| : unordered)
    for (int64_t i = 1; i < n; i++) {
        unordered |= key[perm[i - 1]] > key[perm[i]];
    }
    if (!unordered) {
        return 0;
    }
    int64_t *const buffer = malloc((size_t)n * sizeof *buffer);
    int64_t *const next = malloc((size_t)parts * 2048 * sizeof *next);
    if (!buffer || !next) {
        free(buffer);
        free(next);
        return 1;
    }
    int64_t *from = perm, *to = buffer;
    for (int shift = 0; shift < 63 && (extent - 1) >> shift > 0; shift += 11) {
        #pragma omp parallel for num_threads(parts) schedule(static, 1)
        for (int64_t p = 0; p < parts; p++) {
            int64_t *const count = next + p * 2048;
            memset(count, 0, 2048 * sizeof *count);
            for (int64_t i = n * p / parts; i < n * (p + 1) / parts; i++) {
                count[((int64_t)key[from[i]] >> shift) & 2047]++;
            }
        }
        int64_t total = 0;
        for (int64_t d = 0; d < 2048; d++) {
            for (int64_t p = 0; p < parts; p++) {
                const int64_t count = next[p * 2048 + d];
                next[p * 2048 + d] = total;
                total += count;
            }
        }
        #pragma omp parallel for num_threads(parts) schedule(static, 1)
        for (int64_t p = 0; p < parts; p++) {
            int64_t *const place = next + p * 2048;
            for (int64_t i = n * p / parts; i < n * (p + 1) / parts; i++) {
                to[place[((int64_t)key[from[i]] >> shift) & 2047]++] = from[i];
            }
        }
        int64_t *const swap = from;
        from = to;
        to = swap;
    }
    if (from != perm) {
        memcpy(perm, from, (size_t)n * sizeof *perm);
    }
    free(buffer);
    free(next);
    return 0;
}

int32_t kernel_assemble(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[3];
    int64_t out_count2 = slots[6];
    int32_t *restrict out_pos1 = (int32_t *)slots[7];
    int32_t status = 0;
    int64_t *restrict order = allocate(max_i64(n_i, 1), sizeof *order);
    int64_t *restrict key = allocate(max_i64(n_i, 1), sizeof *key);
    if (!order || !key) {
        status = 1;
        goto done;
    }
    int64_t most = 0;
    for (int64_t q = 0; q < n_i; q++) {
        most = max_i64(most, (int64_t)A_pos2[q + 1] - A_pos2[q]);
    }
    const int64_t team = A_pos2[n_i] > 12000 ? threads : 1;
    {
        int64_t begun[16 * team];
        for (int64_t n = 0; n < 16 * team; n++) {
            begun[n] = 0;
        }
        #pragma omp parallel num_threads(team)
        {
            int64_t q_2_turn = 0;
            const int64_t q_2_trips = n_i;
            const int64_t q_2_chunk = team > 1 ? max_i64(1, n_i / (threads * 16)) : max_i64(q_2_trips, 1);
            const int64_t q_2_parts = (q_2_trips + (q_2_chunk - 1)) / q_2_chunk;
            for (int64_t q_2_part; (q_2_part = next_part(begun, 0, &q_2_turn, q_2_parts)) < q_2_parts;) {
                const int64_t q_2_end = min_i64(q_2_trips, (q_2_part + 1) * q_2_chunk);
                for (int64_t q_2 = q_2_part * q_2_chunk; q_2 < q_2_end; q_2++) {
                    order[q_2] = q_2;
                    key[q_2] = most - ((int64_t)A_pos2[q_2 + 1] - A_pos2[q_2]);
                }
            }
        }
    }
    if (sort_by_team_i64_i64(order, key, n_i, most + 1, threads)) {
        status = 1;
        goto done;
    }
    const int64_t team_ = A_pos2[n_i] > 12000 ? threads : 1;
    {
        int64_t begun_[16 * team_];
        for (int64_t n_ = 0; n_ < 16 * team_; n_++) {
            begun_[n_] = 0;
        }
        #pragma omp parallel num_threads(team_)
        {
            int64_t q_3_turn = 0;
            const int64_t q_3_trips = n_i;
            const int64_t q_3_chunk = team_ > 1 ? max_i64(1, n_i / (threads * 16)) : max_i64(q_3_trips, 1);
            const int64_t q_3_parts = (q_3_trips + (q_3_chunk - 1)) / q_3_chunk;
            for (int64_t q_3_part; (q_3_part = next_part(begun_, 0, &q_3_turn, q_3_parts)) < q_3_parts;) {
                const int64_t q_3_end = min_i64(q_3_trips, (q_3_part + 1) * q_3_chunk);
                for (int64_t q_3 = q_3_part * q_3_chunk; q_3 < q_3_end; q_3++) {
                    const int64_t p_2 = q_3 / n_i;
                    const int64_t i_2 = q_3 - p_2 * n_i;
                    key[q_3] = p_2 * ((n_i + 255) / 256) + i_2 / 256;
                }
            }
        }
    }
    if (sort_by_team_i64_i64(order, key, n_i, max_i64((n_i + 255) / 256, 1), threads)) {
        status = 1;
        goto done;
    }
    const int64_t team__ = A_pos2[n_i] > 12000 ? threads : 1;
    {
        int64_t begun__[16 * team__];
        for (int64_t n__ = 0; n__ < 16 * team__; n__++) {
            begun__[n__] = 0;
        }
        #pragma omp parallel num_threads(team__)
        {
            int64_t q_4_turn = 0;
            const int64_t q_4_trips = n_i;
            const int64_t q_4_chunk = team__ > 1 ? max_i64(1, n_i / (threads * 16)) : max_i64(q_4_trips, 1);
            const int64_t q_4_parts = (q_4_trips + (q_4_chunk - 1)) / q_4_chunk;
            for (int64_t q_4_part; (q_4_part = next_part(begun__, 0, &q_4_turn, q_4_parts)) < q_4_parts;) {
                const int64_t q_4_end = min_i64(q_4_trips, (q_4_part + 1) * q_4_chunk);
                for (int64_t q_4 = q_4_part * q_4_chunk; q_4 < q_4_end; q_4++) {
                    const int64_t p_3 = q_4 / n_i;
                    const int64_t i_3 = q_4 - p_3 * n_i;
                    const int64_t t = order[q_4];
                    out_pos1[t] = (int32_t)i_3;
                }
            }
        }
    }
    out_count2 = A_pos2[n_i];
    slots[6] = out_count2;
done:
    free(key);
    free(order);
    return status;
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[3];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[4];
    const float *restrict A_vals = (const float *)slots[5];
    int64_t out_count2 = slots[6];
    const int32_t *restrict out_pos1 = (const int32_t *)slots[7];
    int32_t *restrict out_crd1 = (int32_t *)slots[8];
    int32_t *restrict out_pos2 = (int32_t *)slots[9];
    int32_t *restrict out_crd2 = (int32_t *)slots[10];
    float *restrict out_vals = (float *)slots[11];
    int32_t status = 0;
    int64_t *restrict out_place2 = NULL;
    int64_t *restrict out_place1 = allocate(max_i64(n_i, 1), sizeof *out_place1);
    if (!out_place1) {
        status = 1;
        goto done;
    }
    const int64_t team = A_pos2[n_i] > 12000 ? threads : 1;
    {
        int64_t begun[16 * team];
        for (int64_t n = 0; n < 16 * team; n++) {
            begun[n] = 0;
        }
        #pragma omp parallel num_threads(team)
        {
            int64_t q_turn = 0;
            const int64_t q_trips = n_i;
            const int64_t q_chunk = team > 1 ? max_i64(1, n_i / (threads * 16)) : max_i64(q_trips, 1);
            const int64_t q_parts = (q_trips + (q_chunk - 1)) / q_chunk;
            for (int64_t q_part; (q_part = next_part(begun, 0, &q_turn, q_parts)) < q_parts;) {
                const int64_t q_end = min_i64(q_trips, (q_part + 1) * q_chunk);
                for (int64_t q = q_part * q_chunk; q < q_end; q++) {
                    const int64_t p = q / n_i;
                    const int64_t i = q - p * n_i;
                    const int64_t place = p * n_i + out_pos1[q];
                    out_crd1[place] = (int32_t)i;
                    out_place1[q] = place;
                }
            }
        }
    }
    out_place2 = allocate(max_i64((int64_t)A_pos2[n_i], 1), sizeof *out_place2);
    if (!out_place2) {
        status = 1;
        goto done;
    }
    memset(out_pos2, 0, (size_t)(n_i + 1) * sizeof *out_pos2);
    const int64_t team_ = A_pos2[n_i] > 12000 ? threads : 1;
    {
        int64_t begun_[16 * team_];
        for (int64_t n_ = 0; n_ < 16 * team_; n_++) {
            begun_[n_] = 0;
        }
        #pragma omp parallel num_threads(team_)
        {
            int64_t q_2_turn = 0;
            const int64_t q_2_trips = n_i;
            const int64_t q_2_chunk = team_ > 1 ? max_i64(1, n_i / (threads * 16)) : max_i64(q_2_trips, 1);
            const int64_t q_2_parts = (q_2_trips + (q_2_chunk - 1)) / q_2_chunk;
            for (int64_t q_2_part; (q_2_part = next_part(begun_, 0, &q_2_turn, q_2_parts)) < q_2_parts;) {
                const int64_t q_2_end = min_i64(q_2_trips, (q_2_part + 1) * q_2_chunk);
                for (int64_t q_2 = q_2_part * q_2_chunk; q_2 < q_2_end; q_2++) {
                    out_pos2[out_place1[q_2] + 1] = (int32_t)((int64_t)A_pos2[q_2 + 1] - A_pos2[q_2]);
                }
            }
        }
    }
    prefix_sum_i32(out_pos2, n_i + 1);
    const int64_t team__ = A_pos2[n_i] > 12000 ? threads : 1;
    {
        int64_t begun__[16 * team__];
        for (int64_t n__ = 0; n__ < 16 * team__; n__++) {
            begun__[n__] = 0;
        }
        #pragma omp parallel num_threads(team__)
        {
            int64_t q_3_turn = 0;
            const int64_t q_3_trips = n_i;
            const int64_t q_3_chunk = team__ > 1 ? max_i64(1, n_i / (threads * 16)) : max_i64(q_3_trips, 1);
            const int64_t q_3_parts = (q_3_trips + (q_3_chunk - 1)) / q_3_chunk;
            for (int64_t q_3_part; (q_3_part = next_part(begun__, 0, &q_3_turn, q_3_parts)) < q_3_parts;) {
                const int64_t q_3_end = min_i64(q_3_trips, (q_3_part + 1) * q_3_chunk);
                for (int64_t q_3 = q_3_part * q_3_chunk; q_3 < q_3_end; q_3++) {
                    const int64_t moved = (int64_t)out_pos2[out_place1[q_3]] - A_pos2[q_3];
                    for (int64_t k = A_pos2[q_3]; k < A_pos2[q_3 + 1]; k++) {
                        out_place2[k] = moved + k;
                        out_crd2[moved + k] = (int32_t)(int64_t)A_crd2[k];
                    }
                }
            }
        }
    }
    clear(out_vals, out_count2, sizeof *out_vals);
    const int64_t team___ = A_pos2[n_i] > 12000 ? threads : 1;
    {
        int64_t begun___[16 * team___];
        for (int64_t n___ = 0; n___ < 16 * team___; n___++) {
            begun___[n___] = 0;
        }
        #pragma omp parallel num_threads(team___)
        {
            int64_t q_4_turn = 0;
            const int64_t q_4_trips = A_pos2[n_i];
            const int64_t q_4_chunk = team___ > 1 ? max_i64(1, A_pos2[n_i] / (threads * 16)) : max_i64(q_4_trips, 1);
            const int64_t q_4_parts = (q_4_trips + (q_4_chunk - 1)) / q_4_chunk;
            for (int64_t q_4_part; (q_4_part = next_part(begun___, 0, &q_4_turn, q_4_parts)) < q_4_parts;) {
                const int64_t q_4_end = min_i64(q_4_trips, (q_4_part + 1) * q_4_chunk);
                for (int64_t q_4 = q_4_part * q_4_chunk; q_4 < q_4_end; q_4++) {
                    out_vals[out_place2[q_4]] = A_vals[q_4];
                }
            }
        }
    }
done:
    free(out_place2);
    free(out_place1);
    return status;
}
