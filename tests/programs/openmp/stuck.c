// SPDX-License-Identifier: MIT OR Apache-2.0
/* A thread of a team waits for a lock that another holds for ever. */
#include <omp.h>

int main(void)
{
	omp_lock_t lock;

	omp_init_lock(&lock);
#pragma omp parallel num_threads(2)
	{
		omp_set_lock(&lock);
	}
	return 0;
}
