/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// perfbook's count_atomic.c in a packet counter: every thread adds each packet to one global counter with an atomic
// instruction. The twin is perfbook's statistical counter (count_end.c): each thread adds to a variable of its own,
// and adds that to the global count once, when it ends.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct packet {
	uint16_t words[32];
};

struct thread {
	_Alignas(128) pthread_t id;
	long packets;
	uint32_t checksum;
};

static atomic_ulong global_count;
static pthread_barrier_t start;
#ifdef TWIN
static _Thread_local unsigned long counter;
#endif

static inline void inc_count(void)
{
#ifdef TWIN
	counter++;
#else
	atomic_fetch_add(&global_count, 1);
#endif
}

__attribute__((noinline)) static uint32_t receive(struct packet *packet, uint32_t number)
{
	uint32_t sum = 0;

	packet->words[number % 32] = (uint16_t)number;
	for (int i = 0; i < 32; i++)
		sum = (sum << 5 | sum >> 27) ^ packet->words[i];
	inc_count();
	return sum;
}

static void *receiver(void *argument)
{
	struct thread *self = argument;
	struct packet packet = { { 0 } };
	uint32_t checksum = 0;

	pthread_barrier_wait(&start);
	for (long i = 0; i < self->packets; i++)
		checksum = (checksum << 1 | checksum >> 31) ^ receive(&packet, (uint32_t)i);
	self->checksum = checksum;
#ifdef TWIN
	atomic_fetch_add(&global_count, counter);
#endif
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2;
	long work = argc > 2 ? atol(argv[2]) : 100000;
	struct thread *all = aligned_alloc(128, (size_t)threads * sizeof *all);
	uint32_t checksum = 0;

	pthread_barrier_init(&start, NULL, (unsigned)threads);
	for (int t = 0; t < threads; t++) {
		all[t].packets = work * (t + 1) / threads - work * t / threads;
		pthread_create(&all[t].id, NULL, receiver, &all[t]);
	}
	for (int t = 0; t < threads; t++) {
		pthread_join(all[t].id, NULL);
		checksum ^= all[t].checksum;
	}
	printf("%lu packets, checksum %08x\n", atomic_load(&global_count), checksum);
	free(all);
	return atomic_load(&global_count) != (unsigned long)work;
}
