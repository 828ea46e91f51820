/* out(i,j) = A(i,j) * Q(i,k) * K(j,k)
 * A: "ds" of f32
 * Q: "dd" of f32
 * K: "dd" of f32
 * out: "ds" of f32, pattern of A
 * reorder(i, j, k)
 * precompute(Q*K, w, at=2, tile)
 * prefetch(j, 12)
 * unroll(j, 4)
 * bound(k, 128)
 * vectorize(k)
 * parallelize(i, threads)
 * workspace w: a scalar, since [k] is summed inside each element
 * factors other than Q*K are multiplied once for each element
 * rows of K are brought near 12 iterations ahead, since entries of A are scattered
 * 4 elements over j are summed at once: they share what is loaded, and vectors of sums are reduced together
 * threads take blocks of i with equal numbers of entries of A, where there are enough of them
 */
int omp_get_num_threads(void);
int omp_get_thread_num(void);
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;

typedef float f32x4 __attribute__((vector_size(16), aligned(4), may_alias));
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

static inline f32x4 reduce4_add_f32x8(f32x8 a, f32x8 b, f32x8 c, f32x8 d)
{
    const f32x8 level0_0 = (f32x8){a[0], b[0], a[1], b[1], a[4], b[4], a[5], b[5]} + (f32x8){a[2], b[2], a[3], b[3], a[6], b[6], a[7], b[7]};
    const f32x8 level0_1 = (f32x8){c[0], d[0], c[1], d[1], c[4], d[4], c[5], d[5]} + (f32x8){c[2], d[2], c[3], d[3], c[6], d[6], c[7], d[7]};
    const f32x8 level1 = (f32x8){level0_0[0], level0_0[1], level0_1[0], level0_1[1], level0_0[4], level0_0[5], level0_1[4], level0_1[5]} + (f32x8){level0_0[2], level0_0[3], level0_1[2], level0_1[3], level0_0[6], level0_0[7], level0_1[6], level0_1[7]};
    const f32x4 half4 = *(const f32x4 *)&level1 + *((const f32x4 *)&level1 + 1);
    return half4;
}

static inline float reduce_add_f32x8(f32x8 a)
{
    const f32x8 level0 = a + (f32x8){a[2], a[3], a[0], a[1], a[6], a[7], a[4], a[5]};
    const f32x8 level1 = level0 + (f32x8){level0[1], level0[0], level0[3], level0[2], level0[5], level0[4], level0[7], level0[6]};
    const f32x4 half4 = *(const f32x4 *)&level1 + *((const f32x4 *)&level1 + 1);
    return half4[0];
}

