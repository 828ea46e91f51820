/* out(i,j) = A(i,j)
 * A: "ds" of f32
 * out: "dk(4,4)" of f32
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

/* Sorts a[0:n] in ascending order. */
__attribute__((noinline)) static void sort_i32(int32_t *a, int64_t n)
{
    if (n > 24) {
        int64_t least = a[0], most = a[0], middle, below = 0;
        int unordered = 0;
        for (int64_t i = 1; i < n; i++) {
            unordered |= a[i] < a[i - 1];
            least = a[i] < least ? a[i] : least;
            most = a[i] > most ? a[i] : most;
        }
        if (!unordered) {
            return;
        }
        middle = least + (int64_t)((uint64_t)(most - least) / 2);
        for (int64_t i = 0; i < n; i++) {
            const int32_t x = a[i];
            a[i] = a[below];
            a[below] = x;
            below += x <= middle;
        }
        sort_i32(a, below);
        sort_i32(a + below, n - below);
        return;
    }
    for (int64_t i = 1; i < n; i++) {
        const int32_t x = a[i];
        int64_t j = i;
        for (; j > 0 && a[j - 1] > x; j--) {
            a[j] = a[j - 1];
        }
        a[j] = x;
    }
}

int32_t kernel_assemble(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int64_t n_j = slots[2];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[3];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[4];
    int64_t out_count2 = slots[6];
    int32_t *restrict out_pos2 = (int32_t *)slots[7];
    int failed = 0;
    const int64_t team = A_pos2[n_i] > 12000 ? threads : 1;
    {
        int64_t begun[16 * team];
        for (int64_t n_ = 0; n_ < 16 * team; n_++) {
            begun[n_] = 0;
        }
        #pragma omp parallel num_threads(team) reduction(| : failed)
        {
            int64_t *restrict seen = allocate_zero(n_j / 4 + 1, sizeof *seen);
            failed |= !seen;
            int64_t r_turn = 0;
            const int64_t r_trips = n_i / max_i64(n_i, 1) * ((n_i + 3) / 4);
            const int64_t r_chunk = team > 1 ? max_i64(1, n_i / max_i64(n_i, 1) * ((n_i + 3) / 4) / (threads * 16)) : max_i64(r_trips, 1);
            const int64_t r_parts = (r_trips + (r_chunk - 1)) / r_chunk;
            for (int64_t r_part; (r_part = next_part(begun, 0, &r_turn, r_parts)) < r_parts;) {
                const int64_t r_end = min_i64(r_trips, (r_part + 1) * r_chunk);
                for (int64_t r = r_part * r_chunk; r < r_end; r++) {
                    if (failed) {
                        continue;
                    }
                    int64_t n = 0;
                    const int64_t above = r / ((n_i + 3) / 4);
                    const int64_t first = above * n_i + (r - r / ((n_i + 3) / 4) * ((n_i + 3) / 4)) * 4;
                    const int64_t height = min_i64(4, n_i - (r - r / ((n_i + 3) / 4) * ((n_i + 3) / 4)) * 4);
                    if (first < first + height) {
                        for (int64_t q = A_pos2[first]; q < A_pos2[first + height]; q++) {
                            const int64_t c = A_crd2[q];
                            const int64_t b = c / 4;
                            if (seen[b] != r + 1) {
                                seen[b] = r + 1;
                                n++;
                            }
                        }
                    }
                    out_pos2[r + 1] = (int32_t)n;
                }
            }
            free(seen);
        }
    }
    if (failed) {
        return 1;
    }
    int64_t total = 0;
    out_pos2[0] = 0;
    for (int64_t p_2 = 0; p_2 < n_i / max_i64(n_i, 1) * ((n_i + 3) / 4); p_2++) {
        total += out_pos2[p_2 + 1];
        out_pos2[p_2 + 1] = (int32_t)total;
    }
    if (total > 2147483647) {
        return 2;
    }
    out_count2 = out_pos2[n_i / max_i64(n_i, 1) * ((n_i + 3) / 4)];
    slots[6] = out_count2;
    return 0;
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int64_t n_j = slots[2];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[3];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[4];
    const float *restrict A_vals = (const float *)slots[5];
    const int32_t *restrict out_pos2 = (const int32_t *)slots[7];
    int32_t *restrict out_crd2 = (int32_t *)slots[8];
    float *restrict out_vals = (float *)slots[9];
    int32_t status = 0;
    int64_t *restrict out_place2 = allocate(max_i64((int64_t)A_pos2[n_i], 1), sizeof *out_place2);
    if (!out_place2) {
        status = 1;
        goto done;
    }
    int failed = 0;
    const int64_t team = A_pos2[n_i] > 12000 ? threads : 1;
    {
        int64_t begun[16 * team];
        for (int64_t n_ = 0; n_ < 16 * team; n_++) {
            begun[n_] = 0;
        }
        #pragma omp parallel num_threads(team) reduction(| : failed)
        {
            int64_t *restrict seen = allocate_zero(n_j / 4 + 1, sizeof *seen);
            failed |= !seen;
            int64_t *restrict at = allocate(n_j / 4 + 1, sizeof *at);
            failed |= !at;
            int64_t r_turn = 0;
            const int64_t r_trips = n_i / max_i64(n_i, 1) * ((n_i + 3) / 4);
            const int64_t r_chunk = team > 1 ? max_i64(1, n_i / max_i64(n_i, 1) * ((n_i + 3) / 4) / (threads * 16)) : max_i64(r_trips, 1);
            const int64_t r_parts = (r_trips + (r_chunk - 1)) / r_chunk;
            for (int64_t r_part; (r_part = next_part(begun, 0, &r_turn, r_parts)) < r_parts;) {
                const int64_t r_end = min_i64(r_trips, (r_part + 1) * r_chunk);
                for (int64_t r = r_part * r_chunk; r < r_end; r++) {
                    if (failed) {
                        continue;
                    }
                    int64_t n = 0;
                    const int64_t above = r / ((n_i + 3) / 4);
                    const int64_t first = above * n_i + (r - r / ((n_i + 3) / 4) * ((n_i + 3) / 4)) * 4;
                    const int64_t height = min_i64(4, n_i - (r - r / ((n_i + 3) / 4) * ((n_i + 3) / 4)) * 4);
                    if (first < first + height) {
                        for (int64_t q = A_pos2[first]; q < A_pos2[first + height]; q++) {
                            const int64_t c = A_crd2[q];
                            const int64_t b = c / 4;
                            if (seen[b] != r + 1) {
                                seen[b] = r + 1;
                                at[n] = b;
                                n++;
                            }
                        }
                    }
                    const int64_t r_first = out_pos2[r];
                    for (int64_t x = 0; x < n; x++) {
                        out_crd2[r_first + x] = (int32_t)at[x];
                    }
                    sort_i32(out_crd2 + r_first, r_first + n - r_first);
                    for (int64_t x_2 = r_first; x_2 < r_first + n; x_2++) {
                        at[out_crd2[x_2]] = x_2;
                    }
                    const int64_t above_2 = r / ((n_i + 3) / 4);
                    const int64_t first_2 = above_2 * n_i + (r - r / ((n_i + 3) / 4) * ((n_i + 3) / 4)) * 4;
                    const int64_t height_2 = min_i64(4, n_i - (r - r / ((n_i + 3) / 4) * ((n_i + 3) / 4)) * 4);
                    for (int64_t p_2 = first_2; p_2 < first_2 + height_2; p_2++) {
                        for (int64_t q_2 = A_pos2[p_2]; q_2 < A_pos2[p_2 + 1]; q_2++) {
                            const int64_t c_2 = A_crd2[q_2];
                            out_place2[q_2] = (at[c_2 / 4] * 4 + (p_2 - first_2)) * 4 + (c_2 - c_2 / 4 * 4);
                        }
                    }
                }
            }
            free(seen);
            free(at);
        }
    }
    if (failed) {
        status = 1;
        goto done;
    }
    clear(out_vals, (int64_t)out_pos2[n_i / max_i64(n_i, 1) * ((n_i + 3) / 4)] * 16, sizeof *out_vals);
    const int64_t team_ = A_pos2[n_i] > 12000 ? threads : 1;
    {
        int64_t begun_[16 * team_];
        for (int64_t n__ = 0; n__ < 16 * team_; n__++) {
            begun_[n__] = 0;
        }
        #pragma omp parallel num_threads(team_)
        {
            int64_t q_3_turn = 0;
            const int64_t q_3_trips = A_pos2[n_i];
            const int64_t q_3_chunk = team_ > 1 ? max_i64(1, A_pos2[n_i] / (threads * 16)) : max_i64(q_3_trips, 1);
            const int64_t q_3_parts = (q_3_trips + (q_3_chunk - 1)) / q_3_chunk;
            for (int64_t q_3_part; (q_3_part = next_part(begun_, 0, &q_3_turn, q_3_parts)) < q_3_parts;) {
                const int64_t q_3_end = min_i64(q_3_trips, (q_3_part + 1) * q_3_chunk);
                for (int64_t q_3 = q_3_part * q_3_chunk; q_3 < q_3_end; q_3++) {
                    out_vals[out_place2[q_3]] = A_vals[q_3];
                }
            }
        }
    }
done:
    free(out_place2);
    return status;
}
