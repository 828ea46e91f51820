/* out(i) = A(i,j) * x(j)
 * A: "dl(8)" of f32
 * x: "d" of f32
 * out: "d" of f32
 * reorder(i, j)
 * precompute(all, w, at=1, tile)
 * unroll(j, 4)
 * unroll(i, 8)
 * adjacent(j)
 * parallelize(i, threads)
 * workspace w: a scalar, since [j] is summed inside each element
 * 8 elements over i are summed at once, each in a lane: their entries stand side by side in A
 * what they read by coordinates is loaded at once where these follow each other, as they mostly do
 * threads take blocks of equally many i, where there is enough to compute
 */
int omp_get_num_threads(void);
int omp_get_thread_num(void);
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;

typedef float f32x8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t i32x8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef int64_t i64x4 __attribute__((vector_size(32), aligned(8), may_alias));

static inline int32_t all_negative_i32x8(const int32_t *crd)
{
#if defined __AVX__
    return __builtin_ia32_movmskps256((float __attribute__((vector_size(32))))*(const i32x8 *)crd) == 255;
#else
    const i64x4 pairs = (i64x4)*(const i32x8 *)crd; /* each has a sign at the top of either half */
    return ((uint64_t)(pairs[0] & pairs[1] & pairs[2] & pairs[3]) & 0x8000000080000000) == 0x8000000080000000;
#endif
}

static inline int32_t any_negative_i32x8(const int32_t *crd)
{
#if defined __AVX__
    return __builtin_ia32_movmskps256((float __attribute__((vector_size(32))))*(const i32x8 *)crd) != 0;
#else
    const i64x4 pairs = (i64x4)*(const i32x8 *)crd; /* each has a sign at the top of either half */
    return ((uint64_t)(pairs[0] | pairs[1] | pairs[2] | pairs[3]) & 0x8000000080000000) != 0;
#endif
}

