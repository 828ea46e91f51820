package process

import (
	"fmt"
	"strings"

	"libsparse/libsparse/ir"
)

// symbol is the C name of a function of the kth module.
func symbol(k int, function string) string { return fmt.Sprintf("k%d_%s", k, function) }

// harness is a main function that serves calls. For each it reads from standard input, in words of 64 bits: the module's
// number, how often to call, which allocation fails (0 for none), how many functions to call one after the other while
// their status is 0, and the functions' numbers; then the slots. It writes the status, how long each repetition took in
// nanoseconds, and the slots. Arrays are allocated to the byte, for the sanitizers, and those without elements are NULL, as
// torch has them.
func harness(modules []*ir.Module) string {
	var tables, rows []string
	slots := 1
	for k, m := range modules {
		slots = max(slots, len(m.Slots))
		var arrays, functions []string
		for i, s := range m.Slots {
			if s.Array != nil {
				arrays = append(arrays, fmt.Sprint(i))
			}
		}
		for _, f := range m.Funcs {
			functions = append(functions, symbol(k, f.Name))
		}
		tables = append(tables,
			fmt.Sprintf("static const int arrays_%d[] = {%s};", k, strings.Join(append(arrays, "-1"), ", ")),
			fmt.Sprintf("static kernel_function *const functions_%d[] = {%s};", k, strings.Join(functions, ", ")))
		rows = append(rows, fmt.Sprintf("    {%d, arrays_%d, functions_%d},", len(m.Slots), k, k))
	}
	return strings.NewReplacer("SLOTS", fmt.Sprint(slots), "TABLES", strings.Join(tables, "\n"), "ROWS", strings.Join(rows, "\n")).Replace(harnessText)
}

// failingMalloc stands before the kernels: the allocation with the number allocation_to_fail returns NULL.
const failingMalloc = `#include <stdlib.h>
static int allocations, allocation_to_fail;
static void *counting_allocated(void *p)
{
    return __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED) == allocation_to_fail ? NULL : p;
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
#define COUNTING_ALLOCATIONS
`

const harnessText = `
#undef malloc
#undef calloc
#undef realloc
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef int32_t kernel_function(int64_t *);
TABLES
static const struct {
    int slots;
    const int *arrays;
    kernel_function *const *functions;
} kernels[] = {
ROWS
};

static void transfer(size_t moved, size_t wanted)
{
    if (moved != wanted) {
        exit(99);
    }
}

static void serve(const int64_t *header)
{
    static int64_t words[SLOTS], slots[SLOTS], chosen[8];
    const int64_t k = header[0], count = header[3];
    const size_t length = (size_t)kernels[k].slots;
    transfer(fread(chosen, 8, (size_t)count, stdin), (size_t)count);
    transfer(fread(words, 8, length, stdin), length);
    memcpy(slots, words, sizeof slots);
    for (const int *i = kernels[k].arrays; *i >= 0; i++) {
        const size_t size = (size_t)words[*i];
        if (size) {
            slots[*i] = (int64_t)malloc(size);
            transfer(fread((void *)slots[*i], 1, size, stdin), size);
        } else {
            slots[*i] = 0;
        }
    }
#ifdef COUNTING_ALLOCATIONS
    allocations = 0;
    allocation_to_fail = (int)header[2];
#endif
    int64_t status = 0;
    int64_t *const took = malloc((size_t)header[1] * 8);
    for (int64_t r = 0; r < header[1]; r++) {
        struct timespec begin, end;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        for (int64_t f = 0; f < count && status == 0; f++) {
            status = kernels[k].functions[chosen[f]](slots);
        }
        clock_gettime(CLOCK_MONOTONIC, &end);
        took[r] = (end.tv_sec - begin.tv_sec) * 1000000000 + (end.tv_nsec - begin.tv_nsec);
    }
    transfer(fwrite(&status, 8, 1, stdout), 1);
    transfer(fwrite(took, 8, (size_t)header[1], stdout), (size_t)header[1]);
    transfer(fwrite(slots, 8, length, stdout), length);
    for (const int *i = kernels[k].arrays; *i >= 0; i++) {
        if (slots[*i]) {
            transfer(fwrite((void *)slots[*i], 1, (size_t)words[*i], stdout), (size_t)words[*i]);
            free((void *)slots[*i]);
        }
    }
    free(took);
    fflush(stdout);
}

int main(void)
{
    int64_t header[4];
    while (fread(header, 8, 4, stdin) == 4) {
        serve(header);
    }
    return 0;
}
`
