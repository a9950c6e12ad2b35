// SPDX-License-Identifier: MIT OR Apache-2.0
// Slabs of a cache, in regions that begin at a multiple of their size: an object's address leads to its region, whose head
// has a descriptor for each slab. So nothing but objects is in a slab.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "slab.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { REGION = 1 << 20, PAGE = 4096, KEPT_UNUSED = 4 };

struct cf_slab_page {
	struct cf_slab_page *next, *prev; // in one of the cache's lists
	void *free;                       // free objects, through their links
	uint32_t free_count;
	uint32_t mapped;                  // 0: the slab has no memory
};

struct cf_slab_region {
	struct cf_slab_region *next, *prev;
	uint32_t mapped; // slabs with memory
	uint32_t first;  // the first slab behind this head
	uint32_t lowest; // none before this one is without memory
	struct cf_slab_page pages[];
};

// ---- lists of slabs, and of objects in them; all under the pages' lock

static void list_add(struct cf_slab_list *list, struct cf_slab_page *page)
{
	page->prev = NULL;
	page->next = list->first;
	if (list->first)
		list->first->prev = page;
	list->first = page;
}

static void list_remove(struct cf_slab_list *list, struct cf_slab_page *page)
{
	if (page->prev)
		page->prev->next = page->next;
	else
		list->first = page->next;
	if (page->next)
		page->next->prev = page->prev;
}

static struct cf_slab_region *region_of(const void *address)
{
	return (struct cf_slab_region *)((uintptr_t)address & ~(uintptr_t)(REGION - 1));
}

static struct cf_slab_page *page_of(struct cf_slab *s, const void *object)
{
	return &region_of(object)->pages[((uintptr_t)object & (REGION - 1)) / s->slab_bytes];
}

static char *memory_of(struct cf_slab *s, struct cf_slab_page *page)
{
	struct cf_slab_region *region = region_of(page);
	return (char *)region + (size_t)(page - region->pages) * s->slab_bytes;
}

static void **link_of(struct cf_slab *s, void *object)
{
	return (void **)((char *)object + s->link);
}

// ---- memory

static size_t head_bytes(struct cf_slab *s)
{
	size_t bytes = sizeof(struct cf_slab_region) + REGION / s->slab_bytes * sizeof(struct cf_slab_page);
	return (bytes + PAGE - 1) / PAGE * PAGE;
}

static bool charge__(struct cf_slab *s, int64_t bytes)
{
	if (s->charge && s->charge(s->context, bytes) < 0 && bytes > 0)
		return false;
	__atomic_store_n(&s->bytes, s->bytes + (uint64_t)bytes, __ATOMIC_RELAXED); // relaxed: a figure for statistics
	return true;
}

