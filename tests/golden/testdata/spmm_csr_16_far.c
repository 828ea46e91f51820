/* out(i,k) = A(i,j) * B(j,k)
 * A: "ds" of f32
 * B: "dd" of f32
 * out: "dd" of f32
 * reorder(i, j, k)
 * bound(k, 16)
 * precompute(all, w, at=1, tile)
 * unroll(j, 2)
 * vectorize(k)
 * ahead(j, A, 128)
 * parallelize(i, threads)
 * 2 entries over j are added to sums of their own at once in long rows, since few vectors of sums wait for each other
 * workspace w: 16 sums over k in registers across the reduction
 * entries of A are brought near 128 ahead, since they are too many for the caches, and scattered
 * threads take blocks of i with equal numbers of entries of A, where there are enough of them
 */
#define NULL ((void *)0)
int omp_get_num_threads(void);
int omp_get_thread_num(void);
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __UINT8_TYPE__ uint8_t;

typedef float f32x8 __attribute__((vector_size(32), aligned(4), may_alias));

static inline void drain(void)
{
#if defined(__x86_64__)
    __builtin_ia32_sfence();
#endif
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

static inline void stream_f32x8(float *to, f32x8 value)
{
#if defined __AVX__ && !defined __clang__
    __builtin_ia32_movntps256(to, value);
#else
    *(f32x8 *)to = value;
#endif
}

static void kernel_compute_work(int64_t *slots, int64_t *begun)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[4];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[5];
    const float *restrict A_vals = (const float *)slots[6];
    const float *restrict B_vals = (const float *)slots[7];
    float *restrict out_vals = (float *)slots[8];
    const int64_t streamed = slots[9];
    const uint8_t out_vals_past = streamed != 0 && (uint64_t)out_vals % 32 == 0;
    const int64_t parts = (int64_t)A_pos2[n_i] * 16 > 32768 && threads > 1 ? max_i64(threads, min_i64(threads * 16, (int64_t)A_pos2[n_i] * 16 / 8192)) : 1;
    int64_t part_turn = 0;
    for (int64_t part; (part = next_part(begun, 0, &part_turn, parts)) < parts;) {
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
            float w[16] __attribute__((aligned(64)));
            #pragma GCC unroll 2
            for (int64_t q = 0; q < 16; q += 8) {
                *(f32x8 *)&w[q] = (f32x8){0};
            }
            const int64_t A_p2_begin = A_pos2[i];
            const int64_t A_p2_end = A_pos2[i + 1];
            int64_t A_p2_rest = A_p2_begin;
            if (A_p2_end - A_p2_begin >= 16) {
                float w_2[16] __attribute__((aligned(64)));
                #pragma GCC unroll 2
                for (int64_t k_4 = 0; k_4 < 16; k_4 += 8) {
                    *(f32x8 *)&w_2[k_4] = (f32x8){0};
                }
                A_p2_rest = A_p2_begin + (A_p2_end - A_p2_begin) / 2 * 2;
                for (int64_t A_p2 = A_p2_begin; A_p2 < A_p2_rest; A_p2 += 2) {
                    __builtin_prefetch((const void *)((uint64_t)A_crd2 + 4 * (uint64_t)(A_p2 + 128)));
                    __builtin_prefetch((const void *)((uint64_t)A_vals + 4 * (uint64_t)(A_p2 + 128)));
                    const int64_t j_2 = A_crd2[A_p2];
                    #pragma GCC unroll 2
                    for (int64_t k_3 = 0; k_3 < 16; k_3 += 8) {
                        *(f32x8 *)&w[k_3] += A_vals[A_p2] * *(const f32x8 *)&B_vals[j_2 * 16 + k_3];
                    }
                    const int64_t j_3 = A_crd2[A_p2 + 1];
                    #pragma GCC unroll 2
                    for (int64_t k_5 = 0; k_5 < 16; k_5 += 8) {
                        *(f32x8 *)&w_2[k_5] += A_vals[A_p2 + 1] * *(const f32x8 *)&B_vals[j_3 * 16 + k_5];
                    }
                }
                #pragma GCC unroll 2
                for (int64_t k_6 = 0; k_6 < 16; k_6 += 8) {
                    *(f32x8 *)&w[k_6] += *(f32x8 *)&w_2[k_6];
                }
            }
            for (int64_t A_p2_2 = A_p2_rest; A_p2_2 < A_p2_end; A_p2_2++) {
                const int64_t j = A_crd2[A_p2_2];
                #pragma GCC unroll 2
                for (int64_t k = 0; k < 16; k += 8) {
                    *(f32x8 *)&w[k] += A_vals[A_p2_2] * *(const f32x8 *)&B_vals[j * 16 + k];
                }
            }
            if (out_vals_past) {
                #pragma GCC unroll 2
                for (int64_t k_2_2 = 0; k_2_2 < 16; k_2_2 += 8) {
                    stream_f32x8(&out_vals[i * 16 + k_2_2], *(f32x8 *)&w[k_2_2]);
                }
            } else {
                #pragma GCC unroll 2
                for (int64_t k_2 = 0; k_2 < 16; k_2 += 8) {
                    *(f32x8 *)&out_vals[i * 16 + k_2] = *(f32x8 *)&w[k_2];
                }
            }
        }
    }
    if (out_vals_past) {
        drain();
    }
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int64_t n_k = slots[2];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[4];
    if (n_k != 16) {
        return 3;
    }
    const int64_t parts = (int64_t)A_pos2[n_i] * 16 > 32768 && threads > 1 ? max_i64(threads, min_i64(threads * 16, (int64_t)A_pos2[n_i] * 16 / 8192)) : 1;
    const int64_t team = parts > 1 ? threads : 1;
    if (team > 1) {
        int64_t begun[16 * team];
        for (int64_t n = 0; n < 16 * team; n++) {
            begun[n] = 0;
        }
        #pragma omp parallel num_threads(team)
        kernel_compute_work(slots, begun);
    } else {
        kernel_compute_work(slots, NULL);
    }
    return 0;
}
