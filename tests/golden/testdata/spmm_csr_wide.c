/* out(i,k) = A(i,j) * B(j,k)
 * A: "ds" of f32
 * B: "dd" of f32
 * out: "dd" of f32
 * reorder(i, j, k)
 * split(k, k0, k1, 64, tail=16)
 * reorder(i, k0, j, k1)
 * precompute(all, w, at=2, tile)
 * vectorize(k1)
 * parallelize(i, threads)
 * k in tiles of 64: the sums of a tile stay in registers across the reduction (tail in tiles of 16)
 * the loop over tiles stays inside: the sizes of the caches are not known
 * threads take blocks of i with equal numbers of entries of A, where there are enough of them
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

static __attribute__((noinline)) void kernel_compute_part(int64_t *slots, const int64_t part)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int64_t n_k = slots[2];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[4];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[5];
    const float *restrict A_vals = (const float *)slots[6];
    const float *restrict B_vals = (const float *)slots[7];
    float *restrict out_vals = (float *)slots[8];
    const int64_t parts = A_pos2[n_i] * n_k > 32768 && threads > 1 ? max_i64(threads, min_i64(threads * 16, A_pos2[n_i] * n_k / 8192)) : 1;
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
        for (int64_t k0 = 0; k0 < n_k - 63; k0 += 64) {
            float w[64] __attribute__((aligned(64)));
            #pragma GCC unroll 8
            for (int64_t q = 0; q < 64; q += 8) {
                *(f32x8 *)&w[q] = (f32x8){0};
            }
            for (int64_t A_p2 = A_pos2[i]; A_p2 < A_pos2[i + 1]; A_p2++) {
                const int64_t j = A_crd2[A_p2];
                #pragma GCC unroll 8
                for (int64_t k1 = 0; k1 < 64; k1 += 8) {
                    *(f32x8 *)&w[k1] += A_vals[A_p2] * *(const f32x8 *)&B_vals[j * n_k + (k0 + k1)];
                }
            }
            #pragma GCC unroll 8
            for (int64_t k1_2 = 0; k1_2 < 64; k1_2 += 8) {
                *(f32x8 *)&out_vals[i * n_k + (k0 + k1_2)] = *(f32x8 *)&w[k1_2];
            }
        }
        for (int64_t k0_2 = n_k / 64 * 64; k0_2 < n_k; k0_2 += 16) {
            const int64_t k0_shifted = min_i64(k0_2, n_k - 16);
            float w_2[16] __attribute__((aligned(64)));
            #pragma GCC unroll 2
            for (int64_t q_2 = 0; q_2 < 16; q_2 += 8) {
                *(f32x8 *)&w_2[q_2] = (f32x8){0};
            }
            for (int64_t A_p2_2 = A_pos2[i]; A_p2_2 < A_pos2[i + 1]; A_p2_2++) {
                const int64_t j_2 = A_crd2[A_p2_2];
                #pragma GCC unroll 2
                for (int64_t k1_3 = 0; k1_3 < 16; k1_3 += 8) {
                    *(f32x8 *)&w_2[k1_3] += A_vals[A_p2_2] * *(const f32x8 *)&B_vals[j_2 * n_k + (k0_shifted + k1_3)];
                }
            }
            #pragma GCC unroll 2
            for (int64_t k1_4 = 0; k1_4 < 16; k1_4 += 8) {
                *(f32x8 *)&out_vals[i * n_k + (k0_shifted + k1_4)] = *(f32x8 *)&w_2[k1_4];
            }
        }
    }
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int64_t n_k = slots[2];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[4];
    if (n_k < 16) {
        return 3;
    }
    const int64_t parts = A_pos2[n_i] * n_k > 32768 && threads > 1 ? max_i64(threads, min_i64(threads * 16, A_pos2[n_i] * n_k / 8192)) : 1;
    const int64_t team = parts > 1 ? threads : 1;
    if (team > 1) {
        int64_t begun[16 * team];
        for (int64_t n = 0; n < 16 * team; n++) {
            begun[n] = 0;
        }
        #pragma omp parallel num_threads(team)
        {
            int64_t part_turn = 0;
            for (int64_t part; (part = next_part(begun, 0, &part_turn, parts)) < parts;) {
                kernel_compute_part(slots, part);
            }
        }
    } else {
        for (int64_t part = 0; part < parts; part++) {
            kernel_compute_part(slots, part);
        }
    }
    return 0;
}
