/* C(i,k) = A(i,j) * B(j,k)
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
void *realloc(void *, __SIZE_TYPE__);
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

static void *resize(void *array, int64_t count, size_t size)
{
    void *const resized = realloc(array, (size_t)count * size);
    if (!resized) {
        free(array);
    }
    return resized;
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
    const int64_t n_k = slots[2];
    int64_t count = slots[3];
    const int32_t *restrict A2_pos = (const int32_t *)slots[4];
    const int32_t *restrict A2_crd = (const int32_t *)slots[5];
    const int32_t *restrict B2_pos = (const int32_t *)slots[7];
    const int32_t *restrict B2_crd = (const int32_t *)slots[8];
    int32_t *restrict C2_pos = (int32_t *)slots[10];
    C2_pos[0] = 0;
    int failed = 0;
    {
        int64_t begun[16 * threads];
        for (int64_t n_ = 0; n_ < 16 * threads; n_++) {
            begun[n_] = 0;
        }
        #pragma omp parallel num_threads(threads) reduction(| : failed)
        {
            int64_t room = 1;
            uint8_t *restrict seen = allocate_zero(n_k, sizeof *seen);
            failed |= !seen;
            int32_t *list = allocate(room, sizeof *list);
            failed |= !list;
            int64_t i_turn = 0;
            const int64_t i_trips = n_i;
            const int64_t i_chunk = threads > 1 ? 4 : max_i64(i_trips, 1);
            const int64_t i_parts = (i_trips + (i_chunk - 1)) / i_chunk;
            for (int64_t i_part; (i_part = next_part(begun, 0, &i_turn, i_parts)) < i_parts;) {
                const int64_t i_end = min_i64(i_trips, (i_part + 1) * i_chunk);
                for (int64_t i = i_part * i_chunk; i < i_end; i++) {
                    if (failed) {
                        continue;
                    }
                    int64_t n = 0;
                    for (int64_t pa = A2_pos[i]; pa < A2_pos[i + 1]; pa++) {
                        const int64_t j = A2_crd[pa];
                        for (int64_t pb = B2_pos[j]; pb < B2_pos[j + 1]; pb++) {
                            const int64_t k = B2_crd[pb];
                            if (!seen[k]) {
                                seen[k] = 1;
                                if (n + 1 > room) {
                                    room = max_i64(n + 1, 2 * room);
                                    list = resize(list, room, sizeof *list);
                                    if (!list) {
                                        failed = 1;
                                        goto next_i;
                                    }
                                }
                                list[n] = (int32_t)k;
                                n++;
                            }
                        }
                    }
                    for (int64_t q = 0; q < n; q++) {
                        seen[list[q]] = 0;
                    }
                    C2_pos[i + 1] = (int32_t)n;
                next_i:;
                }
            }
            free(list);
            free(seen);
        }
    }
    if (failed) {
        return 1;
    }
    prefix_sum_i32(C2_pos, n_i + 1);
    count = C2_pos[n_i];
    slots[3] = count;
    return 0;
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int64_t n_k = slots[2];
    const int32_t *restrict A2_pos = (const int32_t *)slots[4];
    const int32_t *restrict A2_crd = (const int32_t *)slots[5];
    const float *restrict A_vals = (const float *)slots[6];
    const int32_t *restrict B2_pos = (const int32_t *)slots[7];
    const int32_t *restrict B2_crd = (const int32_t *)slots[8];
    const float *restrict B_vals = (const float *)slots[9];
    const int32_t *restrict C2_pos = (const int32_t *)slots[10];
    int32_t *restrict C2_crd = (int32_t *)slots[11];
    float *restrict C_vals = (float *)slots[12];
    int failed = 0;
    #pragma omp parallel num_threads(threads) reduction(| : failed)
    {
        uint8_t *restrict seen = allocate(n_k, sizeof *seen);
        failed |= !seen;
        if (!failed) {
            memset(seen, 0, (size_t)n_k * sizeof *seen);
        }
        float *restrict w = allocate(n_k, sizeof *w);
        failed |= !w;
        #pragma omp for schedule(static) nowait
        for (int64_t i = 0; i < n_i; i++) {
            if (failed) {
                continue;
            }
            const int64_t first = C2_pos[i];
            const int64_t last = C2_pos[i + 1];
            int64_t n = first;
            for (int64_t pa = A2_pos[i]; pa < A2_pos[i + 1]; pa++) {
                const int64_t j = A2_crd[pa];
                for (int64_t pb = B2_pos[j]; pb < B2_pos[j + 1]; pb++) {
                    const int64_t k = B2_crd[pb];
                    if (!seen[k]) {
                        seen[k] = 1;
                        C2_crd[n] = (int32_t)k;
                        n++;
                        w[k] = 0.0f;
                    }
                    w[k] += A_vals[pa] * B_vals[pb];
                }
            }
            sort_i32(C2_crd + first, last - first);
            for (int64_t q = first; q < last; q++) {
                const int64_t v = C2_crd[q];
                C_vals[q] = w[v];
                seen[v] = 0;
            }
        }
        free(w);
        free(seen);
    }
    if (failed) {
        return 1;
    }
    return 0;
}
