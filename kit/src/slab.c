// SPDX-License-Identifier: MIT OR Apache-2.0
// Allocation and free, and what goes over all CPUs: draining and statistics. Magazines live as long as the cache, so that
// statistics may look into any that a CPU has.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "slab_paths.h"

#include <stdlib.h>
#include <string.h>

enum { LARGEST = 8192, LARGEST_ALIGN = 4096, LARGEST_MAGAZINE = 255 };

#define CF_SLAB_COLD __attribute__((noinline, cold))

static uint32_t magazine_for(uint32_t size)
{
	return size <= 256 ? 64 : size <= 1024 ? 32 : 8;
}

static bool valid(const struct cf_slab_options *o)
{
	return o && o->size && o->size <= LARGEST && o->align <= LARGEST_ALIGN && !(o->align & (o->align - 1)) &&
	       o->magazine <= LARGEST_MAGAZINE;
}

int cf_slab_init(struct cf_slab *s, const struct cf_slab_options *o)
{
	if (!s || !CF_IS_ALIGNED(s) || !valid(o))
		return -EINVAL;
	memset(s, 0, sizeof *s);
	cf_cpu_start();
	s->cpu_count = cf_slot_count();
	s->name = o->name ? o->name : "slab";
	s->size = (uint32_t)o->size;
	s->flags = o->flags;
	s->constructor = o->constructor;
	s->charge = o->charge;
	s->context = o->context;
	s->magazine = o->magazine ? o->magazine : magazine_for(s->size);
	cf_mutex_init(&s->draining);
	slab_plan(s, o->align, o->cpus ? o->cpus : cf_cpu_count());
	s->cpus = aligned_alloc(CF_LINE, s->cpu_count * sizeof *s->cpus);
	if (!s->cpus) {
		s->cpu_count = 0; // destroying it is harmless
		return -ENOMEM;
	}
	memset(s->cpus, 0, s->cpu_count * sizeof *s->cpus);
	return 0;
}

