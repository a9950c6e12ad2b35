/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// perfbook's reader-writer lock scalability (rwlockscale.c), around the routing list of its route_*.c: every look-up
// takes the lock for reading, and so writes to it, though the table never changes while packets are sent.
// The twin looks up without a lock, as the table is complete before the threads start.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUTES 16

struct route_entry {
	struct route_entry *re_next;
	uint64_t addr;
	uint64_t iface;
};

struct forwarder {
	_Alignas(128) pthread_t id;
	long packets;
	uint64_t sent[ROUTES];
};

static _Alignas(64) struct route_entry *route_list;
static _Alignas(64) pthread_rwlock_t rtlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t start;

__attribute__((noinline)) static uint64_t route_lookup(uint64_t addr)
{
	uint64_t iface = ROUTES;

#ifndef TWIN
	pthread_rwlock_rdlock(&rtlock);
#endif
	for (struct route_entry *entry = route_list; entry; entry = entry->re_next)
		if (entry->addr == addr) {
			iface = entry->iface;
			break;
		}
#ifndef TWIN
	pthread_rwlock_unlock(&rtlock);
#endif
	return iface;
}

static void route_add(uint64_t addr, uint64_t iface)
{
	struct route_entry *entry = malloc(sizeof *entry);

	entry->addr = addr;
	entry->iface = iface;
	pthread_rwlock_wrlock(&rtlock);
	entry->re_next = route_list;
	route_list = entry;
	pthread_rwlock_unlock(&rtlock);
}

static void *forward(void *argument)
{
	struct forwarder *self = argument;
	uint64_t addr = 88172645463325252u;

	pthread_barrier_wait(&start);
	for (long i = 0; i < self->packets; i++) {
		addr ^= addr << 13;
		addr ^= addr >> 7;
		addr ^= addr << 17;
		self->sent[route_lookup(10 + addr % ROUTES)]++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2;
	long work = argc > 2 ? atol(argv[2]) : 100000;
	struct forwarder *all = aligned_alloc(128, (size_t)threads * sizeof *all);
	uint64_t sent = 0;

	for (uint64_t i = 0; i < ROUTES; i++)
		route_add(10 + i, i);
	pthread_barrier_init(&start, NULL, (unsigned)threads);
	for (int t = 0; t < threads; t++) {
		all[t] = (struct forwarder) { .packets = work * (t + 1) / threads - work * t / threads };
		pthread_create(&all[t].id, NULL, forward, &all[t]);
	}
	for (int t = 0; t < threads; t++) {
		pthread_join(all[t].id, NULL);
		for (int i = 0; i < ROUTES; i++)
			sent += all[t].sent[i];
	}
	printf("%llu packets sent\n", (unsigned long long)sent);
	return sent != (uint64_t)work;
}
