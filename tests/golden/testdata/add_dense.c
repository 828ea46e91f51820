/* C(i,j) = A(i,j) + D(i,j)
 * A: "ds" of f32
 * D: "dd" of f32
 * C: "dd" of f32
 * reorder(i, j)
 * parallelize(i, threads)
 * threads take blocks of equally many i, where there is enough to compute
 */
int omp_get_num_threads(void);
int omp_get_thread_num(void);
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;

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

static __attribute__((noinline)) void kernel_compute_part(int64_t *slots, const int64_t i_begin, const int64_t i_end)
{
    const int64_t n_j = slots[2];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[3];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[4];
    const float *restrict A_vals = (const float *)slots[5];
    const float *restrict D_vals = (const float *)slots[6];
    float *restrict C_vals = (float *)slots[7];
    for (int64_t i = i_begin; i < i_end; i++) {
        #pragma omp simd
        for (int64_t j = 0; j < n_j; j++) {
            C_vals[i * n_j + j] = D_vals[i * n_j + j];
        }
        for (int64_t A_p2 = A_pos2[i]; A_p2 < A_pos2[i + 1]; A_p2++) {
            const int64_t j_2 = A_crd2[A_p2];
            C_vals[i * n_j + j_2] = A_vals[A_p2] + D_vals[i * n_j + j_2];
        }
    }
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int64_t n_j = slots[2];
    const int64_t team = n_i * n_j > 32768 ? threads : 1;
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
