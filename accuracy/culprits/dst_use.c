/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// The last-use time of a route, as in Linux' dst_use_noref(): every packet of every thread to the same destination
// stores the time and raises a count in the one route entry. The twin does as later kernels do: it writes only if the
// time has changed, that is once in a clock tick.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define TICK 16384

struct dst_entry {
	uint32_t mtu, hop_limit;
	_Alignas(128) atomic_ulong __use;
	atomic_ulong lastuse;
};

struct queue {
	_Alignas(128) pthread_t id;
	int number;
	long packets;
	uint64_t bytes;
	uint32_t checksum, header[32];
};

static _Alignas(128) atomic_ulong jiffies = 1;
static struct dst_entry *route;
static pthread_barrier_t start;

static inline void dst_use_noref(struct dst_entry *dst, unsigned long time)
{
#ifdef TWIN
	if (atomic_load_explicit(&dst->lastuse, memory_order_relaxed) == time)
		return;
#endif
	atomic_store_explicit(&dst->__use, atomic_load_explicit(&dst->__use, memory_order_relaxed) + 1, memory_order_relaxed);
	atomic_store_explicit(&dst->lastuse, time, memory_order_relaxed);
}

__attribute__((noinline)) static void xmit(struct queue *queue, struct dst_entry *dst, uint32_t id)
{
	uint32_t sum = id + queue->checksum;

	dst_use_noref(dst, atomic_load_explicit(&jiffies, memory_order_relaxed));
	queue->header[1] = id;
	queue->header[2] = dst->hop_limit << 8;
	for (int i = 0; i < 32; i++)
		sum = (sum << 3 | sum >> 29) + queue->header[i];
	queue->header[3] = sum;
	queue->checksum ^= sum;
	queue->bytes += dst->mtu;
}

static void *transmit(void *argument)
{
	struct queue *self = argument;

	pthread_barrier_wait(&start);
	for (long i = 0; i < self->packets; i++) {
		if (self->number == 0 && i % TICK == TICK - 1)
			atomic_fetch_add_explicit(&jiffies, 1, memory_order_relaxed);
		xmit(self, route, (uint32_t)i);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2;
	long work = argc > 2 ? atol(argv[2]) : 100000;
	struct queue *queues = aligned_alloc(128, (size_t)threads * sizeof *queues);
	uint64_t bytes = 0;
	uint32_t checksum = 0;

	route = aligned_alloc(128, sizeof *route);
	*route = (struct dst_entry) { .mtu = 1500, .hop_limit = 64 };
	pthread_barrier_init(&start, NULL, (unsigned)threads);
	for (int t = 0; t < threads; t++) {
		queues[t] = (struct queue) { .number = t, .packets = work * (t + 1) / threads - work * t / threads };
		pthread_create(&queues[t].id, NULL, transmit, &queues[t]);
	}
	for (int t = 0; t < threads; t++) {
		pthread_join(queues[t].id, NULL);
		bytes += queues[t].bytes;
		checksum ^= queues[t].checksum;
	}
	printf("%llu bytes, checksum %08x, last used at %lu of %lu\n", (unsigned long long)bytes, checksum,
	       atomic_load(&route->lastuse), atomic_load(&jiffies));
	return bytes != 1500 * (uint64_t)work;
}
