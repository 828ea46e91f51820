/* The loop nests as TACO prints them: one accumulation at the bottom, chunks of rows dealt out to the threads. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 16 }; /* rows */

#define PARALLEL _Pragma("omp parallel for schedule(static, 1)")
#define ROWS(i, n) for (int64_t i##0 = 0; i##0 < (n); i##0 += CHUNK) \
    for (int64_t i = i##0; i < i##0 + CHUNK && i < (n); i++)

void spmv(int64_t rows, const int32_t *restrict pos, const int32_t *restrict crd, const T *restrict A,
          const T *restrict x, T *restrict y) {
    PARALLEL
    ROWS(i, rows) {
        T sum = 0;
        for (int32_t p = pos[i]; p < pos[i + 1]; p++) sum += A[p] * x[crd[p]];
        y[i] = sum;
    }
}

void spmm(int64_t rows, int64_t n, const int32_t *restrict pos, const int32_t *restrict crd, const T *restrict A,
          const T *restrict X, T *restrict Y) {
    PARALLEL
    ROWS(i, rows) {
        for (int64_t k = 0; k < n; k++) Y[i * n + k] = 0;
        for (int32_t p = pos[i]; p < pos[i + 1]; p++) {
            int64_t j = crd[p];
            for (int64_t k = 0; k < n; k++) Y[i * n + k] += A[p] * X[j * n + k];
        }
    }
}

void sddmm(int64_t rows, int64_t n, const int32_t *restrict pos, const int32_t *restrict crd, const T *restrict A,
           const T *restrict U, const T *restrict V, T *restrict S) {
    PARALLEL
    ROWS(i, rows)
        for (int32_t p = pos[i]; p < pos[i + 1]; p++) {
            int64_t j = crd[p];
            T sum = 0;
            for (int64_t k = 0; k < n; k++) sum += A[p] * U[i * n + k] * V[j * n + k];
            S[p] = sum;
        }
}

/* C = A B by rows with a dense workspace. The first of two calls counts (col == NULL), the second fills; the columns of
   a row are unsorted. */
void spgemm(int64_t rows, int64_t columns, const int32_t *restrict apos, const int32_t *restrict acrd,
            const T *restrict A, const int32_t *restrict bpos, const int32_t *restrict bcrd, const T *restrict B,
            int32_t *restrict pos, int32_t *restrict col, T *restrict C) {
#pragma omp parallel
    {
        T *sums = col ? calloc(columns, sizeof(T)) : NULL;
        int32_t *mark = malloc(columns * sizeof(int32_t));
        memset(mark, 0xff, columns * sizeof(int32_t));
#pragma omp for schedule(static, 1)
        ROWS(i, rows) {
            int32_t count = 0, start = col ? pos[i] : 0;
            for (int32_t p = apos[i]; p < apos[i + 1]; p++) {
                int32_t k = acrd[p];
                for (int32_t q = bpos[k]; q < bpos[k + 1]; q++) {
                    int32_t j = bcrd[q];
                    if (mark[j] != (int32_t)i) {
                        mark[j] = (int32_t)i;
                        if (col) col[start + count] = j;
                        count++;
                    }
                    if (col) sums[j] += A[p] * B[q];
                }
            }
            if (!col) pos[i + 1] = count;
            else
                for (int32_t c = start; c < start + count; c++) C[c] = sums[col[c]], sums[col[c]] = 0;
        }
        free(sums);
        free(mark);
    }
    if (!col) {
        pos[0] = 0;
        for (int64_t i = 0; i < rows; i++) pos[i + 1] += pos[i];
    }
}

/* C = A + B by merging rows; the first of two calls counts (col == NULL), the second fills. */
void spadd(int64_t rows, const int32_t *restrict apos, const int32_t *restrict acrd, const T *restrict A,
           const int32_t *restrict bpos, const int32_t *restrict bcrd, const T *restrict B, int32_t *restrict pos,
           int32_t *restrict col, T *restrict C) {
    PARALLEL
    ROWS(i, rows) {
        int32_t p = apos[i], q = bpos[i], c = col ? pos[i] : 0, first = c;
        while (p < apos[i + 1] || q < bpos[i + 1]) {
            int32_t a = p < apos[i + 1] ? acrd[p] : INT32_MAX, b = q < bpos[i + 1] ? bcrd[q] : INT32_MAX;
            int32_t j = a < b ? a : b;
            if (col) {
                col[c] = j;
                C[c] = (a == j ? A[p] : 0) + (b == j ? B[q] : 0);
            }
            p += a == j;
            q += b == j;
            c++;
        }
        if (!col) pos[i + 1] = c - first;
    }
    if (!col) {
        pos[0] = 0;
        for (int64_t i = 0; i < rows; i++) pos[i + 1] += pos[i];
    }
}

/* Tensors are compressed by fibers: slices list their i, fibers their j, entries their k. */
void mttkrp(int64_t slices, int64_t n, const int32_t *restrict spos, const int32_t *restrict icrd,
            const int32_t *restrict fpos, const int32_t *restrict jcrd, const int32_t *restrict kcrd,
            const T *restrict X, const T *restrict B, const T *restrict C, T *restrict M) {
    PARALLEL
    ROWS(s, slices) {
        T *out = M + icrd[s] * n;
        for (int32_t f = spos[s]; f < spos[s + 1]; f++) {
            const T *b = B + jcrd[f] * n;
            for (int32_t p = fpos[f]; p < fpos[f + 1]; p++) {
                const T *c = C + kcrd[p] * n;
                for (int64_t r = 0; r < n; r++) out[r] += X[p] * c[r] * b[r];
            }
        }
    }
}
