// SPDX-License-Identifier: MIT OR Apache-2.0
#include <corefold/cf_icache.h>

#include <errno.h>
#include <stdlib.h>

// One CPU's batch: next to end.
struct cf_numbers_cpu {
	uint32_t locked;
	uint64_t next, end;
} CF_LINE_ALIGNED;

int cf_numbers_init(struct cf_numbers *n)
{
	cf_cpu_start();
	n->count = cf_slot_count();
	n->next = 1;
	n->cpus = aligned_alloc(CF_LINE, n->count * sizeof(struct cf_numbers_cpu));
	if (!n->cpus)
		return -ENOMEM;
	for (uint32_t cpu = 0; cpu < n->count; cpu++)
		n->cpus[cpu] = (struct cf_numbers_cpu){ .locked = 0 };
	return 0;
}

void cf_numbers_destroy(struct cf_numbers *n)
{
	free(n->cpus);
	n->cpus = NULL;
}

uint64_t cf_numbers_take(struct cf_numbers *n)
{
	struct cf_numbers_cpu *own = &n->cpus[cf_cpu_current()];
	uint64_t number;
	// Acquire: after the last holder's release below. Held for a moment, by threads of this CPU.
	CF_LOCK_WAIT_UNTIL(!__atomic_exchange_n(&own->locked, 1, __ATOMIC_ACQUIRE));
	if (own->next == own->end) {
		own->next = __atomic_fetch_add(&n->next, CF_ICACHE_BATCH, __ATOMIC_RELAXED); // relaxed: a number
		own->end = own->next + CF_ICACHE_BATCH;
	}
	number = own->next++;
	__atomic_store_n(&own->locked, 0, __ATOMIC_RELEASE); // release: the batch before its next user
	return number;
}
