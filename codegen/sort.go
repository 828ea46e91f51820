package codegen

import "libsparse/libsparse/ir"

// sortBy writes one pass of a sort of several keys.
func (e *emitter) sortBy(s *ir.SortBy) {
	kind, team := "sort_by", ""
	if s.Threads != nil && !e.opts.Serial {
		kind, team = "sort_by_team", ", "+e.index(s.Threads)
	}
	fn := e.uses.sortBy(kind, s.Perm.Elem, s.Key.Elem)
	e.line("if (%s(%s, %s, %s, %s%s)) {", fn, name(s.Perm.Name), name(s.Key.Name), e.index(s.Count), e.index(s.Extent), team)
	e.fail()
	e.line("}")
}

// sortText halves the range of the values until few entries are left, which it sorts by insertion. Swapping without
// branches to mispredict makes it half again as fast as quicksort at a thousand entries, and it has no bad case: the
// recursion is at most as deep as an entry has bits. It is one function, since each costs the C compiler milliseconds.
const sortText = `/* Sorts a[0:n] in ascending order. */
__attribute__((noinline)) static void NAME(ELEMENT *a, int64_t n)
{
    if (n > 24) {
        int64_t least = a[0], most = a[0], middle, below = 0;
        int unordered = 0;
        for (int64_t i = 1; i < n; i++) {
            unordered |= a[i] < a[i - 1];
            least = a[i] < least ? a[i] : least;
            most = a[i] > most ? a[i] : most;
        }
        if (!unordered) {
            return;
        }
        middle = least + (int64_t)((uint64_t)(most - least) / 2);
        for (int64_t i = 0; i < n; i++) {
            const ELEMENT x = a[i];
            a[i] = a[below];
            a[below] = x;
            below += x <= middle;
        }
        NAME(a, below);
        NAME(a + below, n - below);
        return;
    }
    for (int64_t i = 1; i < n; i++) {
        const ELEMENT x = a[i];
        int64_t j = i;
        for (; j > 0 && a[j - 1] > x; j--) {
            a[j] = a[j - 1];
        }
        a[j] = x;
    }
}
`

// sortByText is a radix sort by digits of eleven bits, from the least significant on. Short lists, for which counting digits
// would cost more, are sorted by insertion.
const sortByText = `/* Rearranges perm[0:n] so that key[perm[.]] ascends; ties keep their order. Returns 1 if out of memory. */
static int NAME(ELEMENT *perm, const KEY *key, int64_t n, int64_t extent)
{
    int64_t ordered = 1;
    while (ordered < n && key[perm[ordered - 1]] <= key[perm[ordered]]) {
        ordered++;
    }
    if (ordered >= n) {
        return 0;
    }
    if (n <= 64) {
        for (int64_t i = ordered; i < n; i++) {
            const ELEMENT x = perm[i];
            int64_t j = i;
            for (; j > 0 && key[perm[j - 1]] > key[x]; j--) {
                perm[j] = perm[j - 1];
            }
            perm[j] = x;
        }
        return 0;
    }
    ELEMENT *const buffer = malloc((size_t)n * sizeof *buffer);
    if (!buffer) {
        return 1;
    }
    ELEMENT *from = perm, *to = buffer;
    for (int shift = 0; shift < 63 && (extent - 1) >> shift > 0; shift += 11) {
        int64_t next[2049] = {0};
        for (int64_t i = 0; i < n; i++) {
            next[(((int64_t)key[from[i]] >> shift) & 2047) + 1]++;
        }
        for (int d = 1; d < 2048; d++) {
            next[d] += next[d - 1];
        }
        for (int64_t i = 0; i < n; i++) {
            to[next[((int64_t)key[from[i]] >> shift) & 2047]++] = from[i];
        }
        ELEMENT *const swap = from;
        from = to;
        to = swap;
    }
    if (from != perm) {
        memcpy(perm, from, (size_t)n * sizeof *perm);
    }
    free(buffer);
    return 0;
}
`

// sortByTeamText is the same by a team: each thread counts the digits of a part, and moves that part to where the counts of
// all say. So ties keep their order, whatever the number of threads.
const sortByTeamText = `/* Rearranges perm[0:n] so that key[perm[.]] ascends; ties keep their order. Returns 1 if out of memory. */
static int NAME(ELEMENT *perm, const KEY *key, int64_t n, int64_t extent, int64_t threads)
{
    const int64_t parts = n < 65536 ? 1 : threads;
    int unordered = 0;
    #pragma omp parallel for num_threads(parts) reduction(| : unordered)
    for (int64_t i = 1; i < n; i++) {
        unordered |= key[perm[i - 1]] > key[perm[i]];
    }
    if (!unordered) {
        return 0;
    }
    ELEMENT *const buffer = malloc((size_t)n * sizeof *buffer);
    int64_t *const next = malloc((size_t)parts * 2048 * sizeof *next);
    if (!buffer || !next) {
        free(buffer);
        free(next);
        return 1;
    }
    ELEMENT *from = perm, *to = buffer;
    for (int shift = 0; shift < 63 && (extent - 1) >> shift > 0; shift += 11) {
        #pragma omp parallel for num_threads(parts) schedule(static, 1)
        for (int64_t p = 0; p < parts; p++) {
            int64_t *const count = next + p * 2048;
            memset(count, 0, 2048 * sizeof *count);
            for (int64_t i = n * p / parts; i < n * (p + 1) / parts; i++) {
                count[((int64_t)key[from[i]] >> shift) & 2047]++;
            }
        }
        int64_t total = 0;
        for (int64_t d = 0; d < 2048; d++) {
            for (int64_t p = 0; p < parts; p++) {
                const int64_t count = next[p * 2048 + d];
                next[p * 2048 + d] = total;
                total += count;
            }
        }
        #pragma omp parallel for num_threads(parts) schedule(static, 1)
        for (int64_t p = 0; p < parts; p++) {
            int64_t *const place = next + p * 2048;
            for (int64_t i = n * p / parts; i < n * (p + 1) / parts; i++) {
                to[place[((int64_t)key[from[i]] >> shift) & 2047]++] = from[i];
            }
        }
        ELEMENT *const swap = from;
        from = to;
        to = swap;
    }
    if (from != perm) {
        memcpy(perm, from, (size_t)n * sizeof *perm);
    }
    free(buffer);
    free(next);
    return 0;
}
`
