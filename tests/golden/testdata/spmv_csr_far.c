/* out(i) = A(i,j) * x(j)
 * A: "ds" of f32
 * x: "d" of f32
 * out: "d" of f32
 * reorder(i, j)
 * precompute(all, w, at=1, tile)
 * vectorize(j)
 * unroll(i, 4)
 * ahead(j, A, 512)
 * parallelize(i, threads)
 * workspace w: a scalar, since [j] is summed inside each element
 * sums over j are kept in lanes, which don't wait for each other
 * the lanes of 4 elements over i are reduced together
 * entries of A are brought near 512 ahead, since they are too many for the caches, and scattered
 * threads take blocks of i with equal numbers of entries of A, where there are enough of them
 */
int omp_get_num_threads(void);
int omp_get_thread_num(void);
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;

typedef float f32x4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t i32x4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef int64_t i64x2 __attribute__((vector_size(16), aligned(8), may_alias));

/* Coordinates are read two at a time, since such loops wait for loads. */
static inline f32x4 gather_f32x4(const float *x, const int32_t *crd)
{
    const i64x2 pairs = (i64x2)*(const i32x4 *)crd;
    return (f32x4){x[(uint32_t)pairs[0]], x[pairs[0] >> 32], x[(uint32_t)pairs[1]], x[pairs[1] >> 32]};
}

