/* out(i,j) = A(i,j)
 * A: "ds" of f32
 * out: "ds:1,0" of f32
 * reorder(i, j)
 * assemble(insert)
 * parallelize(i, threads)
 * out is filled by insertion: its rows are counted first, then entries go to their rows as they come
 * threads take blocks of i with equal numbers of entries of A, where there are enough of them
 */
int omp_get_num_threads(void);
int omp_get_thread_num(void);
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __SIZE_TYPE__ size_t;
void *aligned_alloc(__SIZE_TYPE__, __SIZE_TYPE__);
void *malloc(__SIZE_TYPE__);
void *memset(void *, int, __SIZE_TYPE__);
void free(void *);

static void *allocate(int64_t count, size_t size)
{
    const size_t bytes = (size_t)count * size + 1;
    return bytes < 4096 ? malloc(bytes) : aligned_alloc(64, (bytes + 63) / 64 * 64);
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

int32_t kernel_assemble(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int64_t n_j = slots[2];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[3];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[4];
    int64_t out_count2 = slots[6];
    int32_t *restrict out_pos2 = (int32_t *)slots[7];
    int32_t status = 0;
    memset(out_pos2, 0, (size_t)(n_j + 1) * sizeof *out_pos2);
    const int64_t rows = n_j;
    const int64_t parts = max_i64(min_i64(threads, A_pos2[n_i] / max_i64(rows + 1, 24000)), 1);
    int32_t *restrict out_next = allocate(max_i64(parts * rows, 1), sizeof *out_next);
    if (!out_next) {
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
                for (int64_t p_2 = 0; p_2 < rows; p_2++) {
                    out_next[part * rows + p_2] = 0;
                }
            }
        }
    }
    const int64_t team_ = parts > 1 ? threads : 1;
    {
        int64_t begun_[16 * team_];
        for (int64_t n_ = 0; n_ < 16 * team_; n_++) {
            begun_[n_] = 0;
        }
        #pragma omp parallel num_threads(team_)
        {
            int64_t part_2_turn = 0;
            for (int64_t part_2; (part_2 = next_part(begun_, 0, &part_2_turn, parts)) < parts;) {
                const int64_t i_share = (n_i + A_pos2[n_i] + (parts - 1)) / parts;
                int64_t i_begin = 0;
                int64_t i_begin_above = n_i;
                while (i_begin < i_begin_above) {
                    const int64_t i_begin_middle = i_begin + (i_begin_above - i_begin) / 2;
                    if (i_begin_middle + A_pos2[i_begin_middle] < part_2 * i_share) {
                        i_begin = i_begin_middle + 1;
                    } else {
                        i_begin_above = i_begin_middle;
                    }
                }
                int64_t i_end = i_begin;
                int64_t i_end_above = n_i;
                while (i_end < i_end_above) {
                    const int64_t i_end_middle = i_end + (i_end_above - i_end) / 2;
                    if (i_end_middle + A_pos2[i_end_middle] < (part_2 + 1) * i_share) {
                        i_end = i_end_middle + 1;
                    } else {
                        i_end_above = i_end_middle;
                    }
                }
                if (i_begin < i_end) {
                    for (int64_t A_p2 = A_pos2[i_begin]; A_p2 < A_pos2[i_end]; A_p2++) {
                        const int64_t j = A_crd2[A_p2];
                        out_next[part_2 * rows + j]++;
                    }
                }
            }
        }
    }
    const int64_t team__ = parts > 1 ? threads : 1;
    {
        int64_t begun__[16 * team__];
        for (int64_t n__ = 0; n__ < 16 * team__; n__++) {
            begun__[n__] = 0;
        }
        #pragma omp parallel num_threads(team__)
        {
            int64_t p_3_turn = 0;
            const int64_t p_3_trips = rows;
            const int64_t p_3_chunk = team__ > 1 ? max_i64(1, rows / (threads * 16)) : max_i64(p_3_trips, 1);
            const int64_t p_3_parts = (p_3_trips + (p_3_chunk - 1)) / p_3_chunk;
            for (int64_t p_3_part; (p_3_part = next_part(begun__, 0, &p_3_turn, p_3_parts)) < p_3_parts;) {
                const int64_t p_3_end = min_i64(p_3_trips, (p_3_part + 1) * p_3_chunk);
                for (int64_t p_3 = p_3_part * p_3_chunk; p_3 < p_3_end; p_3++) {
                    int64_t length = 0;
                    for (int64_t part_3 = 0; part_3 < parts; part_3++) {
                        const int64_t at = part_3 * rows + p_3;
                        length += out_next[at];
                    }
                    out_pos2[p_3 + 1] = (int32_t)length;
                }
            }
        }
    }
    int64_t total = 0;
    for (int64_t p = 0; p < n_j; p++) {
        total += out_pos2[p + 1];
        out_pos2[p + 1] = (int32_t)total;
    }
    if (total > 2147483647) {
        status = 2;
        goto done;
    }
    out_count2 = total;
    slots[6] = out_count2;
done:
    free(out_next);
    return status;
}