/* Coordinates mostly follow each other; others are read two at a time, since such loops wait for loads. */
static inline f32x8 gather_adjacent_f32x8(const float *x, const int32_t *crd)
{
    const i64x4 apart = (i64x4)((*(const i32x8 *)crd - crd[0]) ^ (i32x8){0, 1, 2, 3, 4, 5, 6, 7});
#if defined __AVX__
    if (__builtin_expect(__builtin_ia32_ptestz256((long long __attribute__((vector_size(32))))apart, (long long __attribute__((vector_size(32))))apart), 1)) {
#else
    if (__builtin_expect((apart[0] | apart[1] | apart[2] | apart[3]) == 0, 1)) {
#endif
        return *(const f32x8 *)&x[crd[0]];
    }
    const i64x4 pairs = (i64x4)*(const i32x8 *)crd;
    return (f32x8){x[(uint32_t)pairs[0]], x[pairs[0] >> 32], x[(uint32_t)pairs[1]], x[pairs[1] >> 32], x[(uint32_t)pairs[2]], x[pairs[2] >> 32], x[(uint32_t)pairs[3]], x[pairs[3] >> 32]};
}

/* Coordinate 0 stands for those that are negative. */
static inline f32x8 gather_present_f32x8(const float *x, const int32_t *crd)
{
    const i32x8 all = *(const i32x8 *)crd;
    const i64x4 pairs = (i64x4)(all & ~(all >> 31));
    return (f32x8){x[(uint32_t)pairs[0]], x[pairs[0] >> 32], x[(uint32_t)pairs[1]], x[pairs[1] >> 32], x[(uint32_t)pairs[2]], x[pairs[2] >> 32], x[(uint32_t)pairs[3]], x[pairs[3] >> 32]};
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

static inline f32x8 where_f32x8_i32(f32x8 x, i32x8 of, f32x8 other)
{
    const i32x8 kept = __builtin_convertvector(of >= 0, i32x8);
    return (f32x8)((kept & (i32x8)x) | (~kept & (i32x8)other));
}

static __attribute__((noinline)) void kernel_compute_part(int64_t *slots, const int64_t i_group_begin, const int64_t i_group_end)
{
    const int64_t n_i = slots[1];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[3];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[4];
    const float *restrict A_vals = (const float *)slots[5];
    const float *restrict x_vals = (const float *)slots[6];
    float *restrict out_vals = (float *)slots[7];
    for (int64_t i_group = i_group_begin; i_group < i_group_end; i_group++) {
        const int64_t i = i_group * 8;
        const int64_t i_end = min_i64(n_i, i_group * 8 + 8);
        f32x8 w_lanes = (f32x8){0};
        f32x8 w_lanes_2 = (f32x8){0};
        f32x8 w_lanes_3 = (f32x8){0};
        f32x8 w_lanes_4 = (f32x8){0};
        const int64_t A_p2_begin = 0;
        const int64_t A_p2_end = (((int64_t)A_pos2[i_group + 1] - A_pos2[i_group]) >> 3);
        if (i_end - i >= 8) {
            int64_t A_p2_2 = A_p2_begin;
            if (A_p2_2 < A_p2_end && !any_negative_i32x8(&A_crd2[A_pos2[i_group] + (i - i_group * 8) + (A_p2_end - 1) * 8])) {
                while (A_p2_2 + 4 <= A_p2_end) {
                    const int64_t A_p2_place = A_pos2[i_group] + (i - i_group * 8) + A_p2_2 * 8;
                    w_lanes += *(const f32x8 *)&A_vals[A_p2_place] * gather_adjacent_f32x8(x_vals, &A_crd2[A_p2_place]);
                    const int64_t A_p2_place_2 = A_pos2[i_group] + (i - i_group * 8) + (A_p2_2 + 1) * 8;
                    w_lanes_2 += *(const f32x8 *)&A_vals[A_p2_place_2] * gather_adjacent_f32x8(x_vals, &A_crd2[A_p2_place_2]);
                    const int64_t A_p2_place_3 = A_pos2[i_group] + (i - i_group * 8) + (A_p2_2 + 2) * 8;
                    w_lanes_3 += *(const f32x8 *)&A_vals[A_p2_place_3] * gather_adjacent_f32x8(x_vals, &A_crd2[A_p2_place_3]);
                    const int64_t A_p2_place_4 = A_pos2[i_group] + (i - i_group * 8) + (A_p2_2 + 3) * 8;
                    w_lanes_4 += *(const f32x8 *)&A_vals[A_p2_place_4] * gather_adjacent_f32x8(x_vals, &A_crd2[A_p2_place_4]);
                    A_p2_2 += 4;
                }
                if (A_p2_2 < A_p2_end) {
                    const int64_t A_p2_place_5 = A_pos2[i_group] + (i - i_group * 8) + A_p2_2 * 8;
                    w_lanes += *(const f32x8 *)&A_vals[A_p2_place_5] * gather_adjacent_f32x8(x_vals, &A_crd2[A_p2_place_5]);
                    if (A_p2_2 + 1 < A_p2_end) {
                        const int64_t A_p2_place_6 = A_pos2[i_group] + (i - i_group * 8) + (A_p2_2 + 1) * 8;
                        w_lanes_2 += *(const f32x8 *)&A_vals[A_p2_place_6] * gather_adjacent_f32x8(x_vals, &A_crd2[A_p2_place_6]);
                        if (A_p2_2 + 2 < A_p2_end) {
                            const int64_t A_p2_place_7 = A_pos2[i_group] + (i - i_group * 8) + (A_p2_2 + 2) * 8;
                            w_lanes_3 += *(const f32x8 *)&A_vals[A_p2_place_7] * gather_adjacent_f32x8(x_vals, &A_crd2[A_p2_place_7]);
                        }
                    }
                }
            } else {
                while (A_p2_2 + 4 <= A_p2_end && !any_negative_i32x8(&A_crd2[A_pos2[i_group] + (i - i_group * 8) + (A_p2_2 + 3) * 8])) {
                    const int64_t A_p2_place_8 = A_pos2[i_group] + (i - i_group * 8) + A_p2_2 * 8;
                    w_lanes += *(const f32x8 *)&A_vals[A_p2_place_8] * gather_adjacent_f32x8(x_vals, &A_crd2[A_p2_place_8]);
                    const int64_t A_p2_place_9 = A_pos2[i_group] + (i - i_group * 8) + (A_p2_2 + 1) * 8;
                    w_lanes_2 += *(const f32x8 *)&A_vals[A_p2_place_9] * gather_adjacent_f32x8(x_vals, &A_crd2[A_p2_place_9]);
                    const int64_t A_p2_place_10 = A_pos2[i_group] + (i - i_group * 8) + (A_p2_2 + 2) * 8;
                    w_lanes_3 += *(const f32x8 *)&A_vals[A_p2_place_10] * gather_adjacent_f32x8(x_vals, &A_crd2[A_p2_place_10]);
                    const int64_t A_p2_place_11 = A_pos2[i_group] + (i - i_group * 8) + (A_p2_2 + 3) * 8;
                    w_lanes_4 += *(const f32x8 *)&A_vals[A_p2_place_11] * gather_adjacent_f32x8(x_vals, &A_crd2[A_p2_place_11]);
                    A_p2_2 += 4;
                }
                while (A_p2_2 < A_p2_end && !all_negative_i32x8(&A_crd2[A_pos2[i_group] + (i - i_group * 8) + A_p2_2 * 8])) {
                    const int64_t A_p2_place_12 = A_pos2[i_group] + (i - i_group * 8) + A_p2_2 * 8;
                    w_lanes = where_f32x8_i32(w_lanes + *(const f32x8 *)&A_vals[A_p2_place_12] * gather_present_f32x8(x_vals, &A_crd2[A_p2_place_12]), *(const i32x8 *)&A_crd2[A_p2_place_12], w_lanes);
                    if (A_p2_2 + 1 < A_p2_end) {
                        const int64_t A_p2_place_13 = A_pos2[i_group] + (i - i_group * 8) + (A_p2_2 + 1) * 8;
                        w_lanes_2 = where_f32x8_i32(w_lanes_2 + *(const f32x8 *)&A_vals[A_p2_place_13] * gather_present_f32x8(x_vals, &A_crd2[A_p2_place_13]), *(const i32x8 *)&A_crd2[A_p2_place_13], w_lanes_2);
                        if (A_p2_2 + 2 < A_p2_end) {
                            const int64_t A_p2_place_14 = A_pos2[i_group] + (i - i_group * 8) + (A_p2_2 + 2) * 8;
                            w_lanes_3 = where_f32x8_i32(w_lanes_3 + *(const f32x8 *)&A_vals[A_p2_place_14] * gather_present_f32x8(x_vals, &A_crd2[A_p2_place_14]), *(const i32x8 *)&A_crd2[A_p2_place_14], w_lanes_3);
                            if (A_p2_2 + 3 < A_p2_end) {
                                const int64_t A_p2_place_15 = A_pos2[i_group] + (i - i_group * 8) + (A_p2_2 + 3) * 8;
                                w_lanes_4 = where_f32x8_i32(w_lanes_4 + *(const f32x8 *)&A_vals[A_p2_place_15] * gather_present_f32x8(x_vals, &A_crd2[A_p2_place_15]), *(const i32x8 *)&A_crd2[A_p2_place_15], w_lanes_4);
                            }
                        }
                    }
                    A_p2_2 += 4;
                }
            }
            w_lanes += w_lanes_3;
            w_lanes_2 += w_lanes_4;
            w_lanes += w_lanes_2;
            *(f32x8 *)&out_vals[i] = w_lanes;
        } else {
            float w_2[32] __attribute__((aligned(64)));
            *(f32x8 *)&w_2[0] = w_lanes;
            *(f32x8 *)&w_2[8] = w_lanes_2;
            *(f32x8 *)&w_2[16] = w_lanes_3;
            *(f32x8 *)&w_2[24] = w_lanes_4;
            for (int64_t lane = 0; lane < min_i64(8, i_end - i); lane++) {
                for (int64_t A_p2_3 = A_p2_begin; A_p2_3 < A_p2_end; A_p2_3++) {
                    if (A_crd2[A_pos2[i_group] + (i + lane - i_group * 8) + A_p2_3 * 8] >= 0) {
                        w_2[(A_p2_3 - A_p2_begin - (A_p2_3 - A_p2_begin) / 4 * 4) * 8 + lane] += A_vals[A_pos2[i_group] + (i + lane - i_group * 8) + A_p2_3 * 8] * x_vals[A_crd2[A_pos2[i_group] + (i + lane - i_group * 8) + A_p2_3 * 8]];
                    }
                }
            }
            w_lanes = *(f32x8 *)&w_2[0];
            w_lanes_2 = *(f32x8 *)&w_2[8];
            w_lanes_3 = *(f32x8 *)&w_2[16];
            w_lanes_4 = *(f32x8 *)&w_2[24];
            w_lanes += w_lanes_3;
            w_lanes_2 += w_lanes_4;
            w_lanes += w_lanes_2;
            float w_3[8] __attribute__((aligned(64)));
            *(f32x8 *)&w_3[0] = w_lanes;
            for (int64_t lane_2 = 0; lane_2 < min_i64(8, i_end - i); lane_2++) {
                out_vals[i + lane_2] = w_3[lane_2];
            }
        }
    }
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[3];
    const int64_t team = A_pos2[(n_i + 7) / 8] > 20000 ? threads : 1;
    if (team > 1) {
        int64_t begun[16 * team];
        for (int64_t n = 0; n < 16 * team; n++) {
            begun[n] = 0;
        }
        #pragma omp parallel num_threads(team)
        {
            int64_t i_group_turn = 0;
            const int64_t i_group_trips = (n_i + 7) / 8;
            const int64_t i_group_chunk = max_i64(1, (n_i + 7) / 8 / (threads * 16));
            const int64_t i_group_parts = (i_group_trips + (i_group_chunk - 1)) / i_group_chunk;
            for (int64_t i_group_part; (i_group_part = next_part(begun, 0, &i_group_turn, i_group_parts)) < i_group_parts;) {
                kernel_compute_part(slots, i_group_part * i_group_chunk, min_i64(i_group_trips, (i_group_part + 1) * i_group_chunk));
            }
        }
    } else {
        kernel_compute_part(slots, 0, (n_i + 7) / 8);
    }
    return 0;
}
