/* out(i) = A(i,j,k)
 * A: "ucq" of f32
 * out: "d" of f32
 * reorder(i, j, k)
 * precompute(all, w, at=1, tile)
 * divide(i, i0, i1, 64)
 * parallelize(i0, threads)
 * workspace w: a scalar, since [j k] is summed inside each element
 * i is cut into 64 strips of coordinates for threads, since its loop merges what several levels store
 */
int omp_get_num_threads(void);
int omp_get_thread_num(void);
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __SIZE_TYPE__ size_t;
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
    const int32_t *restrict A_pos1 = (const int32_t *)slots[4];
    const int32_t *restrict A_crd1 = (const int32_t *)slots[5];
    const float *restrict A_vals = (const float *)slots[8];
    float *restrict out_vals = (float *)slots[9];
    clear(out_vals, n_i, sizeof *out_vals);
    const int64_t team = A_pos1[1] > 20000 ? threads : 1;
    {
        int64_t begun[16 * team];
        for (int64_t n = 0; n < 16 * team; n++) {
            begun[n] = 0;
        }
        #pragma omp parallel num_threads(team)
        {
            int64_t i0_turn = 0;
            const int64_t i0_trips = 64;
            const int64_t i0_chunk = team > 1 ? max_i64(1, 64 / (threads * 16)) : max_i64(i0_trips, 1);
            const int64_t i0_parts = (i0_trips + (i0_chunk - 1)) / i0_chunk;
            for (int64_t i0_part; (i0_part = next_part(begun, 0, &i0_turn, i0_parts)) < i0_parts;) {
                const int64_t i0_end = min_i64(i0_trips, (i0_part + 1) * i0_chunk);
                for (int64_t i0 = i0_part * i0_chunk; i0 < i0_end; i0++) {
                    int64_t A_p1_begin = A_pos1[0];
                    int64_t A_p1_begin_above = A_pos1[1];
                    while (A_p1_begin < A_p1_begin_above) {
                        const int64_t A_p1_begin_middle = A_p1_begin + (A_p1_begin_above - A_p1_begin) / 2;
                        if (A_crd1[A_p1_begin_middle] < i0 * ((n_i + 63) / 64)) {
                            A_p1_begin = A_p1_begin_middle + 1;
                        } else {
                            A_p1_begin_above = A_p1_begin_middle;
                        }
                    }
                    int64_t A_p1_stop = A_p1_begin;
                    int64_t A_p1_stop_above = A_pos1[1];
                    while (A_p1_stop < A_p1_stop_above) {
                        const int64_t A_p1_stop_middle = A_p1_stop + (A_p1_stop_above - A_p1_stop) / 2;
                        if (A_crd1[A_p1_stop_middle] < i0 * ((n_i + 63) / 64) + min_i64((n_i + 63) / 64, n_i - i0 * ((n_i + 63) / 64))) {
                            A_p1_stop = A_p1_stop_middle + 1;
                        } else {
                            A_p1_stop_above = A_p1_stop_middle;
                        }
                    }
                    int64_t A_p1 = A_p1_begin;
                    const int64_t A_p1_end = A_p1_stop;
                    while (A_p1 < A_p1_end) {
                        const int64_t i = A_crd1[A_p1];
                        int64_t A_p1_run = A_p1;
                        while (A_p1_run < A_p1_end && A_crd1[A_p1_run] == i) {
                            A_p1_run++;
                        }
                        float w = 0.0f;
                        for (int64_t A_p2 = A_p1; A_p2 < A_p1_run; A_p2++) {
                            w += A_vals[A_p2];
                        }
                        out_vals[i] = w;
                        A_p1 = A_p1_run;
                    }
                }
            }
        }
    }
    return 0;
}
