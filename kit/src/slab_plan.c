// SPDX-License-Identifier: MIT OR Apache-2.0
// How objects of a size are packed, and how many pages a slab has: as in Linux's SLUB.
#include "slab.h"

enum { PAGE = 4096, MOST_PAGES = 8 };

static uint32_t objects_in(uint32_t pages, uint32_t stride)
{
	return pages * PAGE / stride;
}

// The fewest pages with so many objects of which at most one part in `fraction` is wasted; more than MOST_PAGES: none.
static uint32_t pages_for(uint32_t stride, uint32_t objects, uint32_t fraction)
{
	uint32_t pages = 1;
	while (pages <= MOST_PAGES && (objects_in(pages, stride) < objects || pages * PAGE % stride > pages * PAGE / fraction))
		pages *= 2;
	return pages;
}

static uint32_t slab_pages(uint32_t stride, uint32_t cpus)
{
	uint32_t objects = 4, most = objects_in(MOST_PAGES, stride);
	for (objects = 8; cpus > 1; cpus /= 2) // 4 x (log2(CPUs) + 2)
		objects += 4;
	for (objects = objects < most ? objects : most; objects > 1; objects--)
		for (uint32_t fraction = 16; fraction >= 4; fraction /= 2)
			if (pages_for(stride, objects, fraction) <= MOST_PAGES)
				return pages_for(stride, objects, fraction);
	return pages_for(stride, 1, 1);
}

static uint32_t round_up(uint32_t n, uint32_t to)
{
	return (n + to - 1) / to * to;
}

void slab_plan(struct cf_slab *s, size_t align, uint32_t cpus)
{
	uint32_t least = sizeof(void *);
	if (s->flags & CF_SLAB_LINES)
		for (least = CF_LINE; s->size <= least / 2 && least > sizeof(void *);)
			least /= 2;
	align = align > least ? align : least;
	s->stride = round_up(s->size, sizeof(void *));
	s->link = 0;
	if (s->constructor || (s->flags & CF_SLAB_TYPE_STABLE)) {
		s->link = s->stride;
		s->stride += (uint32_t)sizeof(void *);
	}
	s->stride = round_up(s->stride, (uint32_t)align);
	s->slab_bytes = slab_pages(s->stride, cpus) * PAGE;
	s->objects = s->slab_bytes / s->stride;
}
