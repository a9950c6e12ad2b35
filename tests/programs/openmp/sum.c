/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A loop shared out, a sum, a critical section: prints the sums and the number of threads. */
#include <omp.h>
#include <stdio.h>

int main(void)
{
	long sum = 0, entered = 0;
	int threads = 0;

#pragma omp parallel for reduction(+ : sum)
	for (int i = 0; i < 10000; i++)
		sum += i;
#pragma omp parallel
	{
#pragma omp critical
		entered++;
#pragma omp single
		threads = omp_get_num_threads();
	}
	printf("%ld, %d CPUs, %d threads\n", sum, omp_get_num_procs(), threads == entered ? threads : -1);
	return 0;
}
