/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * slab.h: between the parts of a cache: magazines and depot (slab.c, slab_magazines.c), slabs in regions (slab_pages.c), their
 * size (slab_plan.c).
 * Order of locks: a CPU's, the depot's, the pages'.
 */
#ifndef KIT_SRC_SLAB_H
#define KIT_SRC_SLAB_H

#include <corefold/cf_slab.h>

#pragma GCC visibility push(hidden)

/* Sets stride, link, objects and slab_bytes. */
void slab_plan(struct cf_slab *slab, size_t align, uint32_t cpus);

/* Takes up to `count` free objects; how many. The one that is to be handed out first is the last. */
uint32_t slab_take(struct cf_slab *slab, void **objects, uint32_t count);
/* Gives objects back; slabs beyond a few unused ones are unmapped. */
void slab_give(struct cf_slab *slab, void **objects, uint32_t count);
/* Unmaps all unused slabs; how many bytes. */
size_t slab_unmap_unused(struct cf_slab *slab);
/* Unmaps everything. */
void slab_unmap_all(struct cf_slab *slab);

#pragma GCC visibility pop

/* AddressSanitizer reports uses of free objects, but for the bytes of the free list; not of those that stay as they are. */
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
static inline void slab_poison(const struct cf_slab *s, void *object)
{
	if (!s->link && s->size > sizeof(void *))
		ASAN_POISON_MEMORY_REGION((char *)object + sizeof(void *), s->size - sizeof(void *));
}

static inline void slab_unpoison(void *memory, size_t bytes)
{
	ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
}
#else
static inline void slab_poison(const struct cf_slab *s, void *object)
{
	(void)s, (void)object;
}

static inline void slab_unpoison(void *memory, size_t bytes)
{
	(void)memory, (void)bytes;
}
#endif

#endif
