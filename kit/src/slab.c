// SPDX-License-Identifier: MIT OR Apache-2.0
// Magazines of free objects: two for each CPU, and a depot of full and empty ones for all.
// A CPU's part is under its own lock: its threads alone take it, and who drains it.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "slab.h"

#include <stdlib.h>
#include <string.h>

enum { LARGEST = 8192, LARGEST_ALIGN = 4096, LARGEST_MAGAZINE = 255 };

struct cf_slab_magazine {
	struct cf_slab_magazine *next; // in the depot
	uint32_t count;
	void *objects[];
};

struct cf_slab_cpu {
	struct cf_qspin lock;
	struct cf_slab_magazine *loaded, *previous; // may be null
	uint64_t allocations, frees;
} CF_LINE_ALIGNED;

CF_STATIC_ASSERT(sizeof(struct cf_slab_cpu) == CF_LINE, "a CPU's part is one line");

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
	slab_plan(s, o->align, o->cpus ? o->cpus : cf_cpu_count());
	s->cpus = aligned_alloc(CF_LINE, s->cpu_count * sizeof *s->cpus);
	if (!s->cpus) {
		s->cpu_count = 0; // destroying it is harmless
		return -ENOMEM;
	}
	memset(s->cpus, 0, s->cpu_count * sizeof *s->cpus);
	return 0;
}

// ---- the depot

static struct cf_slab_magazine *new_magazine(struct cf_slab *s)
{
	size_t bytes = sizeof(struct cf_slab_magazine) + s->magazine * sizeof(void *);
	struct cf_slab_magazine *m = aligned_alloc(CF_LINE, (bytes + CF_LINE - 1) / CF_LINE * CF_LINE);
	if (m)
		m->count = 0;
	return m;
}

// Relaxed: the counts are looked at without the depot's lock, too.
static void push(struct cf_slab_magazine **list, uint32_t *count, struct cf_slab_magazine *m)
{
	m->next = *list;
	*list = m;
	__atomic_store_n(count, *count + 1, __ATOMIC_RELAXED);
}

static struct cf_slab_magazine *pop(struct cf_slab_magazine **list, uint32_t *count)
{
	struct cf_slab_magazine *m = *list;
	if (m) {
		*list = m->next;
		__atomic_store_n(count, *count - 1, __ATOMIC_RELAXED);
	}
	return m;
}

// A full magazine for an empty one, which may be null; null: there is none, and the empty one stays the caller's.
static struct cf_slab_magazine *full_for_empty(struct cf_slab *s, struct cf_slab_magazine *empty)
{
	struct cf_slab_magazine *full;
	struct cf_mcs_node node;
	// Relaxed: where one has come or gone meanwhile, slabs serve as well.
	if (!__atomic_load_n(&s->full_count, __ATOMIC_RELAXED))
		return NULL;
	cf_mcs_lock(&s->depot, &node);
	full = pop(&s->full, &s->full_count);
	if (full && empty)
		push(&s->empty, &s->empty_count, empty);
	s->exchanges += full != NULL;
	cf_mcs_unlock(&s->depot, &node);
	return full;
}

static void flush(struct cf_slab *s, struct cf_slab_magazine *m)
{
	slab_give(s, m->objects, m->count);
	m->count = 0;
}

// An empty magazine for a full one, which may be null. If the depot has enough full ones, the full one is emptied.
static struct cf_slab_magazine *empty_for_full(struct cf_slab *s, struct cf_slab_magazine *full)
{
	struct cf_slab_magazine *empty = NULL;
	struct cf_mcs_node node;
	bool enough;
	cf_mcs_lock(&s->depot, &node);
	enough = full && s->full_count >= s->cpu_count;
	if (!enough) {
		empty = pop(&s->empty, &s->empty_count);
		if (empty && full)
			push(&s->full, &s->full_count, full);
		s->exchanges += empty != NULL;
	}
	cf_mcs_unlock(&s->depot, &node);
	if (empty)
		return empty;
	if (!enough && (empty = new_magazine(s)) != NULL) {
		if (!full)
			return empty;
		cf_mcs_lock(&s->depot, &node);
		push(&s->full, &s->full_count, full);
		s->exchanges++;
		cf_mcs_unlock(&s->depot, &node);
		return empty;
	}
	if (full)
		flush(s, full);
	return full;
}

// ---- a CPU

static struct cf_slab_cpu *lock_cpu(struct cf_slab *s)
{
	struct cf_slab_cpu *cpu = &s->cpus[cf_cpu_current()];
	cf_qspin_lock(&cpu->lock);
	return cpu;
}

static void swap__(struct cf_slab_cpu *cpu)
{
	struct cf_slab_magazine *m = cpu->loaded;
	cpu->loaded = cpu->previous;
	cpu->previous = m;
}

// Makes the loaded magazine one with objects in it, if there are any.
static bool reload__(struct cf_slab *s, struct cf_slab_cpu *cpu)
{
	struct cf_slab_magazine *full;
	swap__(cpu);
	if (cpu->loaded && cpu->loaded->count)
		return true;
	full = full_for_empty(s, cpu->loaded);
	if (full) {
		cpu->loaded = full;
		return true;
	}
	if (!cpu->loaded && !(cpu->loaded = new_magazine(s)))
		return false;
	cpu->loaded->count = slab_take(s, cpu->loaded->objects, s->magazine);
	return cpu->loaded->count != 0;
}

