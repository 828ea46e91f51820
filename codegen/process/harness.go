package process

import (
	"fmt"
	"strings"

	"libsparse/libsparse/ir"
)

// harness is a main function: it reads the slots from standard input, calls the functions that its arguments name,
// and writes status and slots to standard output. With KERNEL_REPEAT=n it calls them n times and prints how long each
// took to standard error, in nanoseconds. Arrays are allocated to the byte, for the sanitizers, and
// those without elements are NULL, as torch has them.
func harness(m *ir.Module) string {
	var arrays, calls []string
	for i, s := range m.Slots {
		if s.Array != nil {
			arrays = append(arrays, fmt.Sprint(i))
		}
	}
	for _, f := range m.Funcs {
		calls = append(calls, fmt.Sprintf("            if (!strcmp(argv[a], %q)) status = %s(slots);", f.Name, f.Name))
	}
	arrays = append(arrays, "-1")
	return strings.NewReplacer(
		"SLOTS", fmt.Sprint(max(len(m.Slots), 1)), "COUNT", fmt.Sprint(len(m.Slots)),
		"ARRAYS", strings.Join(arrays, ", "), "CALLS", strings.Join(calls, "\n"),
	).Replace(harnessText)
}

// failingMalloc stands before the kernel: the allocation whose number is in KERNEL_FAIL returns NULL.
const failingMalloc = `#include <stdlib.h>
static void *counting_allocated(void *p)
{
    static int count;
    const char *nth = getenv("KERNEL_FAIL");
    if (__atomic_add_fetch(&count, 1, __ATOMIC_RELAXED) == (nth ? atoi(nth) : 0)) {
        return NULL;
    }
    return p;
}
static void *counting_failing(void *p, void *result)
{
    if (!result) {
        free(p);
    }
    return result;
}
static void *counting_malloc(size_t n)
{
    void *p = malloc(n);
    return counting_failing(p, counting_allocated(p));
}
static void *counting_calloc(size_t n, size_t size)
{
    void *p = calloc(n, size);
    return counting_failing(p, counting_allocated(p));
}
static void *counting_realloc(void *p, size_t n)
{
    static char dummy;
    return counting_allocated(&dummy) ? realloc(p, n) : NULL;
}
#define malloc counting_malloc
#define calloc counting_calloc
#define realloc counting_realloc
`

const harnessText = `
#undef malloc
#undef calloc
#undef realloc
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void transfer(size_t moved, size_t wanted)
{
    if (moved != wanted) {
        exit(99);
    }
}

int main(int argc, char **argv)
{
    static const int arrays[] = {ARRAYS};
    static int64_t words[SLOTS], slots[SLOTS];
    int64_t status = 0;
    transfer(fread(words, 8, COUNT, stdin), COUNT);
    memcpy(slots, words, sizeof slots);
    for (const int *i = arrays; *i >= 0; i++) {
        const size_t size = (size_t)words[*i];
        if (size) {
            slots[*i] = (int64_t)malloc(size);
            transfer(fread((void *)slots[*i], 1, size, stdin), size);
        } else {
            slots[*i] = 0;
        }
    }
    const char *repeat = getenv("KERNEL_REPEAT");
    for (int r = repeat ? atoi(repeat) : 1; r > 0; r--) {
        struct timespec begin, end;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        for (int a = 1; a < argc && status == 0; a++) {
CALLS
        }
        clock_gettime(CLOCK_MONOTONIC, &end);
        if (repeat) {
            fprintf(stderr, "%lld\n", (long long)(end.tv_sec - begin.tv_sec) * 1000000000 + (end.tv_nsec - begin.tv_nsec));
        }
    }
    transfer(fwrite(&status, 8, 1, stdout), 1);
    transfer(fwrite(slots, 8, COUNT, stdout), COUNT);
    for (const int *i = arrays; *i >= 0; i++) {
        if (slots[*i]) {
            transfer(fwrite((void *)slots[*i], 1, (size_t)words[*i], stdout), (size_t)words[*i]);
            free((void *)slots[*i]);
        }
    }
    return 0;
}
`
