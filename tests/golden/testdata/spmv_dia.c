/* out(i) = A(i,j) * x(j)
 * A: "do" of f32
 * x: "d" of f32
 * out: "d" of f32
 * reorder(i, j)
 * precompute(all, w, at=1, tile)
 * unroll(i, 16)
 * parallelize(i, threads)
 * workspace w: a scalar, since [j] is summed inside each element
 * 16 elements over i are summed at once, each in a lane: their entries stand side by side in A
 * threads take blocks of equally many i, where there is enough to compute
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

static __attribute__((noinline)) void kernel_compute_part(int64_t *slots, const int64_t i_group_begin, const int64_t i_group_end)
{
    const int64_t n_i = slots[1];
    const int64_t n_j = slots[2];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[3];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[4];
    const float *restrict A_vals = (const float *)slots[5];
    const float *restrict x_vals = (const float *)slots[6];
    float *restrict out_vals = (float *)slots[7];
    for (int64_t i_group = i_group_begin; i_group < i_group_end; i_group++) {
        const int64_t i = i_group * 16;
        const int64_t i_end = min_i64(n_i, i_group * 16 + 16);
        f32x8 w_lanes = (f32x8){0};
        const int64_t i_2 = i + 8;
        f32x8 w_lanes_2 = (f32x8){0};
        const int64_t A_p2_begin = 0;
        const int64_t A_p2_end = A_pos2[0];
        if (i_end - i >= 16) {
            for (int64_t A_p2_2 = A_p2_begin; A_p2_2 < A_p2_end; A_p2_2++) {
                const int64_t A_p2_place = i + A_crd2[A_p2_2];
                if (A_p2_place >= 0 && A_p2_place + 7 < n_j) {
                    w_lanes += *(const f32x8 *)&A_vals[A_p2_2 * n_i + i] * *(const f32x8 *)&x_vals[i + A_crd2[A_p2_2]];
                } else {
                    if (A_p2_place + 7 >= 0 && A_p2_place < n_j) {
                        float w_2[8] __attribute__((aligned(64)));
                        *(f32x8 *)&w_2[0] = w_lanes;
                        for (int64_t lane = 0; lane < 8; lane++) {
                            if ((i + lane + A_crd2[A_p2_2] >= 0) & (i + lane + A_crd2[A_p2_2] < n_j)) {
                                w_2[lane] += A_vals[A_p2_2 * n_i + (i + lane)] * x_vals[i + lane + A_crd2[A_p2_2]];
                            }
                        }
                        w_lanes = *(f32x8 *)&w_2[0];
                    }
                }
                const int64_t A_p2_place_2 = i_2 + A_crd2[A_p2_2];
                if (A_p2_place_2 >= 0 && A_p2_place_2 + 7 < n_j) {
                    w_lanes_2 += *(const f32x8 *)&A_vals[A_p2_2 * n_i + i_2] * *(const f32x8 *)&x_vals[i_2 + A_crd2[A_p2_2]];
                } else {
                    if (A_p2_place_2 + 7 >= 0 && A_p2_place_2 < n_j) {
                        float w_3[8] __attribute__((aligned(64)));
                        *(f32x8 *)&w_3[0] = w_lanes_2;
                        for (int64_t lane_2 = 0; lane_2 < 8; lane_2++) {
                            if ((i_2 + lane_2 + A_crd2[A_p2_2] >= 0) & (i_2 + lane_2 + A_crd2[A_p2_2] < n_j)) {
                                w_3[lane_2] += A_vals[A_p2_2 * n_i + (i_2 + lane_2)] * x_vals[i_2 + lane_2 + A_crd2[A_p2_2]];
                            }
                        }
                        w_lanes_2 = *(f32x8 *)&w_3[0];
                    }
                }
            }
            *(f32x8 *)&out_vals[i] = w_lanes;
            *(f32x8 *)&out_vals[i_2] = w_lanes_2;
        } else {
            float w_4[8] __attribute__((aligned(64)));
            *(f32x8 *)&w_4[0] = w_lanes;
            for (int64_t lane_3 = 0; lane_3 < min_i64(8, i_end - i); lane_3++) {
                for (int64_t A_p2_3 = A_p2_begin; A_p2_3 < A_p2_end; A_p2_3++) {
                    if ((i + lane_3 + A_crd2[A_p2_3] >= 0) & (i + lane_3 + A_crd2[A_p2_3] < n_j)) {
                        w_4[lane_3] += A_vals[A_p2_3 * n_i + (i + lane_3)] * x_vals[i + lane_3 + A_crd2[A_p2_3]];
                    }
                }
            }
            w_lanes = *(f32x8 *)&w_4[0];
            float w_5[8] __attribute__((aligned(64)));
            *(f32x8 *)&w_5[0] = w_lanes_2;
            for (int64_t lane_4 = 0; lane_4 < min_i64(8, i_end - i_2); lane_4++) {
                for (int64_t A_p2_4 = A_p2_begin; A_p2_4 < A_p2_end; A_p2_4++) {
                    if ((i_2 + lane_4 + A_crd2[A_p2_4] >= 0) & (i_2 + lane_4 + A_crd2[A_p2_4] < n_j)) {
                        w_5[lane_4] += A_vals[A_p2_4 * n_i + (i_2 + lane_4)] * x_vals[i_2 + lane_4 + A_crd2[A_p2_4]];
                    }
                }
            }
            w_lanes_2 = *(f32x8 *)&w_5[0];
            float w_6[8] __attribute__((aligned(64)));
            *(f32x8 *)&w_6[0] = w_lanes;
            for (int64_t lane_5 = 0; lane_5 < min_i64(8, i_end - i); lane_5++) {
                out_vals[i + lane_5] = w_6[lane_5];
            }
            float w_7[8] __attribute__((aligned(64)));
            *(f32x8 *)&w_7[0] = w_lanes_2;
            for (int64_t lane_6 = 0; lane_6 < min_i64(8, i_end - i_2); lane_6++) {
                out_vals[i_2 + lane_6] = w_7[lane_6];
            }
        }
    }
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[3];
    const int64_t team = n_i * A_pos2[0] > 20000 ? threads : 1;
    if (team > 1) {
        int64_t begun[16 * team];
        for (int64_t n = 0; n < 16 * team; n++) {
            begun[n] = 0;
        }
        #pragma omp parallel num_threads(team)
        {
            int64_t i_group_turn = 0;
            const int64_t i_group_trips = (n_i + 15) / 16;
            const int64_t i_group_chunk = max_i64(1, (n_i + 15) / 16 / (threads * 16));
            const int64_t i_group_parts = (i_group_trips + (i_group_chunk - 1)) / i_group_chunk;
            for (int64_t i_group_part; (i_group_part = next_part(begun, 0, &i_group_turn, i_group_parts)) < i_group_parts;) {
                kernel_compute_part(slots, i_group_part * i_group_chunk, min_i64(i_group_trips, (i_group_part + 1) * i_group_chunk));
            }
        }
    } else {
        kernel_compute_part(slots, 0, (n_i + 15) / 16);
    }
    return 0;
}
