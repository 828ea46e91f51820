/* O(i,k) = softmax_mean(P(i,j) * Q(i,d) * K(j,d), V(j,k))
 * P: "ds" of f32, pattern only
 * Q: "dd" of f32
 * K: "dd" of f32
 * V: "dd" of f32
 * O: "dd" of f32
 * bound(k, 32)
 * bound(d, 32)
 * rows that follow each other and have most of their columns in common are computed together, in tiles
 * threads take blocks of rows, where there is enough to compute
 */
int omp_get_num_threads(void);
int omp_get_thread_num(void);
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __SIZE_TYPE__ size_t;
typedef __UINT8_TYPE__ uint8_t;
void *aligned_alloc(__SIZE_TYPE__, __SIZE_TYPE__);
void *calloc(__SIZE_TYPE__, __SIZE_TYPE__);
void *malloc(__SIZE_TYPE__);
void free(void *);

typedef float f32x4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef float f32x8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t i32x4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t i32x8 __attribute__((vector_size(32), aligned(4), may_alias));

static void *allocate(int64_t count, size_t size)
{
    const size_t bytes = (size_t)count * size + 1;
    return bytes < 4096 ? malloc(bytes) : aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void *allocate_zero(int64_t count, size_t size)
{
    return calloc((size_t)count + 1, size);
}

static inline f32x4 exp_f32x4(f32x4 x)
{
    const f32x4 least = (f32x4){0} - 104.0f, most = (f32x4){0} + 89.0f;
    const i32x4 below = x < least, above = x > most;
    x = (f32x4)((below & (i32x4)least) | (above & (i32x4)most) | (~(below | above) & (i32x4)x));
    const f32x4 shifted = x * 1.44269504f + 12582912.0f, n = shifted - 12582912.0f;
    const f32x4 r = x - n * 0.693359375f + n * 2.12194440e-4f;
    f32x4 y = r * 1.9875691500e-4f + 1.3981999507e-3f;
    y = y * r + 8.3334519073e-3f;
    y = y * r + 4.1665795894e-2f;
    y = y * r + 1.6666665459e-1f;
    y = y * r + 5.0000001201e-1f;
    y = y * (r * r) + r + 1.0f;
    const i32x4 tiny = n < -125.0f, whole = (i32x4)shifted - 0x4b400000, exponent = whole + (tiny & 149), half = exponent >> 1;
    const f32x4 scaled = y * (f32x4)((half + 127) << 23) * (f32x4)((exponent - half + 127) << 23);
#if defined __SSE__ && !defined __clang__
    if (__builtin_expect(!__builtin_ia32_movmskps((f32x4)tiny), 1)) {
        return scaled;
    }
#endif
    const i32x4 bits = __builtin_convertvector((f32x4)(tiny & (i32x4)(scaled + 0.5f)), i32x4);
    return (f32x4)((tiny & bits) | (~tiny & (i32x4)scaled));
}

static inline f32x8 exp_f32x8(f32x8 x)
{
    const f32x8 least = (f32x8){0} - 104.0f, most = (f32x8){0} + 89.0f;
    const i32x8 below = x < least, above = x > most;
    x = (f32x8)((below & (i32x8)least) | (above & (i32x8)most) | (~(below | above) & (i32x8)x));
    const f32x8 shifted = x * 1.44269504f + 12582912.0f, n = shifted - 12582912.0f;
    const f32x8 r = x - n * 0.693359375f + n * 2.12194440e-4f;
    f32x8 y = r * 1.9875691500e-4f + 1.3981999507e-3f;
    y = y * r + 8.3334519073e-3f;
    y = y * r + 4.1665795894e-2f;
    y = y * r + 1.6666665459e-1f;
    y = y * r + 5.0000001201e-1f;
    y = y * (r * r) + r + 1.0f;
    const i32x8 tiny = n < -125.0f, whole = (i32x8)shifted - 0x4b400000, exponent = whole + (tiny & 149), half = exponent >> 1;
    const f32x8 scaled = y * (f32x8)((half + 127) << 23) * (f32x8)((exponent - half + 127) << 23);
#if defined __AVX__ && !defined __clang__
    if (__builtin_expect(!__builtin_ia32_movmskps256((f32x8)tiny), 1)) {
        return scaled;
    }
#endif
    const i32x8 bits = __builtin_convertvector((f32x8)(tiny & (i32x8)(scaled + 0.5f)), i32x8);
    return (f32x8)((tiny & bits) | (~tiny & (i32x8)scaled));
}

static inline float max_f32(float x, float y)
{
    const float chosen = x > y ? x : y;
    return x != x ? x : chosen;
}

static inline f32x4 max_f32x4(f32x4 x, f32x4 y)
{
    f32x4 chosen;
    for (int lane = 0; lane < 4; lane++) {
        chosen[lane] = y[lane] > x[lane] ? y[lane] : x[lane];
    }
    return (f32x4)((i32x4)chosen | (i32x4)(y != y));
}

static inline f32x8 max_f32x8(f32x8 x, f32x8 y)
{
    f32x8 chosen;
    for (int lane = 0; lane < 8; lane++) {
        chosen[lane] = y[lane] > x[lane] ? y[lane] : x[lane];
    }
    return (f32x8)((i32x8)chosen | (i32x8)(y != y));
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

static inline float reduce_add_f32x8(f32x8 a)
{
    const f32x8 level0 = a + (f32x8){a[2], a[3], a[0], a[1], a[6], a[7], a[4], a[5]};
    const f32x8 level1 = level0 + (f32x8){level0[1], level0[0], level0[3], level0[2], level0[5], level0[4], level0[7], level0[6]};
    const f32x4 half4 = *(const f32x4 *)&level1 + *((const f32x4 *)&level1 + 1);
    return half4[0];
}

static inline float reduce_max_f32x8(f32x8 a)
{
    const f32x8 level0 = max_f32x8(a, (f32x8){a[2], a[3], a[0], a[1], a[6], a[7], a[4], a[5]});
    const f32x8 level1 = max_f32x8(level0, (f32x8){level0[1], level0[0], level0[3], level0[2], level0[5], level0[4], level0[7], level0[6]});
    const f32x4 half4 = max_f32x4(*(const f32x4 *)&level1, *((const f32x4 *)&level1 + 1));
    return half4[0];
}

static inline f32x4 splat_f32x4(float x)
{
    return x - (f32x4){0};
}

static inline f32x8 splat_f32x8(float x)
{
    return x - (f32x8){0};
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int64_t n_k = slots[2];
    const int64_t n_j = slots[3];
    const int64_t n_d = slots[4];
    const int32_t *restrict P_pos2 = (const int32_t *)slots[5];
    const int32_t *restrict P_crd2 = (const int32_t *)slots[6];
    const float *restrict Q_vals = (const float *)slots[7];
    const float *restrict K_vals = (const float *)slots[8];
    const float *restrict V_vals = (const float *)slots[9];
    float *restrict O_vals = (float *)slots[10];
    int32_t status = 0;
    if (n_k != 32) {
        return 3;
    }
    if (n_d != 32) {
        return 3;
    }
    const int64_t blocks = (n_j + 15) / 16;
    const int64_t groups = (n_i + 3) / 4;
    uint8_t *restrict computed = allocate_zero(max_i64(groups, 1), sizeof *computed);
    float *restrict K_packed = allocate(max_i64(blocks * 512, 1), sizeof *K_packed);
    float *restrict finite = allocate(max_i64(blocks, 1), sizeof *finite);
    if (!computed || !K_packed || !finite) {
        status = 1;
        goto done;
    }
    int failed = 0;
    const int64_t team = (int64_t)P_pos2[n_i] * 32 > 32768 ? threads : 1;
    {
        int64_t begun[16 * team];
        for (int64_t n_ = 0; n_ < 16 * team; n_++) {
            begun[n_] = 0;
        }
        #pragma omp parallel num_threads(team) reduction(| : failed)
        {
            int32_t *restrict place = allocate_zero(max_i64(blocks, 1), sizeof *place);
            failed |= !place;
            int32_t *restrict list = allocate(max_i64(blocks, 1), sizeof *list);
            failed |= !list;
            float *restrict held = allocate(max_i64(blocks * 64, 1), sizeof *held);
            failed |= !held;
            int64_t number_turn = 0;
            const int64_t number_trips = blocks;
            const int64_t number_chunk = team > 1 ? max_i64(1, blocks / (threads * 16)) : max_i64(number_trips, 1);
            const int64_t number_parts = (number_trips + (number_chunk - 1)) / number_chunk;
            for (int64_t number_part; (number_part = next_part(begun, 0, &number_turn, number_parts)) < number_parts;) {
                const int64_t number_end = min_i64(number_trips, (number_part + 1) * number_chunk);
                for (int64_t number = number_part * number_chunk; number < number_end; number++) {
                    if (failed) {
                        continue;
                    }
                    const int64_t above = number / blocks;
                    const int64_t block = number - above * blocks;
                    for (int64_t c = 0; c < 16; c++) {
                        const int64_t j = min_i64(block * 16 + c, n_j - 1);
                        for (int64_t d = 0; d < 32; d++) {
                            K_packed[(number * 32 + d) * 16 + c] = K_vals[j * 32 + d];
                        }
                    }
                }
            }
            #pragma omp barrier
            int64_t number_2_turn = 0;
            const int64_t number_2_trips = blocks;
            const int64_t number_2_chunk = team > 1 ? max_i64(1, blocks / (threads * 16)) : max_i64(number_2_trips, 1);
            const int64_t number_2_parts = (number_2_trips + (number_2_chunk - 1)) / number_2_chunk;
            for (int64_t number_2_part; (number_2_part = next_part(begun, 1, &number_2_turn, number_2_parts)) < number_2_parts;) {
                const int64_t number_2_end = min_i64(number_2_trips, (number_2_part + 1) * number_2_chunk);
                for (int64_t number_2 = number_2_part * number_2_chunk; number_2 < number_2_end; number_2++) {
                    if (failed) {
                        continue;
                    }
                    const int64_t above_2 = number_2 / blocks;
                    const int64_t block_2 = number_2 - above_2 * blocks;
                    float none = 0.0f;
                    for (int64_t j_2 = block_2 * 16; j_2 < min_i64(block_2 * 16 + 16, n_j); j_2++) {
                        f32x8 none_lanes = (f32x8){0};
                        #pragma GCC unroll 4
                        for (int64_t k_8 = 0; k_8 < 32; k_8 += 8) {
                            none_lanes += *(const f32x8 *)&V_vals[j_2 * 32 + k_8] - *(const f32x8 *)&V_vals[j_2 * 32 + k_8];
                        }
                        none += reduce_add_f32x8(none_lanes);
                    }
                    finite[number_2] = none;
                }
            }
            #pragma omp barrier
            int64_t g_turn = 0;
            const int64_t g_trips = groups;
            const int64_t g_chunk = team > 1 ? max_i64(1, groups / (threads * 16)) : max_i64(g_trips, 1);
            const int64_t g_parts = (g_trips + (g_chunk - 1)) / g_chunk;
            for (int64_t g_part; (g_part = next_part(begun, 2, &g_turn, g_parts)) < g_parts;) {
                const int64_t g_end = min_i64(g_trips, (g_part + 1) * g_chunk);
                for (int64_t g = g_part * g_chunk; g < g_end; g++) {
                    if (failed) {
                        continue;
                    }
                    const int64_t first = g * 4;
                    const int64_t stop = min_i64(first + 4, n_i);
                    const int64_t begin = P_pos2[first];
                    const int64_t end = P_pos2[stop];
                    const int64_t most_2 = (end - begin) * 4 / 64;
                    int64_t found = 0;
                    for (int64_t r = 0; r < stop - first; r++) {
                        if (found <= most_2) {
                            const int64_t i_5 = first + r;
                            for (int64_t p = P_pos2[i_5]; p < P_pos2[i_5 + 1]; p++) {
                                const int64_t j_3 = P_crd2[p];
                                const int64_t block_3 = j_3 / 16;
                                if (place[block_3] == 0) {
                                    #pragma GCC unroll 8
                                    for (int64_t c_2 = 0; c_2 < 64; c_2 += 8) {
                                        *(f32x8 *)&held[found * 4 * 16 + c_2] = (f32x8){0};
                                    }
                                    list[found] = (int32_t)block_3;
                                    found++;
                                    place[block_3] = (int32_t)found;
                                }
                                const int64_t place_2 = (int64_t)place[block_3] - 1;
                                const int64_t at = (place_2 * 4 + r) * 16 + (j_3 - block_3 * 16);
                                held[at] = 1.0f;
                            }
                        }
                    }
                    if (found <= most_2) {
                        const int64_t i = min_i64(first, stop - 1);
                        const int64_t i_2 = min_i64(first + 1, stop - 1);
                        const int64_t i_3 = min_i64(first + 2, stop - 1);
                        const int64_t i_4 = min_i64(first + 3, stop - 1);
                        float none_2 = 0.0f;
                        for (int64_t k_4 = 0; k_4 < found; k_4++) {
                            none_2 += finite[list[k_4]];
                        }
                        if (none_2 == 0.0f) {
                            float scored[768] __attribute__((aligned(64)));
                            float tops[4] __attribute__((aligned(64)));
                            float totals[4] __attribute__((aligned(64)));
                            for (int64_t r_2 = 0; r_2 < 4; r_2++) {
                                tops[r_2] = -3.4028235e+38f;
                                totals[r_2] = 0.0f;
                            }
                            float pooled[128] __attribute__((aligned(64)));
                            #pragma GCC unroll 16
                            for (int64_t c_3 = 0; c_3 < 128; c_3 += 8) {
                                *(f32x8 *)&pooled[c_3] = (f32x8){0};
                            }
                            for (int64_t from = 0; from < found; from += 12) {
                                const int64_t to = min_i64(from + 12, found);
                                for (int64_t k_3 = from; k_3 < to; k_3++) {
                                    const int64_t block_4 = list[k_3];
                                    float sums_2[16] __attribute__((aligned(64)));
                                    float sums_3[16] __attribute__((aligned(64)));
                                    float sums_4[16] __attribute__((aligned(64)));
                                    float sums_5[16] __attribute__((aligned(64)));
                                    #pragma GCC unroll 2
                                    for (int64_t c_4 = 0; c_4 < 16; c_4 += 8) {
                                        *(f32x8 *)&sums_2[c_4] = (f32x8){0};
                                    }
                                    #pragma GCC unroll 2
                                    for (int64_t c_7 = 0; c_7 < 16; c_7 += 8) {
                                        *(f32x8 *)&sums_3[c_7] = (f32x8){0};
                                    }
                                    #pragma GCC unroll 2
                                    for (int64_t c_10 = 0; c_10 < 16; c_10 += 8) {
                                        *(f32x8 *)&sums_4[c_10] = (f32x8){0};
                                    }
                                    #pragma GCC unroll 2
                                    for (int64_t c_13 = 0; c_13 < 16; c_13 += 8) {
                                        *(f32x8 *)&sums_5[c_13] = (f32x8){0};
                                    }
                                    for (int64_t d_2 = 0; d_2 < 32; d_2++) {
                                        #pragma GCC unroll 2
                                        for (int64_t c_5 = 0; c_5 < 16; c_5 += 8) {
                                            *(f32x8 *)&sums_2[c_5] += Q_vals[i * 32 + d_2] * *(f32x8 *)&K_packed[(block_4 * 32 + d_2) * 16 + c_5];
                                        }
                                        #pragma GCC unroll 2
                                        for (int64_t c_8 = 0; c_8 < 16; c_8 += 8) {
                                            *(f32x8 *)&sums_3[c_8] += Q_vals[i_2 * 32 + d_2] * *(f32x8 *)&K_packed[(block_4 * 32 + d_2) * 16 + c_8];
                                        }
                                        #pragma GCC unroll 2
                                        for (int64_t c_11 = 0; c_11 < 16; c_11 += 8) {
                                            *(f32x8 *)&sums_4[c_11] += Q_vals[i_3 * 32 + d_2] * *(f32x8 *)&K_packed[(block_4 * 32 + d_2) * 16 + c_11];
                                        }
                                        #pragma GCC unroll 2
                                        for (int64_t c_14 = 0; c_14 < 16; c_14 += 8) {
                                            *(f32x8 *)&sums_5[c_14] += Q_vals[i_4 * 32 + d_2] * *(f32x8 *)&K_packed[(block_4 * 32 + d_2) * 16 + c_14];
                                        }
                                    }
                                    #pragma GCC unroll 2
                                    for (int64_t c_6 = 0; c_6 < 16; c_6 += 8) {
                                        *(f32x8 *)&scored[(k_3 - from) * 16 + c_6] = *(f32x8 *)&sums_2[c_6];
                                    }
                                    #pragma GCC unroll 2
                                    for (int64_t c_9 = 0; c_9 < 16; c_9 += 8) {
                                        *(f32x8 *)&scored[192 + (k_3 - from) * 16 + c_9] = *(f32x8 *)&sums_3[c_9];
                                    }
                                    #pragma GCC unroll 2
                                    for (int64_t c_12 = 0; c_12 < 16; c_12 += 8) {
                                        *(f32x8 *)&scored[384 + (k_3 - from) * 16 + c_12] = *(f32x8 *)&sums_4[c_12];
                                    }
                                    #pragma GCC unroll 2
                                    for (int64_t c_15 = 0; c_15 < 16; c_15 += 8) {
                                        *(f32x8 *)&scored[576 + (k_3 - from) * 16 + c_15] = *(f32x8 *)&sums_5[c_15];
                                    }
                                    for (int64_t r_3 = 0; r_3 < 4; r_3++) {
                                        #pragma omp simd
                                        for (int64_t c_16 = 0; c_16 < 16; c_16++) {
                                            scored[r_3 * 192 + (k_3 - from) * 16 + c_16] = held[(k_3 * 4 + r_3) * 16 + c_16] != 0.0f ? scored[r_3 * 192 + (k_3 - from) * 16 + c_16] : -__builtin_inff();
                                        }
                                    }
                                }
                                float sums_6[16] __attribute__((aligned(64)));
                                float sums_7[16] __attribute__((aligned(64)));
                                float sums_8[16] __attribute__((aligned(64)));
                                float sums_9[16] __attribute__((aligned(64)));
                                #pragma GCC unroll 2
                                for (int64_t c_22 = 0; c_22 < 16; c_22 += 8) {
                                    *(f32x8 *)&sums_6[c_22] = splat_f32x8(tops[0]);
                                }
                                #pragma GCC unroll 2
                                for (int64_t c_25 = 0; c_25 < 16; c_25 += 8) {
                                    *(f32x8 *)&sums_7[c_25] = splat_f32x8(tops[1]);
                                }
                                #pragma GCC unroll 2
                                for (int64_t c_28 = 0; c_28 < 16; c_28 += 8) {
                                    *(f32x8 *)&sums_8[c_28] = splat_f32x8(tops[2]);
                                }
                                #pragma GCC unroll 2
                                for (int64_t c_31 = 0; c_31 < 16; c_31 += 8) {
                                    *(f32x8 *)&sums_9[c_31] = splat_f32x8(tops[3]);
                                }
                                float maxima[64] __attribute__((aligned(64)));
                                for (int64_t b_2 = 0; b_2 < to - from; b_2++) {
                                    #pragma GCC unroll 2
                                    for (int64_t c_23 = 0; c_23 < 16; c_23 += 8) {
                                        *(f32x8 *)&sums_6[c_23] = max_f32x8(*(f32x8 *)&sums_6[c_23], *(f32x8 *)&scored[b_2 * 16 + c_23]);
                                    }
                                    #pragma GCC unroll 2
                                    for (int64_t c_26 = 0; c_26 < 16; c_26 += 8) {
                                        *(f32x8 *)&sums_7[c_26] = max_f32x8(*(f32x8 *)&sums_7[c_26], *(f32x8 *)&scored[192 + b_2 * 16 + c_26]);
                                    }
                                    #pragma GCC unroll 2
                                    for (int64_t c_29 = 0; c_29 < 16; c_29 += 8) {
                                        *(f32x8 *)&sums_8[c_29] = max_f32x8(*(f32x8 *)&sums_8[c_29], *(f32x8 *)&scored[384 + b_2 * 16 + c_29]);
                                    }
                                    #pragma GCC unroll 2
                                    for (int64_t c_32 = 0; c_32 < 16; c_32 += 8) {
                                        *(f32x8 *)&sums_9[c_32] = max_f32x8(*(f32x8 *)&sums_9[c_32], *(f32x8 *)&scored[576 + b_2 * 16 + c_32]);
                                    }
                                }
                                #pragma GCC unroll 2
                                for (int64_t c_24 = 0; c_24 < 16; c_24 += 8) {
                                    *(f32x8 *)&maxima[c_24] = *(f32x8 *)&sums_6[c_24];
                                }
                                #pragma GCC unroll 2
                                for (int64_t c_27 = 0; c_27 < 16; c_27 += 8) {
                                    *(f32x8 *)&maxima[16 + c_27] = *(f32x8 *)&sums_7[c_27];
                                }
                                #pragma GCC unroll 2
                                for (int64_t c_30 = 0; c_30 < 16; c_30 += 8) {
                                    *(f32x8 *)&maxima[32 + c_30] = *(f32x8 *)&sums_8[c_30];
                                }
                                #pragma GCC unroll 2
                                for (int64_t c_33 = 0; c_33 < 16; c_33 += 8) {
                                    *(f32x8 *)&maxima[48 + c_33] = *(f32x8 *)&sums_9[c_33];
                                }
                                for (int64_t r_4 = 0; r_4 < 4; r_4++) {
                                    float greatest = -3.4028235e+38f;
                                    f32x8 greatest_lanes = splat_f32x8(-__builtin_inff());
                                    #pragma GCC unroll 2
                                    for (int64_t c_18_2 = 0; c_18_2 < 16; c_18_2 += 8) {
                                        greatest_lanes = max_f32x8(greatest_lanes, *(f32x8 *)&maxima[r_4 * 16 + c_18_2]);
                                    }
                                    greatest = max_f32(greatest, reduce_max_f32x8(greatest_lanes));
                                    if (greatest > tops[r_4]) {
                                        const float shrink = exp_f32x4(splat_f32x4(tops[r_4] - greatest))[0];
                                        totals[r_4] *= shrink;
                                        #pragma GCC unroll 4
                                        for (int64_t c_17 = 0; c_17 < 32; c_17 += 8) {
                                            *(f32x8 *)&pooled[r_4 * 32 + c_17] *= shrink;
                                        }
                                        tops[r_4] = greatest;
                                    }
                                    float parts[16] __attribute__((aligned(64)));
                                    #pragma GCC unroll 2
                                    for (int64_t c_19 = 0; c_19 < 16; c_19 += 8) {
                                        *(f32x8 *)&parts[c_19] = (f32x8){0};
                                    }
                                    for (int64_t b = 0; b < to - from; b++) {
                                        #pragma GCC unroll 2
                                        for (int64_t c_20 = 0; c_20 < 16; c_20 += 8) {
                                            *(f32x8 *)&scored[r_4 * 192 + b * 16 + c_20] = exp_f32x8(*(f32x8 *)&scored[r_4 * 192 + b * 16 + c_20] - tops[r_4]);
                                            *(f32x8 *)&parts[c_20] += *(f32x8 *)&scored[r_4 * 192 + b * 16 + c_20];
                                        }
                                    }
                                    f32x8 total_2_lanes = (f32x8){0};
                                    #pragma GCC unroll 2
                                    for (int64_t c_21_2 = 0; c_21_2 < 16; c_21_2 += 8) {
                                        total_2_lanes += *(f32x8 *)&parts[c_21_2];
                                    }
                                    const float total_2 = reduce_add_f32x8(total_2_lanes);
                                    totals[r_4] += total_2;
                                }
                                float sums_10[16] __attribute__((aligned(64)));
                                float sums_11[16] __attribute__((aligned(64)));
                                float sums_12[16] __attribute__((aligned(64)));
                                float sums_13[16] __attribute__((aligned(64)));
                                #pragma GCC unroll 2
                                for (int64_t c_35 = 0; c_35 < 16; c_35 += 8) {
                                    *(f32x8 *)&sums_10[c_35] = *(f32x8 *)&pooled[c_35];
                                }
                                #pragma GCC unroll 2
                                for (int64_t c_38 = 0; c_38 < 16; c_38 += 8) {
                                    *(f32x8 *)&sums_11[c_38] = *(f32x8 *)&pooled[32 + c_38];
                                }
                                #pragma GCC unroll 2
                                for (int64_t c_41 = 0; c_41 < 16; c_41 += 8) {
                                    *(f32x8 *)&sums_12[c_41] = *(f32x8 *)&pooled[64 + c_41];
                                }
                                #pragma GCC unroll 2
                                for (int64_t c_44 = 0; c_44 < 16; c_44 += 8) {
                                    *(f32x8 *)&sums_13[c_44] = *(f32x8 *)&pooled[96 + c_44];
                                }
                                for (int64_t b_3 = 0; b_3 < to - from; b_3++) {
                                    const int64_t block_5 = list[from + b_3];
                                    const int64_t begin_2 = block_5 * 16;
                                    for (int64_t c_34 = 0; c_34 < min_i64(16, n_j - begin_2); c_34++) {
                                        #pragma GCC unroll 2
                                        for (int64_t c_36 = 0; c_36 < 16; c_36 += 8) {
                                            *(f32x8 *)&sums_10[c_36] += scored[b_3 * 16 + c_34] * *(const f32x8 *)&V_vals[(begin_2 + c_34) * 32 + c_36];
                                        }
                                        #pragma GCC unroll 2
                                        for (int64_t c_39 = 0; c_39 < 16; c_39 += 8) {
                                            *(f32x8 *)&sums_11[c_39] += scored[192 + b_3 * 16 + c_34] * *(const f32x8 *)&V_vals[(begin_2 + c_34) * 32 + c_39];
                                        }
                                        #pragma GCC unroll 2
                                        for (int64_t c_42 = 0; c_42 < 16; c_42 += 8) {
                                            *(f32x8 *)&sums_12[c_42] += scored[384 + b_3 * 16 + c_34] * *(const f32x8 *)&V_vals[(begin_2 + c_34) * 32 + c_42];
                                        }
                                        #pragma GCC unroll 2
                                        for (int64_t c_45 = 0; c_45 < 16; c_45 += 8) {
                                            *(f32x8 *)&sums_13[c_45] += scored[576 + b_3 * 16 + c_34] * *(const f32x8 *)&V_vals[(begin_2 + c_34) * 32 + c_45];
                                        }
                                    }
                                }
                                #pragma GCC unroll 2
                                for (int64_t c_37 = 0; c_37 < 16; c_37 += 8) {
                                    *(f32x8 *)&pooled[c_37] = *(f32x8 *)&sums_10[c_37];
                                }
                                #pragma GCC unroll 2
                                for (int64_t c_40 = 0; c_40 < 16; c_40 += 8) {
                                    *(f32x8 *)&pooled[32 + c_40] = *(f32x8 *)&sums_11[c_40];
                                }
                                #pragma GCC unroll 2
                                for (int64_t c_43 = 0; c_43 < 16; c_43 += 8) {
                                    *(f32x8 *)&pooled[64 + c_43] = *(f32x8 *)&sums_12[c_43];
                                }
                                #pragma GCC unroll 2
                                for (int64_t c_46 = 0; c_46 < 16; c_46 += 8) {
                                    *(f32x8 *)&pooled[96 + c_46] = *(f32x8 *)&sums_13[c_46];
                                }
                                float sums_14[16] __attribute__((aligned(64)));
                                float sums_15[16] __attribute__((aligned(64)));
                                float sums_16[16] __attribute__((aligned(64)));
                                float sums_17[16] __attribute__((aligned(64)));
                                #pragma GCC unroll 2
                                for (int64_t c_48 = 0; c_48 < 16; c_48 += 8) {
                                    *(f32x8 *)&sums_14[c_48] = *(f32x8 *)&pooled[16 + c_48];
                                }
                                #pragma GCC unroll 2
                                for (int64_t c_51 = 0; c_51 < 16; c_51 += 8) {
                                    *(f32x8 *)&sums_15[c_51] = *(f32x8 *)&pooled[48 + c_51];
                                }
                                #pragma GCC unroll 2
                                for (int64_t c_54 = 0; c_54 < 16; c_54 += 8) {
                                    *(f32x8 *)&sums_16[c_54] = *(f32x8 *)&pooled[80 + c_54];
                                }
                                #pragma GCC unroll 2
                                for (int64_t c_57 = 0; c_57 < 16; c_57 += 8) {
                                    *(f32x8 *)&sums_17[c_57] = *(f32x8 *)&pooled[112 + c_57];
                                }
                                for (int64_t b_4 = 0; b_4 < to - from; b_4++) {
                                    const int64_t block_6 = list[from + b_4];
                                    const int64_t begin_3 = block_6 * 16;
                                    for (int64_t c_47 = 0; c_47 < min_i64(16, n_j - begin_3); c_47++) {
                                        #pragma GCC unroll 2
                                        for (int64_t c_49 = 0; c_49 < 16; c_49 += 8) {
                                            *(f32x8 *)&sums_14[c_49] += scored[b_4 * 16 + c_47] * *(const f32x8 *)&V_vals[(begin_3 + c_47) * 32 + (16 + c_49)];
                                        }
                                        #pragma GCC unroll 2
                                        for (int64_t c_52 = 0; c_52 < 16; c_52 += 8) {
                                            *(f32x8 *)&sums_15[c_52] += scored[192 + b_4 * 16 + c_47] * *(const f32x8 *)&V_vals[(begin_3 + c_47) * 32 + (16 + c_52)];
                                        }
                                        #pragma GCC unroll 2
                                        for (int64_t c_55 = 0; c_55 < 16; c_55 += 8) {
                                            *(f32x8 *)&sums_16[c_55] += scored[384 + b_4 * 16 + c_47] * *(const f32x8 *)&V_vals[(begin_3 + c_47) * 32 + (16 + c_55)];
                                        }
                                        #pragma GCC unroll 2
                                        for (int64_t c_58 = 0; c_58 < 16; c_58 += 8) {
                                            *(f32x8 *)&sums_17[c_58] += scored[576 + b_4 * 16 + c_47] * *(const f32x8 *)&V_vals[(begin_3 + c_47) * 32 + (16 + c_58)];
                                        }
                                    }
                                }
                                #pragma GCC unroll 2
                                for (int64_t c_50 = 0; c_50 < 16; c_50 += 8) {
                                    *(f32x8 *)&pooled[16 + c_50] = *(f32x8 *)&sums_14[c_50];
                                }
                                #pragma GCC unroll 2
                                for (int64_t c_53 = 0; c_53 < 16; c_53 += 8) {
                                    *(f32x8 *)&pooled[48 + c_53] = *(f32x8 *)&sums_15[c_53];
                                }
                                #pragma GCC unroll 2
                                for (int64_t c_56 = 0; c_56 < 16; c_56 += 8) {
                                    *(f32x8 *)&pooled[80 + c_56] = *(f32x8 *)&sums_16[c_56];
                                }
                                #pragma GCC unroll 2
                                for (int64_t c_59 = 0; c_59 < 16; c_59 += 8) {
                                    *(f32x8 *)&pooled[112 + c_59] = *(f32x8 *)&sums_17[c_59];
                                }
                            }
                            for (int64_t r_5 = 0; r_5 < stop - first; r_5++) {
                                const int64_t i_6 = first + r_5;
                                #pragma omp simd
                                for (int64_t c_60 = 0; c_60 < 32; c_60++) {
                                    O_vals[i_6 * 32 + c_60] = P_pos2[i_6] < P_pos2[i_6 + 1] ? pooled[r_5 * 32 + c_60] / totals[r_5] : 0.0f;
                                }
                            }
                            computed[g] = 1;
                        }
                    }
                    for (int64_t k_2 = 0; k_2 < found; k_2++) {
                        place[list[k_2]] = 0;
                    }
                }
            }
            #pragma omp barrier
            float weights[32] __attribute__((aligned(64)));
            float sums[32] __attribute__((aligned(64)));
            int64_t row_turn = 0;
            const int64_t row_trips = n_i;
            const int64_t row_chunk = team > 1 ? max_i64(1, n_i / (threads * 16)) : max_i64(row_trips, 1);
            const int64_t row_parts = (row_trips + (row_chunk - 1)) / row_chunk;
            for (int64_t row_part; (row_part = next_part(begun, 3, &row_turn, row_parts)) < row_parts;) {
                const int64_t row_end = min_i64(row_trips, (row_part + 1) * row_chunk);
                for (int64_t row = row_part * row_chunk; row < row_end; row++) {
                    if (failed) {
                        continue;
                    }
                    if (computed[row / n_i * groups + (row - row / n_i * n_i) / 4] == 0) {
                        const int64_t begin_4 = P_pos2[row];
                        const int64_t end_2 = P_pos2[row + 1];
                        float most = -3.4028235e+38f;
                        float total = 0.0f;
                        #pragma GCC unroll 4
                        for (int64_t k_6 = 0; k_6 < 32; k_6 += 8) {
                            *(f32x8 *)&sums[k_6] = (f32x8){0};
                        }
                        for (int64_t block_7 = begin_4; block_7 < end_2; block_7 += 32) {
                            const int64_t stop_2 = min_i64(end_2, block_7 + 32);
                            float greatest_2 = most;
                            for (int64_t p_2 = block_7; p_2 < stop_2; p_2++) {
                                const int64_t j_4 = P_crd2[p_2];
                                f32x8 score_lanes = (f32x8){0};
                                #pragma GCC unroll 4
                                for (int64_t d_3_2 = 0; d_3_2 < 32; d_3_2 += 8) {
                                    score_lanes += *(const f32x8 *)&Q_vals[row * 32 + d_3_2] * *(const f32x8 *)&K_vals[j_4 * 32 + d_3_2];
                                }
                                const float score = reduce_add_f32x8(score_lanes);
                                weights[p_2 - block_7] = score;
                                greatest_2 = score > greatest_2 ? score : greatest_2;
                            }
                            if (greatest_2 > most) {
                                const float shrink_2 = exp_f32x4(splat_f32x4(most - greatest_2))[0];
                                total *= shrink_2;
                                #pragma GCC unroll 4
                                for (int64_t k_5 = 0; k_5 < 32; k_5 += 8) {
                                    *(f32x8 *)&sums[k_5] *= shrink_2;
                                }
                                most = greatest_2;
                            }
                            for (int64_t n = 0; n < stop_2 - block_7; n++) {
                                const float weight = exp_f32x4(splat_f32x4(weights[n] - most))[0];
                                weights[n] = weight;
                                total += weight;
                            }
                            float tile[32] __attribute__((aligned(64)));
                            #pragma GCC unroll 4
                            for (int64_t q_2 = 0; q_2 < 32; q_2 += 8) {
                                *(f32x8 *)&tile[q_2] = *(f32x8 *)&sums[q_2];
                            }
                            for (int64_t p_3 = block_7; p_3 < stop_2; p_3++) {
                                const int64_t j_5 = P_crd2[p_3];
                                #pragma GCC unroll 4
                                for (int64_t q = 0; q < 32; q += 8) {
                                    *(f32x8 *)&tile[q] += weights[p_3 - block_7] * *(const f32x8 *)&V_vals[j_5 * 32 + q];
                                }
                            }
                            #pragma GCC unroll 4
                            for (int64_t q_3 = 0; q_3 < 32; q_3 += 8) {
                                *(f32x8 *)&sums[q_3] = *(f32x8 *)&tile[q_3];
                            }
                        }
                        #pragma omp simd
                        for (int64_t k_7 = 0; k_7 < 32; k_7++) {
                            O_vals[row * 32 + k_7] = begin_4 < end_2 ? sums[k_7] / total : 0.0f;
                        }
                    }
                }
            }
            free(place);
            free(list);
            free(held);
        }
    }
    if (failed) {
        status = 1;
        goto done;
    }
done:
    free(finite);
    free(K_packed);
    free(computed);
    return status;
}
