/* a[i] = b[i] + 3 c[i] over arrays beyond the caches: prints seconds of each repetition.
 * Each thread first touches the parts that it later works on, so that they lie near it.
 * Usage: triad ELEMENTS REPETITIONS; exit 1 where memory is short, 2 for a wrong sum. */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words) {
    if (count != 3) return 64;
    const long n = atol(words[1]);
    const int repetitions = atoi(words[2]);
    double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b), *c = malloc(n * sizeof *c);
    if (!a || !b || !c) return 1;

#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; i++) {
        a[i] = 0.0;
        b[i] = 2.0;
        c[i] = 0.5;
    }
    for (int r = -1; r < repetitions; r++) { /* the first is a warm-up */
        const double scalar = 3.0 + r;
        const double start = omp_get_wtime();
#pragma omp parallel for schedule(static)
        for (long i = 0; i < n; i++) a[i] = b[i] + scalar * c[i];
        const double seconds = omp_get_wtime() - start;
        if (r >= 0) printf("%.9f\n", seconds);
        if (fabs(a[n / 2] - (2.0 + scalar * 0.5)) > 1e-9) return 2;
    }
    free(a);
    free(b);
    free(c);
    return 0;
}
