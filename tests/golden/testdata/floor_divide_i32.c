/* C(i,j) = floor_divide(A(i,j), x(j))
 * A: "ds" of i32
 * x: "d" of i32
 * C: "ds" of i32, pattern of A
 * reorder(i, j)
 * parallelize(i, threads)
 * threads take blocks of i with equal numbers of entries of A, where there are enough of them
 */
int omp_get_num_threads(void);
int omp_get_thread_num(void);
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;

static inline int32_t floor_divide_i32(int32_t x, int32_t y, int32_t *fault)
{
    if (y == 0) {
        __atomic_store_n(fault, 4, __ATOMIC_RELAXED);
        return 0;
    }
    if (y == -1) {
        return (int32_t)-x;
    }
    return x / y - (x % y != 0 && (x < 0) != (y < 0));
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
    const int32_t *restrict A_pos2 = (const int32_t *)slots[3];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[4];
    const int32_t *restrict A_vals = (const int32_t *)slots[5];
    const int32_t *restrict x_vals = (const int32_t *)slots[6];
    int32_t *restrict C_vals = (int32_t *)slots[7];
    int32_t fault = 0;
    const int64_t parts = A_pos2[n_i] > 12000 && threads > 1 ? max_i64(threads, min_i64(threads * 16, (int64_t)A_pos2[n_i] / 3000)) : 1;
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
                if (i_begin < i_end) {
                    for (int64_t A_p2 = A_pos2[i_begin]; A_p2 < A_pos2[i_end]; A_p2++) {
                        const int64_t j = A_crd2[A_p2];
                        C_vals[A_p2] = floor_divide_i32(A_vals[A_p2], x_vals[j], &fault);
                    }
                }
            }
        }
    }
    return fault;
}
