/* out(i,j) = A(i,k,l) * B(k,j) * C(l,j)
 * A: "dss" of f32
 * B: "dd" of f32
 * C: "dd" of f32
 * out: "dd" of f32
 * reorder(i, k, l, j)
 * bound(j, 16)
 * precompute(all, w, at=1, tile)
 * vectorize(j)
 * parallelize(i, threads)
 * workspace w: 16 sums over j in registers across the reduction
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
    const int32_t *restrict A_pos2 = (const int32_t *)slots[5];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[6];
    const int32_t *restrict A_pos3 = (const int32_t *)slots[7];
    const int32_t *restrict A_crd3 = (const int32_t *)slots[8];
    const float *restrict A_vals = (const float *)slots[9];
    const float *restrict B_vals = (const float *)slots[10];
    const float *restrict C_vals = (const float *)slots[11];
    float *restrict out_vals = (float *)slots[12];
    const int64_t streamed = slots[13];
    const uint8_t out_vals_past = streamed != 0 && (uint64_t)out_vals % 32 == 0;
    const int64_t parts = (int64_t)A_pos3[A_pos2[n_i]] * 16 > 32768 && threads > 1 ? max_i64(threads, min_i64(threads * 16, (int64_t)A_pos3[A_pos2[n_i]] * 16 / 8192)) : 1;
    int64_t part_turn = 0;
    for (int64_t part; (part = next_part(begun, 0, &part_turn, parts)) < parts;) {
        const int64_t i_share = (n_i + A_pos3[A_pos2[n_i]] + (parts - 1)) / parts;
        int64_t i_begin = 0;
        int64_t i_begin_above = n_i;
        while (i_begin < i_begin_above) {
            const int64_t i_begin_middle = i_begin + (i_begin_above - i_begin) / 2;
            if (i_begin_middle + A_pos3[A_pos2[i_begin_middle]] < part * i_share) {
                i_begin = i_begin_middle + 1;
            } else {
                i_begin_above = i_begin_middle;
            }
        }
        int64_t i_end = i_begin;
        int64_t i_end_above = n_i;
        while (i_end < i_end_above) {
            const int64_t i_end_middle = i_end + (i_end_above - i_end) / 2;
            if (i_end_middle + A_pos3[A_pos2[i_end_middle]] < (part + 1) * i_share) {
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
            for (int64_t A_p2 = A_pos2[i]; A_p2 < A_pos2[i + 1]; A_p2++) {
                const int64_t k = A_crd2[A_p2];
                for (int64_t A_p3 = A_pos3[A_p2]; A_p3 < A_pos3[A_p2 + 1]; A_p3++) {
                    const int64_t l = A_crd3[A_p3];
                    #pragma GCC unroll 2
                    for (int64_t j = 0; j < 16; j += 8) {
                        *(f32x8 *)&w[j] += A_vals[A_p3] * *(const f32x8 *)&B_vals[k * 16 + j] * *(const f32x8 *)&C_vals[l * 16 + j];
                    }
                }
            }
            if (out_vals_past) {
                #pragma GCC unroll 2
                for (int64_t j_2_2 = 0; j_2_2 < 16; j_2_2 += 8) {
                    stream_f32x8(&out_vals[i * 16 + j_2_2], *(f32x8 *)&w[j_2_2]);
                }
            } else {
                #pragma GCC unroll 2
                for (int64_t j_2 = 0; j_2 < 16; j_2 += 8) {
                    *(f32x8 *)&out_vals[i * 16 + j_2] = *(f32x8 *)&w[j_2];
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
    const int64_t n_j = slots[2];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[5];
    const int32_t *restrict A_pos3 = (const int32_t *)slots[7];
    if (n_j != 16) {
        return 3;
    }
    const int64_t parts = (int64_t)A_pos3[A_pos2[n_i]] * 16 > 32768 && threads > 1 ? max_i64(threads, min_i64(threads * 16, (int64_t)A_pos3[A_pos2[n_i]] * 16 / 8192)) : 1;
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
