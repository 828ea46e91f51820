/* out(j) = A(i,j) * x(i)
 * A: "ss" of f16
 * x: "d" of f16
 * out: "d" of f16
 * reorder(i, j)
 * parallelize(i, threads, temporary)
 * the iterations of the outermost loop over i don't own what they write: where there is enough to compute, threads have results of their own, which are added up
 */
#define NULL ((void *)0)
int omp_get_num_threads(void);
int omp_get_thread_num(void);
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __SIZE_TYPE__ size_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
void *aligned_alloc(__SIZE_TYPE__, __SIZE_TYPE__);
void *malloc(__SIZE_TYPE__);
void *memset(void *, int, __SIZE_TYPE__);
void free(void *);

static void *allocate(int64_t count, size_t size)
{
    const size_t bytes = (size_t)count * size + 1;
    return bytes < 4096 ? malloc(bytes) : aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static inline float f32_of_f16(uint16_t x)
{
#ifdef __F16C__
    return __builtin_ia32_vcvtph2ps((short __attribute__((vector_size(16)))){(short)x})[0];
#else
    const uint32_t magnitude = (uint32_t)(x & 0x7fff) << 13;
    union { uint32_t bits; float value; } normal, tiny;
    normal.bits = magnitude + (magnitude < 0x0f800000 ? 0x38000000 : 0x70000000);
    tiny.bits = magnitude + 0x38800000;
    tiny.value -= 0x1p-14f;
    normal.bits = (magnitude < 0x00800000 ? tiny.bits : normal.bits) | (uint32_t)(x & 0x8000) << 16;
    return normal.value;
#endif
}

/* Rounds to nearest, ties to even. */
static inline uint16_t f32_to_f16(float x)
{
    union { float value; uint32_t bits; } y = {x}, tiny;
    const uint32_t sign = y.bits & 0x80000000;
    y.bits ^= sign;
    tiny.value = y.value + 0.5f;
    const uint32_t normal = (y.bits - 0x38000000 + 0xfff + (y.bits >> 13 & 1)) >> 13;
    const uint32_t finite = y.bits < 0x38800000 ? tiny.bits - 0x3f000000 : normal;
    const uint32_t special = y.bits > 0x7f800000 ? 0x7e00 : 0x7c00;
    return (y.bits < 0x47800000 ? finite : special) | sign >> 16;
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

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_j = slots[1];
    const int32_t *restrict A_pos1 = (const int32_t *)slots[3];
    const int32_t *restrict A_crd1 = (const int32_t *)slots[4];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[5];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[6];
    const uint16_t *restrict A_vals = (const uint16_t *)slots[7];
    const uint16_t *restrict x_vals = (const uint16_t *)slots[8];
    uint16_t *restrict out_vals = (uint16_t *)slots[9];
    int32_t status = 0;
    float *restrict out_own = NULL;
    const int64_t out_size_2 = n_j;
    float *restrict out_sums = allocate(max_i64(out_size_2, 1), sizeof *out_sums);
    if (!out_sums) {
        status = 1;
        goto done;
    }
    const int64_t out_size = n_j;
    const int64_t parts = A_pos2[A_pos1[1]] > 20000 ? min_i64(threads, 2 * (int64_t)A_pos2[A_pos1[1]] / max_i64(out_size, 1)) : 1;
    if (parts > 1) {
        out_own = allocate(max_i64(parts * out_size, 1), sizeof *out_own);
        if (!out_own) {
            status = 1;
            goto done;
        }
        const int64_t team = parts > 1 ? threads : 1;
        {
            int64_t begun[16 * team];
            for (int64_t n = 0; n < 16 * team; n++) {
                begun[n] = 0;
            }
            #pragma omp parallel num_threads(team)
            {
                int64_t part_turn = 0;
                for (int64_t part; (part = next_part(begun, 0, &part_turn, parts)) < parts;) {
                    for (int64_t q = 0; q < out_size; q++) {
                        out_own[part * out_size + q] = 0.0f;
                    }
                    const int64_t A_p1_2_share = ((int64_t)A_pos1[1] + A_pos2[A_pos1[1]] + (parts - 1)) / parts;
                    int64_t A_p1_2_begin = A_pos1[0];
                    int64_t A_p1_2_begin_above = A_pos1[1];
                    while (A_p1_2_begin < A_p1_2_begin_above) {
                        const int64_t A_p1_2_begin_middle = A_p1_2_begin + (A_p1_2_begin_above - A_p1_2_begin) / 2;
                        if (A_p1_2_begin_middle + A_pos2[A_p1_2_begin_middle] < part * A_p1_2_share) {
                            A_p1_2_begin = A_p1_2_begin_middle + 1;
                        } else {
                            A_p1_2_begin_above = A_p1_2_begin_middle;
                        }
                    }
                    int64_t A_p1_2_end = A_p1_2_begin;
                    int64_t A_p1_2_end_above = A_pos1[1];
                    while (A_p1_2_end < A_p1_2_end_above) {
                        const int64_t A_p1_2_end_middle = A_p1_2_end + (A_p1_2_end_above - A_p1_2_end) / 2;
                        if (A_p1_2_end_middle + A_pos2[A_p1_2_end_middle] < (part + 1) * A_p1_2_share) {
                            A_p1_2_end = A_p1_2_end_middle + 1;
                        } else {
                            A_p1_2_end_above = A_p1_2_end_middle;
                        }
                    }
                    for (int64_t A_p1_2 = A_p1_2_begin; A_p1_2 < A_p1_2_end; A_p1_2++) {
                        const int64_t i_2 = A_crd1[A_p1_2];
                        for (int64_t A_p2_2 = A_pos2[A_p1_2]; A_p2_2 < A_pos2[A_p1_2 + 1]; A_p2_2++) {
                            const int64_t j_2 = A_crd2[A_p2_2];
                            out_own[part * out_size + j_2] += f32_of_f16(A_vals[A_p2_2]) * f32_of_f16(x_vals[i_2]);
                        }
                    }
                }
                #pragma omp barrier
                int64_t strip_turn = 0;
                for (int64_t strip; (strip = next_part(begun, 1, &strip_turn, parts)) < parts;) {
                    const int64_t strip_length = (out_size + (parts - 1)) / parts;
                    const int64_t strip_begin = min_i64(out_size, strip * strip_length);
                    const int64_t strip_end = min_i64(out_size, strip_begin + strip_length);
                    for (int64_t q_3 = strip_begin; q_3 < strip_end; q_3++) {
                        out_sums[q_3] = out_own[q_3];
                    }
                    for (int64_t part_2 = 1; part_2 < parts; part_2++) {
                        for (int64_t q_2 = strip_begin; q_2 < strip_end; q_2++) {
                            out_sums[q_2] += out_own[part_2 * out_size + q_2];
                        }
                    }
                }
            }
        }
        free(out_own);
        out_own = NULL;
    } else {
        memset(out_sums, 0, (size_t)n_j * sizeof *out_sums);
        for (int64_t A_p1 = A_pos1[0]; A_p1 < A_pos1[1]; A_p1++) {
            const int64_t i = A_crd1[A_p1];
            for (int64_t A_p2 = A_pos2[A_p1]; A_p2 < A_pos2[A_p1 + 1]; A_p2++) {
                const int64_t j = A_crd2[A_p2];
                out_sums[j] += f32_of_f16(A_vals[A_p2]) * f32_of_f16(x_vals[i]);
            }
        }
    }
    const int64_t team_ = out_size_2 > 20000 ? threads : 1;
    #pragma omp parallel num_threads(team_)
    {
        #pragma omp for schedule(static) nowait
        for (int64_t p = 0; p < out_size_2; p++) {
            out_vals[p] = f32_to_f16(out_sums[p]);
        }
    }
done:
    free(out_own);
    free(out_sums);
    return status;
}
