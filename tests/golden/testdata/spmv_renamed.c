/* out(i) = A(i,j) * x(j)
 * A: "ds" of f32
 * x: "d" of f32
 * out: "d" of f32
 * split(i, i0, i1, 8)
 * precompute(all, w, at=1, tile, rename=i1:iw)
 * vectorize(i1)
 * parallelize(i0, threads)
 */
int omp_get_num_threads(void);
int omp_get_thread_num(void);
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;

typedef float f32x8 __attribute__((vector_size(32), aligned(4), may_alias));

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

static __attribute__((noinline)) void kernel_compute_part(int64_t *slots, const int64_t i0_begin, const int64_t i0_end)
{
    const int64_t n_i = slots[1];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[3];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[4];
    const float *restrict A_vals = (const float *)slots[5];
    const float *restrict x_vals = (const float *)slots[6];
    float *restrict out_vals = (float *)slots[7];
    for (int64_t i0 = i0_begin; i0 < i0_end; i0++) {
        float w[8] __attribute__((aligned(64)));
        *(f32x8 *)&w[0] = (f32x8){0};
        for (int64_t iw = 0; iw < min_i64(8, n_i - i0 * 8); iw++) {
            for (int64_t A_p2 = A_pos2[i0 * 8 + iw]; A_p2 < A_pos2[i0 * 8 + iw + 1]; A_p2++) {
                const int64_t j = A_crd2[A_p2];
                w[iw] += A_vals[A_p2] * x_vals[j];
            }
        }
        #pragma omp simd
        for (int64_t i1 = 0; i1 < min_i64(8, n_i - i0 * 8); i1++) {
            out_vals[i0 * 8 + i1] = w[i1];
        }
    }
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[3];
    const int64_t team = A_pos2[n_i] > 20000 ? threads : 1;
    if (team > 1) {
        int64_t begun[16 * team];
        for (int64_t n = 0; n < 16 * team; n++) {
            begun[n] = 0;
        }
        #pragma omp parallel num_threads(team)
        {
            int64_t i0_turn = 0;
            const int64_t i0_trips = (n_i + 7) / 8;
            const int64_t i0_chunk = max_i64(1, (n_i + 7) / 8 / (threads * 16));
            const int64_t i0_parts = (i0_trips + (i0_chunk - 1)) / i0_chunk;
            for (int64_t i0_part; (i0_part = next_part(begun, 0, &i0_turn, i0_parts)) < i0_parts;) {
                kernel_compute_part(slots, i0_part * i0_chunk, min_i64(i0_trips, (i0_part + 1) * i0_chunk));
            }
        }
    } else {
        kernel_compute_part(slots, 0, (n_i + 7) / 8);
    }
    return 0;
}
