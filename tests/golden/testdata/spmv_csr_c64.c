/* out(i) = A(i,j) * x(j)
 * A: "ds" of c64
 * x: "d" of c64
 * out: "d" of c64
 * reorder(i, j)
 * precompute(all, w, at=1, tile)
 * parallelize(i, threads)
 * workspace w: a scalar, since [j] is summed inside each element
 * threads take blocks of i with equal numbers of entries of A, where there are enough of them
 */
int omp_get_num_threads(void);
int omp_get_thread_num(void);
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;

static inline int64_t max_i64(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

static inline int64_t min_i64(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

static inline float _Complex mul_c64(float _Complex x, float _Complex y)
{
    const float a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;
    return __builtin_complex(a * c - b * d, a * d + b * c);
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

static __attribute__((noinline)) void kernel_compute_part(int64_t *slots, const int64_t part)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[3];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[4];
    const float _Complex *restrict A_vals = (const float _Complex *)slots[5];
    const float _Complex *restrict x_vals = (const float _Complex *)slots[6];
    float _Complex *restrict out_vals = (float _Complex *)slots[7];
    const int64_t parts = A_pos2[n_i] > 20000 && threads > 1 ? max_i64(threads, min_i64(threads * 16, (int64_t)A_pos2[n_i] / 5000)) : 1;
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
        float _Complex w = 0.0f;
        for (int64_t A_p2 = A_pos2[i]; A_p2 < A_pos2[i + 1]; A_p2++) {
            const int64_t j = A_crd2[A_p2];
            w += mul_c64(A_vals[A_p2], x_vals[j]);
        }
        out_vals[i] = w;
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
