/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <pthread.h>

#include "lock_worker.h"

int main(void)
{
	pthread_t thread[8];

	for (int i = 0; i < 8; i++)
		pthread_create(&thread[i], NULL, lock_worker, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