int32_t kernel_compute(int64_t *slots)
{
    const int64_t threads = slots[0];
    const int64_t n_i = slots[1];
    const int64_t n_j = slots[2];
    const int32_t *restrict A_pos2 = (const int32_t *)slots[3];
    const int32_t *restrict A_crd2 = (const int32_t *)slots[4];
    const float *restrict A_vals = (const float *)slots[5];
    const int32_t *restrict out_pos2 = (const int32_t *)slots[7];
    int32_t *restrict out_crd2 = (int32_t *)slots[8];
    float *restrict out_vals = (float *)slots[9];
    int32_t status = 0;
    const int64_t rows = n_j;
    const int64_t parts = max_i64(min_i64(threads, A_pos2[n_i] / max_i64(rows + 1, 24000)), 1);
    int32_t *restrict out_next = allocate(max_i64(parts * rows, 1), sizeof *out_next);
    if (!out_next) {
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
                for (int64_t p = 0; p < rows; p++) {
                    out_next[part * rows + p] = 0;
                }
            }
        }
    }
    if (parts > 1) {
        const int64_t team_ = parts > 1 ? threads : 1;
        {
            int64_t begun_[16 * team_];
            for (int64_t n_ = 0; n_ < 16 * team_; n_++) {
                begun_[n_] = 0;
            }
            #pragma omp parallel num_threads(team_)
            {
                int64_t part_2_turn = 0;
                for (int64_t part_2; (part_2 = next_part(begun_, 0, &part_2_turn, parts)) < parts;) {
                    const int64_t i_share = (n_i + A_pos2[n_i] + (parts - 1)) / parts;
                    int64_t i_begin = 0;
                    int64_t i_begin_above = n_i;
                    while (i_begin < i_begin_above) {
                        const int64_t i_begin_middle = i_begin + (i_begin_above - i_begin) / 2;
                        if (i_begin_middle + A_pos2[i_begin_middle] < part_2 * i_share) {
                            i_begin = i_begin_middle + 1;
                        } else {
                            i_begin_above = i_begin_middle;
                        }
                    }
                    int64_t i_end = i_begin;
                    int64_t i_end_above = n_i;
                    while (i_end < i_end_above) {
                        const int64_t i_end_middle = i_end + (i_end_above - i_end) / 2;
                        if (i_end_middle + A_pos2[i_end_middle] < (part_2 + 1) * i_share) {
                            i_end = i_end_middle + 1;
                        } else {
                            i_end_above = i_end_middle;
                        }
                    }
                    if (i_begin < i_end) {
                        for (int64_t A_p2 = A_pos2[i_begin]; A_p2 < A_pos2[i_end]; A_p2++) {
                            const int64_t j = A_crd2[A_p2];
                            out_next[part_2 * rows + j]++;
                        }
                    }
                }
            }
        }
    }
    const int64_t team__ = parts > 1 ? threads : 1;
    {
        int64_t begun__[16 * team__];
        for (int64_t n__ = 0; n__ < 16 * team__; n__++) {
            begun__[n__] = 0;
        }
        #pragma omp parallel num_threads(team__)
        {
            int64_t p_2_turn = 0;
            const int64_t p_2_trips = rows;
            const int64_t p_2_chunk = team__ > 1 ? max_i64(1, rows / (threads * 16)) : max_i64(p_2_trips, 1);
            const int64_t p_2_parts = (p_2_trips + (p_2_chunk - 1)) / p_2_chunk;
            for (int64_t p_2_part; (p_2_part = next_part(begun__, 0, &p_2_turn, p_2_parts)) < p_2_parts;) {
                const int64_t p_2_end = min_i64(p_2_trips, (p_2_part + 1) * p_2_chunk);
                for (int64_t p_2 = p_2_part * p_2_chunk; p_2 < p_2_end; p_2++) {
                    int64_t begin = out_pos2[p_2];
                    for (int64_t part_3 = 0; part_3 < parts; part_3++) {
                        const int64_t at = part_3 * rows + p_2;
                        const int64_t count = out_next[at];
                        out_next[at] = (int32_t)begin;
                        begin += count;
                    }
                }
            }
        }
    }
    const int64_t team___ = parts > 1 ? threads : 1;
    {
        int64_t begun___[16 * team___];
        for (int64_t n___ = 0; n___ < 16 * team___; n___++) {
            begun___[n___] = 0;
        }
        #pragma omp parallel num_threads(team___)
        {
            int64_t part_4_turn = 0;
            for (int64_t part_4; (part_4 = next_part(begun___, 0, &part_4_turn, parts)) < parts;) {
                const int64_t i_2_share = (n_i + A_pos2[n_i] + (parts - 1)) / parts;
                int64_t i_2_begin = 0;
                int64_t i_2_begin_above = n_i;
                while (i_2_begin < i_2_begin_above) {
                    const int64_t i_2_begin_middle = i_2_begin + (i_2_begin_above - i_2_begin) / 2;
                    if (i_2_begin_middle + A_pos2[i_2_begin_middle] < part_4 * i_2_share) {
                        i_2_begin = i_2_begin_middle + 1;
                    } else {
                        i_2_begin_above = i_2_begin_middle;
                    }
                }
                int64_t i_2_end = i_2_begin;
                int64_t i_2_end_above = n_i;
                while (i_2_end < i_2_end_above) {
                    const int64_t i_2_end_middle = i_2_end + (i_2_end_above - i_2_end) / 2;
                    if (i_2_end_middle + A_pos2[i_2_end_middle] < (part_4 + 1) * i_2_share) {
                        i_2_end = i_2_end_middle + 1;
                    } else {
                        i_2_end_above = i_2_end_middle;
                    }
                }
                for (int64_t i_2 = i_2_begin; i_2 < i_2_end; i_2++) {
                    for (int64_t A_p2_2 = A_pos2[i_2]; A_p2_2 < A_pos2[i_2 + 1]; A_p2_2++) {
                        const int64_t j_2 = A_crd2[A_p2_2];
                        const int64_t out_p = out_next[part_4 * rows + j_2];
                        out_crd2[out_p] = (int32_t)i_2;
                        out_vals[out_p] = A_vals[A_p2_2];
                        out_next[part_4 * rows + j_2] = (int32_t)(out_p + 1);
                    }
                }
            }
        }
    }
done:
    free(out_next);
    return status;
}
