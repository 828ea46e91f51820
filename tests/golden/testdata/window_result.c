/* C(i(2:34),j) = A(i,j)
 * A: "ds" of f32
 * C: "ds" of f32
 * reorder(i, j)
 * parallelize(i, threads)
 * threads take blocks of equally many i, where there is enough to compute
 */
int omp_get_num_threads(void);
int omp_get_thread_num(void);
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __SIZE_TYPE__ size_t;
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

int32_t kernel_assemble(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[3];
    const int64_t C_mode1 = slots[6];
    int64_t C_count2 = slots[7];
    int32_t *restrict C_pos2 = (int32_t *)slots[8];
    if (C_mode1 < 34) {
        return 3;
    }
    if (n_i != 32) {
        return 3;
    }
    memset(C_pos2, 0, (size_t)(C_mode1 + 1) * sizeof *C_pos2);
    const int64_t team = A_pos2[n_i] > 12000 ? threads : 1;
    {
        int64_t begun[16 * team];
        for (int64_t n = 0; n < 16 * team; n++) {
            begun[n] = 0;
        }
        #pragma omp parallel num_threads(team)
        {
            int64_t i_turn = 0;
            const int64_t i_trips = n_i;
            const int64_t i_chunk = team > 1 ? max_i64(1, n_i / (threads * 16)) : max_i64(i_trips, 1);
            const int64_t i_parts = (i_trips + (i_chunk - 1)) / i_chunk;
            for (int64_t i_part; (i_part = next_part(begun, 0, &i_turn, i_parts)) < i_parts;) {
                const int64_t i_end = min_i64(i_trips, (i_part + 1) * i_chunk);
                for (int64_t i = i_part * i_chunk; i < i_end; i++) {
                    int64_t C_p2 = 0;
                    for (int64_t A_p2 = A_pos2[i]; A_p2 < A_pos2[i + 1]; A_p2++) {
                        C_p2++;
                    }
                    C_pos2[i + 3] = (int32_t)C_p2;
                }
            }
        }
    }
    int64_t total = 0;
    for (int64_t p = 0; p < C_mode1; p++) {
        total += C_pos2[p + 1];
        C_pos2[p + 1] = (int32_t)total;
    }
    if (total > 2147483647) {
        return 2;
    }
    C_count2 = total;
    slots[7] = C_count2;
    return 0;
}

static __attribute__((noinline)) void kernel_compute_part(int64_t *slots, const int64_t i_begin, const int64_t i_end)
{
    const int32_t *restrict A_pos2 = (const int32_t *)slots[3];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[4];
    const float *restrict A_vals = (const float *)slots[5];
    const int32_t *restrict C_pos2 = (const int32_t *)slots[8];
    int32_t *restrict C_crd2 = (int32_t *)slots[9];
    float *restrict C_vals = (float *)slots[10];
    for (int64_t i = i_begin; i < i_end; i++) {
        int64_t C_p2 = C_pos2[i + 2];
        for (int64_t A_p2 = A_pos2[i]; A_p2 < A_pos2[i + 1]; A_p2++) {
            const int64_t j = A_crd2[A_p2];
            C_vals[C_p2] = A_vals[A_p2];
            C_crd2[C_p2] = (int32_t)j;
            C_p2++;
        }
    }
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[3];
    const int64_t C_mode1 = slots[6];
    if (C_mode1 < 34) {
        return 3;
    }
    if (n_i != 32) {
        return 3;
    }
    const int64_t team = A_pos2[n_i] > 12000 ? threads : 1;
    if (team > 1) {
        int64_t begun[16 * team];
        for (int64_t n = 0; n < 16 * team; n++) {
            begun[n] = 0;
        }
        #pragma omp parallel num_threads(team)
        {
            int64_t i_turn = 0;
            const int64_t i_trips = n_i;
            const int64_t i_chunk = max_i64(1, n_i / (threads * 16));
            const int64_t i_parts = (i_trips + (i_chunk - 1)) / i_chunk;
            for (int64_t i_part; (i_part = next_part(begun, 0, &i_turn, i_parts)) < i_parts;) {
                kernel_compute_part(slots, i_part * i_chunk, min_i64(i_trips, (i_part + 1) * i_chunk));
            }
        }
    } else {
        kernel_compute_part(slots, 0, n_i);
    }
    return 0;
}