static inline f32x4 head_f32x4(f32x4 x, int64_t count, f32x4 other)
{
    const i32x4 kept = (i32x4){0, 1, 2, 3} < (int32_t)count;
    return (f32x4)((kept & (i32x4)x) | (~kept & (i32x4)other));
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

static inline f32x4 reduce4_add_f32x4(f32x4 a, f32x4 b, f32x4 c, f32x4 d)
{
    const f32x4 level0_0 = (f32x4){a[0], b[0], a[1], b[1]} + (f32x4){a[2], b[2], a[3], b[3]};
    const f32x4 level0_1 = (f32x4){c[0], d[0], c[1], d[1]} + (f32x4){c[2], d[2], c[3], d[3]};
    const f32x4 level1 = (f32x4){level0_0[0], level0_0[1], level0_1[0], level0_1[1]} + (f32x4){level0_0[2], level0_0[3], level0_1[2], level0_1[3]};
    return level1;
}

static inline float reduce_add_f32x4(f32x4 a)
{
    const f32x4 level0 = a + (f32x4){a[2], a[3], a[0], a[1]};
    const f32x4 level1 = level0 + (f32x4){level0[1], level0[0], level0[3], level0[2]};
    return level1[0];
}

static __attribute__((noinline)) void kernel_compute_part(int64_t *slots, const int64_t part)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[3];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[4];
    const float *restrict A_vals = (const float *)slots[5];
    const float *restrict x_vals = (const float *)slots[6];
    float *restrict out_vals = (float *)slots[7];
    const int64_t parts = A_pos2[n_i] > 20000 && threads > 1 ? max_i64(threads, min_i64(threads * 16, (int64_t)A_pos2[n_i] / 5000)) : 1;
    const int64_t A_p2_within = A_pos2[n_i];
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
    const int64_t i_end_2 = i_end;
    const int64_t i_rest = i_begin + (i_end_2 - i_begin) / 4 * 4;
    for (int64_t i = i_begin; i < i_rest; i += 4) {
        f32x4 w_lanes = (f32x4){0};
        int64_t A_p2_2 = A_pos2[i];
        const int64_t A_p2_end = A_pos2[i + 1];
        while (A_p2_2 + 4 < A_p2_end) {
            __builtin_prefetch((const void *)((uint64_t)A_crd2 + 4 * (uint64_t)(A_p2_2 + 512)));
            __builtin_prefetch((const void *)((uint64_t)A_vals + 4 * (uint64_t)(A_p2_2 + 512)));
            w_lanes += *(const f32x4 *)&A_vals[A_p2_2] * gather_f32x4(x_vals, &A_crd2[A_p2_2]);
            A_p2_2 += 4;
        }
        if (A_p2_2 + 4 <= A_p2_within) {
            w_lanes = head_f32x4(w_lanes + *(const f32x4 *)&A_vals[A_p2_2] * gather_f32x4(x_vals, &A_crd2[A_p2_2]), A_p2_end - A_p2_2, w_lanes);
        } else {
            float w_lanes_2[4] __attribute__((aligned(64)));
            *(f32x4 *)&w_lanes_2[0] = w_lanes;
            for (int64_t A_p2_3 = A_p2_2; A_p2_3 < A_p2_end; A_p2_3++) {
                w_lanes_2[A_p2_3 - A_p2_2] += A_vals[A_p2_3] * x_vals[A_crd2[A_p2_3]];
            }
            w_lanes = *(f32x4 *)&w_lanes_2[0];
        }
        f32x4 w_lanes_3 = (f32x4){0};
        int64_t A_p2_4 = A_pos2[i + 1];
        const int64_t A_p2_end_2 = A_pos2[i + 2];
        while (A_p2_4 + 4 < A_p2_end_2) {
            __builtin_prefetch((const void *)((uint64_t)A_crd2 + 4 * (uint64_t)(A_p2_4 + 512)));
            __builtin_prefetch((const void *)((uint64_t)A_vals + 4 * (uint64_t)(A_p2_4 + 512)));
            w_lanes_3 += *(const f32x4 *)&A_vals[A_p2_4] * gather_f32x4(x_vals, &A_crd2[A_p2_4]);
            A_p2_4 += 4;
        }
        if (A_p2_4 + 4 <= A_p2_within) {
            w_lanes_3 = head_f32x4(w_lanes_3 + *(const f32x4 *)&A_vals[A_p2_4] * gather_f32x4(x_vals, &A_crd2[A_p2_4]), A_p2_end_2 - A_p2_4, w_lanes_3);
        } else {
            float w_lanes_3_2[4] __attribute__((aligned(64)));
            *(f32x4 *)&w_lanes_3_2[0] = w_lanes_3;
            for (int64_t A_p2_5 = A_p2_4; A_p2_5 < A_p2_end_2; A_p2_5++) {
                w_lanes_3_2[A_p2_5 - A_p2_4] += A_vals[A_p2_5] * x_vals[A_crd2[A_p2_5]];
            }
            w_lanes_3 = *(f32x4 *)&w_lanes_3_2[0];
        }
        f32x4 w_lanes_4 = (f32x4){0};
        int64_t A_p2_6 = A_pos2[i + 2];
        const int64_t A_p2_end_3 = A_pos2[i + 3];
        while (A_p2_6 + 4 < A_p2_end_3) {
            __builtin_prefetch((const void *)((uint64_t)A_crd2 + 4 * (uint64_t)(A_p2_6 + 512)));
            __builtin_prefetch((const void *)((uint64_t)A_vals + 4 * (uint64_t)(A_p2_6 + 512)));
            w_lanes_4 += *(const f32x4 *)&A_vals[A_p2_6] * gather_f32x4(x_vals, &A_crd2[A_p2_6]);
            A_p2_6 += 4;
        }
        if (A_p2_6 + 4 <= A_p2_within) {
            w_lanes_4 = head_f32x4(w_lanes_4 + *(const f32x4 *)&A_vals[A_p2_6] * gather_f32x4(x_vals, &A_crd2[A_p2_6]), A_p2_end_3 - A_p2_6, w_lanes_4);
        } else {
            float w_lanes_4_2[4] __attribute__((aligned(64)));
            *(f32x4 *)&w_lanes_4_2[0] = w_lanes_4;
            for (int64_t A_p2_7 = A_p2_6; A_p2_7 < A_p2_end_3; A_p2_7++) {
                w_lanes_4_2[A_p2_7 - A_p2_6] += A_vals[A_p2_7] * x_vals[A_crd2[A_p2_7]];
            }
            w_lanes_4 = *(f32x4 *)&w_lanes_4_2[0];
        }
        f32x4 w_lanes_5 = (f32x4){0};
        int64_t A_p2_8 = A_pos2[i + 3];
        const int64_t A_p2_end_4 = A_pos2[i + 4];
        while (A_p2_8 + 4 < A_p2_end_4) {
            __builtin_prefetch((const void *)((uint64_t)A_crd2 + 4 * (uint64_t)(A_p2_8 + 512)));
            __builtin_prefetch((const void *)((uint64_t)A_vals + 4 * (uint64_t)(A_p2_8 + 512)));
            w_lanes_5 += *(const f32x4 *)&A_vals[A_p2_8] * gather_f32x4(x_vals, &A_crd2[A_p2_8]);
            A_p2_8 += 4;
        }
        if (A_p2_8 + 4 <= A_p2_within) {
            w_lanes_5 = head_f32x4(w_lanes_5 + *(const f32x4 *)&A_vals[A_p2_8] * gather_f32x4(x_vals, &A_crd2[A_p2_8]), A_p2_end_4 - A_p2_8, w_lanes_5);
        } else {
            float w_lanes_5_2[4] __attribute__((aligned(64)));
            *(f32x4 *)&w_lanes_5_2[0] = w_lanes_5;
            for (int64_t A_p2_9 = A_p2_8; A_p2_9 < A_p2_end_4; A_p2_9++) {
                w_lanes_5_2[A_p2_9 - A_p2_8] += A_vals[A_p2_9] * x_vals[A_crd2[A_p2_9]];
            }
            w_lanes_5 = *(f32x4 *)&w_lanes_5_2[0];
        }
        const f32x4 w_2 = reduce4_add_f32x4(w_lanes, w_lanes_3, w_lanes_4, w_lanes_5);
        *(f32x4 *)&out_vals[i] = w_2;
    }
    for (int64_t i_2 = i_rest; i_2 < i_end_2; i_2++) {
        f32x4 w_lanes_6 = (f32x4){0};
        int64_t A_p2_10 = A_pos2[i_2];
        const int64_t A_p2_end_5 = A_pos2[i_2 + 1];
        while (A_p2_10 + 4 < A_p2_end_5) {
            __builtin_prefetch((const void *)((uint64_t)A_crd2 + 4 * (uint64_t)(A_p2_10 + 512)));
            __builtin_prefetch((const void *)((uint64_t)A_vals + 4 * (uint64_t)(A_p2_10 + 512)));
            w_lanes_6 += *(const f32x4 *)&A_vals[A_p2_10] * gather_f32x4(x_vals, &A_crd2[A_p2_10]);
            A_p2_10 += 4;
        }
        if (A_p2_10 + 4 <= A_p2_within) {
            w_lanes_6 = head_f32x4(w_lanes_6 + *(const f32x4 *)&A_vals[A_p2_10] * gather_f32x4(x_vals, &A_crd2[A_p2_10]), A_p2_end_5 - A_p2_10, w_lanes_6);
        } else {
            float w_lanes_6_2[4] __attribute__((aligned(64)));
            *(f32x4 *)&w_lanes_6_2[0] = w_lanes_6;
            for (int64_t A_p2_11 = A_p2_10; A_p2_11 < A_p2_end_5; A_p2_11++) {
                w_lanes_6_2[A_p2_11 - A_p2_10] += A_vals[A_p2_11] * x_vals[A_crd2[A_p2_11]];
            }
            w_lanes_6 = *(f32x4 *)&w_lanes_6_2[0];
        }
        const float w = reduce_add_f32x4(w_lanes_6);
        out_vals[i_2] = w;
    }
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[3];
    const int64_t parts = A_pos2[n_i] > 20000 && threads > 1 ? max_i64(threads, min_i64(threads * 16, (int64_t)A_pos2[n_i] / 5000)) : 1;
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