// Relaxed: figures for statistics.
static void count(uint64_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static void drain(struct cf_slab *s);

// Free objects may be in other CPUs' magazines.
static void *last_resort(struct cf_slab *s)
{
	void *object = NULL;
	drain(s);
	return slab_take(s, &object, 1) ? object : NULL;
}

static CF_SLAB_COLD void *alloc_slow(struct cf_slab *s)
{
	struct cf_slab_magazine *m;
	void *object;
	if (slab_pop(s, &object) == SLAB_DONE)
		return object;
	m = slab_with_objects(s);
	if (m) { // one for the caller, so that nobody on this CPU is faster
		slab_set_word(m, m->word - 1);
		object = m->objects[slab_count_of(m)];
		slab_rotate(s, m);
	} else {
		object = last_resort(s);
	}
	if (object)
		count(&s->cpus[cf_cpu_current()].allocations);
	return object;
}

static CF_SLAB_COLD void free_slow(struct cf_slab *s, void *object)
{
	struct cf_slab_magazine *m;
	if (slab_push(s, object) == SLAB_DONE)
		return;
	count(&s->cpus[cf_cpu_current()].frees);
	m = slab_with_room(s);
	if (m) {
		m->objects[slab_count_of(m)] = object;
		slab_set_word(m, m->word + 1);
		slab_rotate(s, m);
	} else {
		slab_give(s, &object, 1);
	}
}

void *cf_slab_alloc(struct cf_slab *s)
{
	void *object;
	if (CF_UNLIKELY(slab_pop_once(s, &object) != SLAB_DONE))
		object = alloc_slow(s);
	if (CF_LIKELY(object != NULL))
		slab_unpoison(object, s->size);
	return object;
}

void cf_slab_free(struct cf_slab *s, void *object)
{
	if (!object)
		return;
	slab_poison(s, object);
	if (CF_UNLIKELY(slab_push_once(s, object) != SLAB_DONE))
		free_slow(s, object);
}

// ---- all CPUs

static void dispose(struct cf_slab *s, struct cf_slab_magazine *m)
{
	if (m)
		slab_flush(s, m);
	slab_into_depot(s, m);
}

static void set_gates(struct cf_slab *s, uint64_t closed)
{
	// Sequentially consistent: before the fence. An exchange: in the lab a store is seen late.
	// x86 cannot tell, a locked instruction is a full barrier; aarch64 and POWER can.
	for (uint32_t cpu = 0; cpu < s->cpu_count; cpu++)
		if (!slab_is_locked(cpu))
			__atomic_exchange_n(&s->cpus[cpu].gate, closed, __ATOMIC_SEQ_CST);
}

// `fenced`: gates are closed, and no sequence is under way. Else what sequences change stays.
static void drain_cpu(struct cf_slab *s, uint32_t cpu, bool fenced)
{
	struct cf_slab_cpu *own = &s->cpus[cpu];
	struct cf_slab_magazine *m = NULL;
	if (slab_is_locked(cpu))
		cf_qspin_lock(&own->lock);
	if (slab_is_locked(cpu) || fenced)
		m = __atomic_exchange_n(&own->loaded, NULL, __ATOMIC_RELAXED); // relaxed: the lock orders, or the fence
	if (slab_is_locked(cpu))
		cf_qspin_unlock(&own->lock);
	if (m)
		slab_settle(own, m);
	dispose(s, m);
	dispose(s, slab_exchange(own, NULL));
}

static void drain_depot(struct cf_slab *s)
{
	struct cf_slab_magazine *full, *next;
	struct cf_mcs_node node;
	cf_mcs_lock(&s->depot, &node);
	full = s->full;
	s->full = NULL;
	__atomic_store_n(&s->full_count, 0, __ATOMIC_RELAXED); // relaxed: looked at without the lock, too
	cf_mcs_unlock(&s->depot, &node);
	for (; full; full = next) {
		next = full->next;
		dispose(s, full);
	}
}

static void drain(struct cf_slab *s)
{
	bool fenced;
	(void)cf_mutex_lock(&s->draining); // cannot fail: nobody takes it twice
	set_gates(s, 1);
	CF_TEST_POINT("slab: gates closed");
	fenced = cf_cpu_fence(-1) == 0;
	for (uint32_t cpu = 0; cpu < s->cpu_count; cpu++)
		drain_cpu(s, cpu, fenced);
	set_gates(s, 0);
	drain_depot(s);
	cf_mutex_unlock(&s->draining);
}

size_t cf_slab_shrink(struct cf_slab *s)
{
	uint64_t before = cf_slab_bytes(s), after;
	drain(s);
	slab_unmap_unused(s);
	after = cf_slab_bytes(s);
	return before > after ? before - after : 0;
}

// Relaxed, here and below: sequences go on meanwhile.
static void add_loaded(struct cf_slab_stats *stats, const struct cf_slab_magazine *m)
{
	uint64_t word = __atomic_load_n(&m->word, __ATOMIC_RELAXED), cached = word & SLAB_COUNT, pops = word >> 16;
	stats->cached += cached;
	stats->allocations += pops;
	stats->frees += cached + pops - __atomic_load_n(&m->base, __ATOMIC_RELAXED);
}

static void cpu_stats(const struct cf_slab_cpu *cpu, struct cf_slab_stats *stats)
{
	// Acquire: what is in them. x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can.
	const struct cf_slab_magazine *loaded = __atomic_load_n(&cpu->loaded, __ATOMIC_ACQUIRE);
	const struct cf_slab_magazine *other = __atomic_load_n(&cpu->previous, __ATOMIC_ACQUIRE);
	stats->allocations += __atomic_load_n(&cpu->allocations, __ATOMIC_RELAXED);
	stats->frees += __atomic_load_n(&cpu->frees, __ATOMIC_RELAXED);
	if (loaded)
		add_loaded(stats, loaded);
	if (other)
		stats->cached += __atomic_load_n(&other->word, __ATOMIC_RELAXED) & SLAB_COUNT;
	CF_TEST_POINT("slab: a CPU is counted");
}

static void depot_stats(struct cf_slab *s, struct cf_slab_stats *stats)
{
	struct cf_mcs_node node;
	cf_mcs_lock(&s->depot, &node);
	for (struct cf_slab_magazine *m = s->full; m; m = m->next)
		stats->cached += slab_count_of(m);
	stats->exchanges = s->exchanges;
	cf_mcs_unlock(&s->depot, &node);
	cf_mcs_lock(&s->pages, &node);
	stats->slabs = s->slabs;
	stats->empty_slabs = s->unused_count;
	stats->bytes = s->bytes;
	stats->refills = s->refills;
	cf_mcs_unlock(&s->pages, &node);
}

void cf_slab_stats(struct cf_slab *s, struct cf_slab_stats *stats)
{
	*stats = (struct cf_slab_stats){ 0 };
	for (uint32_t i = 0; i < s->cpu_count; i++)
		cpu_stats(&s->cpus[i], stats);
	// Of an object that goes to a CPU that is looked at later, its free alone is seen.
	stats->allocated = stats->allocations > stats->frees ? stats->allocations - stats->frees : 0;
	depot_stats(s, stats);
}

size_t cf_slab_destroy(struct cf_slab *s)
{
	struct cf_slab_stats stats;
	cf_slab_stats(s, &stats);
	drain(s);
	slab_unmap_all(s);
	for (struct cf_slab_magazine *m = s->empty, *next; m; m = next) { // all are empty now
		next = m->next;
		free(m);
	}
	free(s->cpus);
	s->cpus = NULL;
	return stats.allocated;
}