// Twice as much, to cut a region out that begins at a multiple of its size.
static char *map_region(void)
{
	char *at = mmap(NULL, 2 * REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t before;
	if (at == MAP_FAILED)
		return NULL;
	before = -(uintptr_t)at & (REGION - 1);
	if (before)
		munmap(at, before);
	munmap(at + before + REGION, REGION - before);
	return at + before;
}

static struct cf_slab_region *new_region__(struct cf_slab *s)
{
	struct cf_slab_region *region;
	if (!charge__(s, (int64_t)head_bytes(s)))
		return NULL;
	region = (struct cf_slab_region *)map_region();
	if (!region) {
		charge__(s, -(int64_t)head_bytes(s));
		return NULL;
	}
	region->first = region->lowest = (uint32_t)((head_bytes(s) + s->slab_bytes - 1) / s->slab_bytes);
	region->next = s->regions;
	if (region->next)
		region->next->prev = region;
	return s->regions = region;
}

static void free_region__(struct cf_slab *s, struct cf_slab_region *region)
{
	if (region->prev)
		region->prev->next = region->next;
	else
		s->regions = region->next;
	if (region->next)
		region->next->prev = region->prev;
	slab_unpoison(region, REGION);
	munmap(region, REGION);
	charge__(s, -(int64_t)head_bytes(s));
}

static struct cf_slab_page *unmapped_page__(struct cf_slab *s)
{
	const uint32_t slabs = REGION / s->slab_bytes;
	struct cf_slab_region *region = s->regions;
	while (region && region->mapped == slabs - region->first)
		region = region->next;
	if (!region && !(region = new_region__(s)))
		return NULL;
	while (region->pages[region->lowest].mapped) // ends: one is left
		region->lowest++;
	return &region->pages[region->lowest];
}

static void free_region_if_unused__(struct cf_slab *s, struct cf_slab_region *region)
{
	if (!region->mapped)
		free_region__(s, region);
}

// Slabs for so many objects, through their `next`: on no list, the caller's alone, and not linked yet. Null: no memory.
static struct cf_slab_page *claim__(struct cf_slab *s, uint32_t objects)
{
	struct cf_slab_page *claimed = NULL, **end = &claimed;
	for (int64_t missing = objects; missing > 0; missing -= s->objects) {
		struct cf_slab_page *page = unmapped_page__(s);
		if (!page)
			break;
		if (!charge__(s, s->slab_bytes)) {
			free_region_if_unused__(s, region_of(page));
			break;
		}
		page->mapped = 1;
		page->next = NULL;
		*end = page;
		end = &page->next;
		region_of(page)->mapped++;
		s->slabs++;
	}
	return claimed;
}

// All objects free, the first in memory first. Without the lock: this touches every line of the slab.
static void link_objects(struct cf_slab *s, struct cf_slab_page *page)
{
	char *memory = memory_of(s, page);
	CF_OBJECTS(memory, (size_t)s->objects * s->stride, s->stride, s->name);
	page->free = NULL;
	for (uint32_t i = s->objects; i-- > 0; page->free = memory + (size_t)i * s->stride) {
		if (s->constructor)
			s->constructor(memory + (size_t)i * s->stride);
		*link_of(s, memory + (size_t)i * s->stride) = page->free;
		slab_poison(s, memory + (size_t)i * s->stride);
	}
	page->free_count = s->objects;
}

// The slab is on no list.
static void free_page__(struct cf_slab *s, struct cf_slab_page *page)
{
	struct cf_slab_region *region = region_of(page);
	uint32_t index = (uint32_t)(page - region->pages);
	page->mapped = 0;
	region->lowest = index < region->lowest ? index : region->lowest;
	slab_unpoison(memory_of(s, page), s->slab_bytes);
	madvise(memory_of(s, page), s->slab_bytes, MADV_DONTNEED);
	s->slabs--;
	charge__(s, -(int64_t)s->slab_bytes);
	region->mapped--;
	free_region_if_unused__(s, region);
}

// ---- what the other half calls

static void *take_one(struct cf_slab *s, struct cf_slab_page *page)
{
	void *object = page->free;
	page->free = *link_of(s, object);
	page->free_count--;
	return object;
}

// Up to `count` of its free objects. All of them are taken as a chain, of which objects[0] gets the first: the lock is not
// held while other lines are fetched. *chained counts those in chains, which come first.
static uint32_t take_from__(struct cf_slab *s, struct cf_slab_page *page, void **objects, uint32_t count, uint32_t *chained)
{
	const bool unused = page->free_count == s->objects;
	uint32_t taken = page->free_count;
	if (unused)
		s->unused_count--;
	list_remove(unused ? &s->unused : &s->partial, page);
	if (taken <= count) {
		objects[0] = page->free;
		page->free = NULL;
		page->free_count = 0;
		*chained += taken;
		return taken;
	}
	for (taken = 0; taken < count; taken++)
		objects[taken] = take_one(s, page);
	list_add(&s->partial, page);
	return taken;
}

static void follow_chains(struct cf_slab *s, void **objects, uint32_t chained)
{
	for (uint32_t i = 0; i < chained;)
		for (void *object = objects[i]; object; object = *link_of(s, object))
			objects[i++] = object;
}

// From slabs that are there; `fresh`: new ones for what these have not.
static uint32_t take_free(struct cf_slab *s, void **objects, uint32_t count, struct cf_slab_page **fresh)
{
	struct cf_mcs_node node;
	struct cf_slab_page *page;
	uint32_t taken = 0, chained = 0;
	cf_mcs_lock(&s->pages, &node);
	while (taken < count && (page = s->partial.first ? s->partial.first : s->unused.first) != NULL)
		taken += take_from__(s, page, objects + taken, count - taken, &chained);
	*fresh = claim__(s, count - taken);
	s->refills++;
	cf_mcs_unlock(&s->pages, &node);
	follow_chains(s, objects, chained);
	return taken;
}

// From slabs of the caller's alone. What they have more is everybody's then.
static uint32_t take_fresh(struct cf_slab *s, void **objects, uint32_t count, struct cf_slab_page *fresh)
{
	struct cf_slab_page *page = fresh, *last = fresh;
	struct cf_mcs_node node;
	uint32_t taken = 0;
	for (; page; last = page, page = page->next) {
		link_objects(s, page);
		while (taken < count && page->free_count)
			objects[taken++] = take_one(s, page);
	}
	if (last->free_count) { // full slabs are on no list
		cf_mcs_lock(&s->pages, &node);
		list_add(&s->partial, last);
		cf_mcs_unlock(&s->pages, &node);
	}
	return taken;
}

uint32_t slab_take(struct cf_slab *s, void **objects, uint32_t count)
{
	struct cf_slab_page *fresh;
	uint32_t taken = take_free(s, objects, count, &fresh);
	if (fresh)
		taken += take_fresh(s, objects + taken, count - taken, fresh);
	for (uint32_t i = 0; i < taken / 2; i++) { // the first in memory is handed out first
		void *object = objects[i];
		objects[i] = objects[taken - 1 - i];
		objects[taken - 1 - i] = object;
	}
	return taken;
}

static void give_one__(struct cf_slab *s, void *object)
{
	struct cf_slab_page *page = page_of(s, object);
	*link_of(s, object) = page->free;
	page->free = object;
	if (page->free_count++ > 0)
		list_remove(&s->partial, page);
	if (page->free_count < s->objects) {
		list_add(&s->partial, page);
	} else if (s->unused_count < KEPT_UNUSED) {
		list_add(&s->unused, page);
		s->unused_count++;
	} else {
		free_page__(s, page);
	}
}

void slab_give(struct cf_slab *s, void **objects, uint32_t count)
{
	struct cf_mcs_node node;
	cf_mcs_lock(&s->pages, &node);
	for (uint32_t i = 0; i < count; i++)
		give_one__(s, objects[i]);
	cf_mcs_unlock(&s->pages, &node);
}

size_t slab_unmap_unused(struct cf_slab *s)
{
	struct cf_mcs_node node;
	struct cf_slab_page *page;
	uint64_t before;
	cf_mcs_lock(&s->pages, &node);
	before = s->bytes;
	while ((page = s->unused.first) != NULL) {
		list_remove(&s->unused, page);
		s->unused_count--;
		free_page__(s, page);
	}
	before -= s->bytes;
	cf_mcs_unlock(&s->pages, &node);
	return before;
}

void slab_unmap_all(struct cf_slab *s)
{
	while (s->regions) {
		int64_t slabs = (int64_t)s->regions->mapped * s->slab_bytes;
		free_region__(s, s->regions);
		charge__(s, -slabs);
	}
}
