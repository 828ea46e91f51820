/* C(i,k) = A(i,j) * B(j,k)
 * A: ds, B: dd, C: dd
 * parallel over i: rows of C are independent
 */
int omp_get_num_threads(void);
int omp_get_thread_num(void);
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;

typedef float f32x2 __attribute__((vector_size(8), aligned(4), may_alias));
typedef float f32x4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef float f32x8 __attribute__((vector_size(32), aligned(4), may_alias));

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
    const int32_t *restrict A2_pos = (const int32_t *)slots[2];
    const int32_t *restrict A2_crd = (const int32_t *)slots[3];
    const float *restrict A_vals = (const float *)slots[4];
    const float *restrict B_vals = (const float *)slots[5];
    float *restrict C_vals = (float *)slots[6];
    // one row of C at a time
    for (int64_t i = i_begin; i < i_end; i++) {
        float w[71] __attribute__((aligned(64))) = {0};
        for (int64_t pA = A2_pos[i]; pA < A2_pos[i + 1]; pA++) {
            const int64_t j = A2_crd[pA];
            const float a = A_vals[pA];
            #pragma GCC unroll 8
            for (int64_t k = 0; k < 64; k += 8) {
                *(f32x8 *)&w[k] += a * *(const f32x8 *)&B_vals[j * 71 + k];
            }
            *(f32x4 *)&w[64] += a * *(const f32x4 *)&B_vals[j * 71 + 64];
            *(f32x2 *)&w[68] += a * *(const f32x2 *)&B_vals[j * 71 + 68];
            w[70] += a * B_vals[j * 71 + 70];
        }
        #pragma GCC unroll 8
        for (int64_t k2 = 0; k2 < 64; k2 += 8) {
            *(f32x8 *)&C_vals[i * 71 + k2] = *(f32x8 *)&w[k2];
        }
        *(f32x4 *)&C_vals[i * 71 + 64] = *(f32x4 *)&w[64];
        *(f32x2 *)&C_vals[i * 71 + 68] = *(f32x2 *)&w[68];
        C_vals[i * 71 + 70] = w[70];
    }
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int64_t team = 1 < threads ? threads : 1;
    if (team > 1) {
        int64_t begun[16 * team];
        for (int64_t n = 0; n < 16 * team; n++) {
            begun[n] = 0;
        }
        #pragma omp parallel num_threads(team)
        {
            int64_t i_turn = 0;
            const int64_t i_trips = n_i;
            const int64_t i_chunk = 16;
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
