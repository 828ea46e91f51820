/* What the machine can do: streams of reads, triads, and chains of fused multiply-adds. */
#include <stddef.h>
#ifdef _OPENMP
#include <omp.h>
#else
#define omp_get_thread_num() 0
#define omp_get_num_threads() 1
#endif

#ifdef __AVX512F__
enum { LANES = 16 };
#elif defined(__AVX__)
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif
enum { CHAINS = 10 }; /* enough to hide the latency, and as many as fit into 16 registers */
typedef float lanes __attribute__((vector_size(4 * LANES), aligned(4)));

/* The part of n elements that this thread works on, a multiple of a step of the loops. */
static void part(ptrdiff_t n, ptrdiff_t step, ptrdiff_t *begin, ptrdiff_t *end) {
    ptrdiff_t steps = n / step, threads = omp_get_num_threads(), thread = omp_get_thread_num();
    *begin = steps * thread / threads * step;
    *end = steps * (thread + 1) / threads * step;
}

/* The sum of n floats, read `times` times over. */
double stream_read(const float *a, ptrdiff_t n, int times) {
    double total = 0;
#pragma omp parallel reduction(+ : total)
    {
        ptrdiff_t begin, end;
        part(n, CHAINS * LANES, &begin, &end);
        lanes sums[CHAINS] = {0};
        for (int t = 0; t < times; t++)
            for (ptrdiff_t i = begin; i < end; i += CHAINS * LANES)
#pragma GCC unroll 16
                for (int k = 0; k < CHAINS; k++) sums[k] += *(const lanes *)(a + i + k * LANES);
        for (int k = 0; k < CHAINS; k++) total += sums[k][0];
    }
    return total;
}

/* a = b + 3 c, `times` times over. */
void stream_triad(float *restrict a, const float *restrict b, const float *restrict c, ptrdiff_t n, int times) {
#pragma omp parallel
    {
        ptrdiff_t begin, end;
        part(n, 16, &begin, &end);
        for (int t = 0; t < times; t++)
            for (ptrdiff_t i = begin; i < end; i++) a[i] = b[i] + 3 * c[i];
    }
}

/* The multiply-adds of one step of `multiply_adds`, counted as two operations each. */
int operations_a_step(void) { return 2 * CHAINS * LANES; }

double multiply_adds(ptrdiff_t steps) {
    double total = 0;
#pragma omp parallel reduction(+ : total)
    {
        lanes v[CHAINS], factor, addend;
        for (int j = 0; j < LANES; j++) factor[j] = 0.999f, addend[j] = 0.001f * (float)(j + 1 + omp_get_thread_num()); /* no number becomes subnormal */
        for (int k = 0; k < CHAINS; k++) v[k] = addend + (float)k;
        for (ptrdiff_t i = 0; i < steps; i++)
#pragma GCC unroll 16
            for (int k = 0; k < CHAINS; k++) v[k] = v[k] * factor + addend;
        for (int k = 0; k < CHAINS; k++) total += v[k][0];
    }
    return total;
}