// Makes the loaded magazine one with room.
static bool unload__(struct cf_slab *s, struct cf_slab_cpu *cpu)
{
	swap__(cpu);
	if (cpu->loaded && cpu->loaded->count < s->magazine)
		return true;
	cpu->loaded = empty_for_full(s, cpu->loaded);
	return cpu->loaded != NULL;
}

// Relaxed: read by statistics; written under the CPU's lock.
static void count__(uint64_t *counter)
{
	__atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

static void drain(struct cf_slab *s);

// Free objects may be in other CPUs' magazines.
static void *last_resort(struct cf_slab *s)
{
	void *object = NULL;
	struct cf_slab_cpu *cpu;
	drain(s);
	if (!slab_take(s, &object, 1))
		return NULL;
	cpu = lock_cpu(s);
	count__(&cpu->allocations);
	cf_qspin_unlock(&cpu->lock);
	return object;
}

void *cf_slab_alloc(struct cf_slab *s)
{
	struct cf_slab_cpu *cpu = lock_cpu(s);
	void *object = NULL;
	if (CF_LIKELY(cpu->loaded && cpu->loaded->count) || reload__(s, cpu)) {
		object = cpu->loaded->objects[--cpu->loaded->count];
		count__(&cpu->allocations);
	}
	cf_qspin_unlock(&cpu->lock);
	if (CF_UNLIKELY(!object))
		object = last_resort(s);
	if (CF_LIKELY(object != NULL))
		slab_unpoison(object, s->size);
	return object;
}

void cf_slab_free(struct cf_slab *s, void *object)
{
	struct cf_slab_cpu *cpu;
	if (!object)
		return;
	slab_poison(s, object);
	cpu = lock_cpu(s);
	if (CF_LIKELY(cpu->loaded && cpu->loaded->count < s->magazine) || unload__(s, cpu)) {
		cpu->loaded->objects[cpu->loaded->count++] = object;
		object = NULL;
	}
	count__(&cpu->frees);
	cf_qspin_unlock(&cpu->lock);
	if (object)
		slab_give(s, &object, 1);
}

// ---- all CPUs

static void dispose(struct cf_slab *s, struct cf_slab_magazine *m)
{
	if (m)
		flush(s, m);
	free(m);
}

static void drain_cpu(struct cf_slab *s, struct cf_slab_cpu *cpu)
{
	struct cf_slab_magazine *loaded, *previous;
	cf_qspin_lock(&cpu->lock);
	loaded = cpu->loaded;
	previous = cpu->previous;
	cpu->loaded = cpu->previous = NULL;
	cf_qspin_unlock(&cpu->lock);
	dispose(s, loaded);
	dispose(s, previous);
}

static void drain_depot(struct cf_slab *s)
{
	struct cf_slab_magazine *lists[2], *next;
	struct cf_mcs_node node;
	cf_mcs_lock(&s->depot, &node);
	lists[0] = s->full;
	lists[1] = s->empty;
	s->full = s->empty = NULL;
	__atomic_store_n(&s->full_count, 0, __ATOMIC_RELAXED);
	s->empty_count = 0;
	cf_mcs_unlock(&s->depot, &node);
	for (int i = 0; i < 2; i++)
		for (struct cf_slab_magazine *m = lists[i]; m; m = next) {
			next = m->next;
			dispose(s, m);
		}
}

static void drain(struct cf_slab *s)
{
	for (uint32_t i = 0; i < s->cpu_count; i++)
		drain_cpu(s, &s->cpus[i]);
	drain_depot(s);
}

size_t cf_slab_shrink(struct cf_slab *s)
{
	uint64_t before = cf_slab_bytes(s), after;
	drain(s);
	slab_unmap_unused(s);
	after = cf_slab_bytes(s);
	return before > after ? before - after : 0;
}

static uint32_t objects_in(const struct cf_slab_magazine *m)
{
	return m ? m->count : 0;
}

static void depot_stats(struct cf_slab *s, struct cf_slab_stats *stats)
{
	struct cf_mcs_node node;
	cf_mcs_lock(&s->depot, &node);
	for (struct cf_slab_magazine *m = s->full; m; m = m->next)
		stats->cached += m->count;
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
	for (uint32_t i = 0; i < s->cpu_count; i++) {
		struct cf_slab_cpu *cpu = &s->cpus[i];
		cf_qspin_lock(&cpu->lock);
		stats->cached += objects_in(cpu->loaded) + objects_in(cpu->previous);
		stats->allocations += cpu->allocations;
		stats->frees += cpu->frees;
		cf_qspin_unlock(&cpu->lock);
	}
	stats->allocated = stats->allocations - stats->frees;
	depot_stats(s, stats);
}

size_t cf_slab_destroy(struct cf_slab *s)
{
	struct cf_slab_stats stats;
	cf_slab_stats(s, &stats);
	drain(s);
	slab_unmap_all(s);
	free(s->cpus);
	s->cpus = NULL;
	return stats.allocated;
}
