/* Threads of the C functions of this package: a job is divided in phases, each of which ends before the next one begins. */
#ifndef LIBSPARSE_THREADS_H
#define LIBSPARSE_THREADS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define MOST_THREADS 64

typedef struct {
	void (*phase)(void *, int);
	void *job;
	int count;
	atomic_int next; /* share that nobody has taken */
} Shares;

static inline void take_shares(void *given)
{
	Shares *shares = given;
	for (int n; (n = atomic_fetch_add(&shares->next, 1)) < shares->count;)
		shares->phase(shares->job, n);
}

static inline void *take_shares_apart(void *given)
{
	take_shares(given);
	return NULL;
}

/* Runs a phase of a job for each share of it. `team` is the address of GOMP_parallel of the OpenMP runtime whose threads kernels have: others would
 * wait for these, which look for work for some time after each kernel. Where it is 0, threads are begun for the phase. There may be fewer than
 * asked for: each takes shares until none is left. */
static inline void run_threads(int count, uint64_t team, void (*phase)(void *job, int share), void *job)
{
	Shares shares = {phase, job, count, 0};
	if (count > 1 && team != 0) {
		((void (*)(void (*)(void *), void *, unsigned, unsigned))(uintptr_t)team)(take_shares, &shares, (unsigned)count, 0);
		return;
	}
	pthread_t threads[MOST_THREADS];
	int begun = 0;
	while (begun < count - 1 && begun < MOST_THREADS && pthread_create(&threads[begun], NULL, take_shares_apart, &shares) == 0)
		begun++;
	take_shares(&shares);
	while (begun > 0)
		pthread_join(threads[--begun], NULL);
}

/* Defines the phase NAME, which runs PART, an inline function, in vectors as wide as the processor's: the package is compiled for every one. */
#if defined __x86_64__ && defined __GNUC__
#define DEFINE_WIDE(NAME, PART)                                                                                       \
	__attribute__((target("avx2"), flatten)) static void NAME##_wide(void *job, int thread) { PART(job, thread); }  \
	static void NAME##_narrow(void *job, int thread) { PART(job, thread); }                                         \
	static void NAME(void *job, int thread) { (__builtin_cpu_supports("avx2") ? NAME##_wide : NAME##_narrow)(job, thread); }
#else
#define DEFINE_WIDE(NAME, PART) \
	static void NAME(void *job, int thread) { PART(job, thread); }
#endif

/* Where the items of a share begin; they end where those of the next one do. */
static inline int64_t share(int64_t count, int threads, int thread)
{
	return count / threads * thread + count % threads * thread / threads;
}

#endif