static __attribute__((noinline)) void kernel_compute_part(int64_t *slots, const int64_t part)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[4];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[5];
    const float *restrict A_vals = (const float *)slots[6];
    const float *restrict Q_vals = (const float *)slots[7];
    const float *restrict K_vals = (const float *)slots[8];
    float *restrict out_vals = (float *)slots[9];
    const int64_t parts = (int64_t)A_pos2[n_i] * 128 > 32768 && threads > 1 ? max_i64(threads, min_i64(threads * 16, (int64_t)A_pos2[n_i] * 128 / 8192)) : 1;
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
        const int64_t A_p2_ahead = min_i64(12, (int64_t)A_pos2[n_i] - A_pos2[i + 1]);
        const int64_t A_p2_end = A_pos2[i + 1];
        const int64_t A_p2_rest = A_pos2[i] + (A_p2_end - A_pos2[i]) / 4 * 4;
        for (int64_t A_p2 = A_pos2[i]; A_p2 < A_p2_rest; A_p2 += 4) {
            const int64_t j_ahead_2 = A_crd2[A_p2 + A_p2_ahead];
            __builtin_prefetch(&K_vals[j_ahead_2 * 128]);
            __builtin_prefetch(&K_vals[j_ahead_2 * 128 + 32]);
            __builtin_prefetch(&K_vals[j_ahead_2 * 128 + 64]);
            __builtin_prefetch(&K_vals[j_ahead_2 * 128 + 96]);
            const int64_t j_2 = A_crd2[A_p2];
            const int64_t j_ahead_3 = A_crd2[A_p2 + 1 + A_p2_ahead];
            __builtin_prefetch(&K_vals[j_ahead_3 * 128]);
            __builtin_prefetch(&K_vals[j_ahead_3 * 128 + 32]);
            __builtin_prefetch(&K_vals[j_ahead_3 * 128 + 64]);
            __builtin_prefetch(&K_vals[j_ahead_3 * 128 + 96]);
            const int64_t j_3 = A_crd2[A_p2 + 1];
            const int64_t j_ahead_4 = A_crd2[A_p2 + 2 + A_p2_ahead];
            __builtin_prefetch(&K_vals[j_ahead_4 * 128]);
            __builtin_prefetch(&K_vals[j_ahead_4 * 128 + 32]);
            __builtin_prefetch(&K_vals[j_ahead_4 * 128 + 64]);
            __builtin_prefetch(&K_vals[j_ahead_4 * 128 + 96]);
            const int64_t j_4 = A_crd2[A_p2 + 2];
            const int64_t j_ahead_5 = A_crd2[A_p2 + 3 + A_p2_ahead];
            __builtin_prefetch(&K_vals[j_ahead_5 * 128]);
            __builtin_prefetch(&K_vals[j_ahead_5 * 128 + 32]);
            __builtin_prefetch(&K_vals[j_ahead_5 * 128 + 64]);
            __builtin_prefetch(&K_vals[j_ahead_5 * 128 + 96]);
            const int64_t j_5 = A_crd2[A_p2 + 3];
            f32x8 w_lanes = (f32x8){0};
            f32x8 w_lanes_2 = (f32x8){0};
            f32x8 w_lanes_3 = (f32x8){0};
            f32x8 w_lanes_4 = (f32x8){0};
            #pragma GCC unroll 16
            for (int64_t k_2 = 0; k_2 < 128; k_2 += 8) {
                w_lanes += *(const f32x8 *)&Q_vals[i * 128 + k_2] * *(const f32x8 *)&K_vals[j_2 * 128 + k_2];
                w_lanes_2 += *(const f32x8 *)&Q_vals[i * 128 + k_2] * *(const f32x8 *)&K_vals[j_3 * 128 + k_2];
                w_lanes_3 += *(const f32x8 *)&Q_vals[i * 128 + k_2] * *(const f32x8 *)&K_vals[j_4 * 128 + k_2];
                w_lanes_4 += *(const f32x8 *)&Q_vals[i * 128 + k_2] * *(const f32x8 *)&K_vals[j_5 * 128 + k_2];
            }
            const f32x4 w_2 = reduce4_add_f32x8(w_lanes, w_lanes_2, w_lanes_3, w_lanes_4);
            *(f32x4 *)&out_vals[A_p2] = *(const f32x4 *)&A_vals[A_p2] * w_2;
        }
        for (int64_t A_p2_2 = A_p2_rest; A_p2_2 < A_p2_end; A_p2_2++) {
            const int64_t j_ahead = A_crd2[A_p2_2 + A_p2_ahead];
            __builtin_prefetch(&K_vals[j_ahead * 128]);
            __builtin_prefetch(&K_vals[j_ahead * 128 + 32]);
            __builtin_prefetch(&K_vals[j_ahead * 128 + 64]);
            __builtin_prefetch(&K_vals[j_ahead * 128 + 96]);
            const int64_t j = A_crd2[A_p2_2];
            f32x8 w_lanes_5 = (f32x8){0};
            #pragma GCC unroll 16
            for (int64_t k_3 = 0; k_3 < 128; k_3 += 8) {
                w_lanes_5 += *(const f32x8 *)&Q_vals[i * 128 + k_3] * *(const f32x8 *)&K_vals[j * 128 + k_3];
            }
            const float w = reduce_add_f32x8(w_lanes_5);
            out_vals[A_p2_2] = A_vals[A_p2_2] * w;
        }
    }
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int64_t n_k = slots[3];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[4];
    if (n_k != 128) {
        return 3;
    }
    const int64_t parts = (int64_t)A_pos2[n_i] * 128 > 32768 && threads > 1 ? max_i64(threads, min_i64(threads * 16, (int64_t)A_pos2[n_i] * 128 / 8192)) : 1;
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
