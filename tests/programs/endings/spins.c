// SPDX-License-Identifier: MIT OR Apache-2.0
/* A library without hooks spins for what another thread would write. */
#include <pthread.h>

void spin(volatile int *word);

static volatile int word;

static void *writes(void *unused)
{
	word = 1;
	return unused;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, writes, NULL);
	spin(&word);
	pthread_join(thread, NULL);
	return 0;
}
