/* out(i,j) = P(i,j) * A(i,j)
 * P: "ds" of f32, pattern only
 * A: "ds" of f32
 * out: "ds" of f32, pattern of P
 * reorder(i, j)
 * parallelize(i, threads)
 * threads take blocks of i with equal numbers of entries of P, where there are enough of them
 */
int omp_get_num_threads(void);
int omp_get_thread_num(void);
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __SIZE_TYPE__ size_t;
typedef __UINT64_TYPE__ uint64_t;
void *memset(void *, int, __SIZE_TYPE__);

static inline void clear(void *array, int64_t count, size_t size)
{
    if (count > 0) {
        memset(array, 0, (size_t)count * size);
    }
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
    const int64_t n_i = slots[1];
    const int32_t *restrict P_pos2 = (const int32_t *)slots[3];
    const int32_t *restrict P_crd2 = (const int32_t *)slots[4];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[5];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[6];
    const float *restrict A_vals = (const float *)slots[7];
    float *restrict out_vals = (float *)slots[8];
    clear(out_vals, P_pos2[n_i], sizeof *out_vals);
    const int64_t parts = (int64_t)P_pos2[n_i] + A_pos2[n_i] > 12000 && threads > 1 ? max_i64(threads, min_i64(threads * 16, ((int64_t)P_pos2[n_i] + A_pos2[n_i]) / 3000)) : 1;
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
                const int64_t i_share = (n_i + P_pos2[n_i] + A_pos2[n_i] + (parts - 1)) / parts;
                int64_t i_begin = 0;
                int64_t i_begin_above = n_i;
                while (i_begin < i_begin_above) {
                    const int64_t i_begin_middle = i_begin + (i_begin_above - i_begin) / 2;
                    if (i_begin_middle + P_pos2[i_begin_middle] + A_pos2[i_begin_middle] < part * i_share) {
                        i_begin = i_begin_middle + 1;
                    } else {
                        i_begin_above = i_begin_middle;
                    }
                }
                int64_t i_end = i_begin;
                int64_t i_end_above = n_i;
                while (i_end < i_end_above) {
                    const int64_t i_end_middle = i_end + (i_end_above - i_end) / 2;
                    if (i_end_middle + P_pos2[i_end_middle] + A_pos2[i_end_middle] < (part + 1) * i_share) {
                        i_end = i_end_middle + 1;
                    } else {
                        i_end_above = i_end_middle;
                    }
                }
                for (int64_t i = i_begin; i < i_end; i++) {
                    int64_t P_p2 = P_pos2[i];
                    const int64_t P_p2_end = P_pos2[i + 1];
                    int64_t A_p2 = A_pos2[i];
                    const int64_t A_p2_end = A_pos2[i + 1];
                    if (P_p2_end + 1 < P_pos2[n_i] && A_p2_end + 1 < A_pos2[n_i]) {
                        int64_t jP_2 = P_crd2[P_p2];
                        int64_t jP_2_next = P_crd2[P_p2 + 1];
                        int64_t jA_2 = A_crd2[A_p2];
                        int64_t jA_2_next = A_crd2[A_p2 + 1];
                        while (P_p2 < P_p2_end && A_p2 < A_p2_end) {
                            const int64_t j_2 = min_i64(jP_2, jA_2);
                            float choices_2[2] __attribute__((aligned(64)));
                            choices_2[0] = 0.0f;
                            choices_2[1] = A_vals[A_p2];
                            out_vals[P_p2] = choices_2[jP_2 == j_2 && jA_2 == j_2];
                            const int64_t P_p2_passed = (uint64_t)jP_2 <= (uint64_t)jA_2;
                            const int64_t A_p2_passed = (uint64_t)jA_2 <= (uint64_t)jP_2;
                            P_p2 = P_p2 + P_p2_passed;
                            jP_2 = P_p2_passed != 0 ? jP_2_next : jP_2;
                            jP_2_next = P_crd2[P_p2 + 1];
                            A_p2 = A_p2 + A_p2_passed;
                            jA_2 = A_p2_passed != 0 ? jA_2_next : jA_2;
                            jA_2_next = A_crd2[A_p2 + 1];
                        }
                    }
                    while (P_p2 < P_p2_end && A_p2 < A_p2_end) {
                        const int64_t jP = P_crd2[P_p2];
                        const int64_t jA = A_crd2[A_p2];
                        const int64_t j = min_i64(jP, jA);
                        float choices[2] __attribute__((aligned(64)));
                        choices[0] = 0.0f;
                        choices[1] = A_vals[A_p2];
                        out_vals[P_p2] = choices[jP == j && jA == j];
                        P_p2 = P_p2 + ((uint64_t)jP <= (uint64_t)jA);
                        A_p2 = A_p2 + ((uint64_t)jA <= (uint64_t)jP);
                    }
                }
            }
        }
    }
    return 0;
}
