/* Rates of memory and arithmetic, one pinned thread a CPU, each on memory that it touched first.
 * Usage: kernels MODE BYTES BLOCKS BLOCK_SECONDS CPU...
 * MODE read, triad: BYTES of each array over all threads; sgemm: BYTES is ignored; clock: one CPU.
 * Prints for each block after a warm-up: seconds, and units done by all threads (8-byte elements
 * read; elements of the triad; FLOP; cycles). Exit 1: no memory, 2: a wrong result, 64: usage. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { MOST_CPUS = 4096 };
static const char *mode;
static long elements, blocks, threads, passes = 1;
static double block_s;
static int cpus[MOST_CPUS];
static double starts[MOST_CPUS], ends[MOST_CPUS];
static pthread_barrier_t gate;
static volatile int is_wrong, is_short, is_warm;
static volatile double sink;

/* A clock is told by a thread's own time: others may have had the CPU in between. */
static double now_s(void) {
    struct timespec t;
    clock_gettime(strcmp(mode, "clock") ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void *pages(size_t bytes) {
    void *p = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return 0;
#ifdef MADV_HUGEPAGE
    madvise(p, bytes, MADV_HUGEPAGE);
#endif
    return p;
}

static uint64_t sum_of(const uint64_t *a, long n) {
    uint64_t s[32] = {0};
    long i = 0;
    for (; i + 32 <= n; i += 32)
        for (int j = 0; j < 32; j++) s[j] += a[i + j];
    for (; i < n; i++) s[0] += a[i];
    uint64_t all = 0;
    for (int j = 0; j < 32; j++) all += s[j];
    return all;
}

static void triad(double *restrict a, const double *restrict b, const double *restrict c,
                  double scalar, long n) {
    for (long i = 0; i < n; i++) a[i] = b[i] + scalar * c[i];
}

/* Products of 96 x 192 by 192 x 8 vectors, packed, within a core's own cache. */
#if defined(__AVX512F__)
#define VECTOR 64
#elif defined(__AVX2__)
#define VECTOR 32
#else
#define VECTOR 16
#endif
typedef float vec __attribute__((vector_size(VECTOR)));
enum { LANES = VECTOR / 4, ROWS = 6, M = 96, K = 192, N = 8 };

static void product(const float *a, const vec *b, vec *c) {
    for (int n = 0; n < N; n += 2)
        for (int m = 0; m < M; m += ROWS) {
            vec s[ROWS][2];
            memset(s, 0, sizeof s);
            const float *p = a + m * K;
            const vec *q = b + n * K;
            for (int k = 0; k < K; k++, p += ROWS, q += 2)
                for (int r = 0; r < ROWS; r++) {
                    s[r][0] += p[r] * q[0];
                    s[r][1] += p[r] * q[1];
                }
            for (int r = 0; r < ROWS; r++) {
                c[(m + r) * N + n] = s[r][0];
                c[(m + r) * N + n + 1] = s[r][1];
            }
        }
}

/* Multiplications of which each waits for the last: three cycles each on x86-64 since 2008. */
static void cycles(long count) {
#if defined(__x86_64__)
    uint64_t x = 3;
    for (long i = 0; i < count / 24; i++)
        __asm__ volatile("imul %0,%0\n imul %0,%0\n imul %0,%0\n imul %0,%0\n"
                         "imul %0,%0\n imul %0,%0\n imul %0,%0\n imul %0,%0\n" : "+r"(x));
    sink = (double)x;
#else
    (void)count;
#endif
}

static double per_pass(void) {
    if (!strcmp(mode, "sgemm")) return 2.0 * M * K * N * LANES * threads;
    if (!strcmp(mode, "clock")) return 24e5;
    return (double)(elements / threads) * threads;
}

/* From the first thread's start to the last one's end: any of them may have been kept waiting
 * between the gate and its work, while others worked. */
static double block_seconds(void) {
    double first = starts[0], last = ends[0];
    for (long i = 1; i < threads; i++) {
        if (starts[i] < first) first = starts[i];
        if (ends[i] > last) last = ends[i];
    }
    return last - first;
}

static void *work(void *which) {
    const long me = (long)which, n = elements / threads;
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(cpus[me], &own);
    if (sched_setaffinity(0, sizeof own, &own)) is_wrong = 1;
    const int is_read = !strcmp(mode, "read"), is_triad = !strcmp(mode, "triad");
    const int is_product = !strcmp(mode, "sgemm");
    double *a = 0, *b = 0, *c = 0;
    if (is_read || is_triad) {
        a = pages(n * 8);
        if (is_triad) b = pages(n * 8), c = pages(n * 8);
        if (!a || (is_triad && (!b || !c))) is_short = 1;
    } else if (is_product) {
        a = pages(M * K * 4), b = pages(N * K * sizeof(vec)), c = pages(M * N * sizeof(vec));
        if (!a || !b || !c) is_short = 1;
    }
    pthread_barrier_wait(&gate);
    if (is_short) return 0;
    if (is_read)
        for (long i = 0; i < n; i++) ((uint64_t *)a)[i] = 3;
    if (is_triad)
        for (long i = 0; i < n; i++) a[i] = 0, b[i] = 2, c[i] = 0.5;
    if (is_product) {
        for (long i = 0; i < M * K; i++) ((float *)a)[i] = 0.5f;
        for (long i = 0; i < N * K * LANES; i++) ((float *)b)[i] = 2;
    }
    for (long block = -8; block < blocks; block++) { /* before 0: warm-up, finding the passes */
        pthread_barrier_wait(&gate);
        if (is_warm && block < -1) block = -1; /* once more with the passes that were found */
        starts[me] = now_s();
        const long times = passes;
        for (long pass = 0; pass < times; pass++) {
            if (is_read && sum_of((uint64_t *)a, n) != 3 * (uint64_t)n) is_wrong = 1;
            if (is_triad) triad(a, b, c, 3.0 + (pass & 7), n);
            if (is_product) product((float *)a, (vec *)b, (vec *)c);
            if (!is_read && !is_triad && !is_product) cycles(2400000);
        }
        ends[me] = now_s();
        if (is_triad && a[n / 2] != 2 + (3.0 + ((times - 1) & 7)) * 0.5) is_wrong = 1;
        if (is_product && ((float *)c)[M * N * LANES - 1] != (float)K) is_wrong = 1;
        pthread_barrier_wait(&gate);
        if (me == 0) {
            const double seconds = block_seconds();
            if (block >= 0) printf("%.9f %.17g\n", seconds, per_pass() * times);
            else if (seconds < block_s) {
                const double more = seconds > 1e-5 ? block_s / seconds * 1.1 : 64;
                passes = (long)(times * (more > 64 ? 64 : more)) + 1;
            } else is_warm = 1;
        }
    }
    return 0;
}

int main(int count, char **words) {
    if (count < 6 || count - 5 > MOST_CPUS) return 64;
    mode = words[1];
    elements = atol(words[2]) / 8;
    blocks = atol(words[3]);
    block_s = atof(words[4]);
    threads = count - 5;
    for (long i = 0; i < threads; i++) cpus[i] = atoi(words[5 + i]);
    static pthread_t ids[MOST_CPUS];
    pthread_barrier_init(&gate, 0, threads);
    for (long i = 0; i < threads; i++)
        if (pthread_create(&ids[i], 0, work, (void *)i)) return 1;
    for (long i = 0; i < threads; i++) pthread_join(ids[i], 0);
    if (is_short) return 1;
    if (is_wrong) return 2;
    return 0;
}
