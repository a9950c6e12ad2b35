/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_slab.h: caches of objects of one size, with a few free ones kept by each CPU.
 *
 * Choose it over malloc for many objects of one type that are made and freed on all CPUs, where the place of an object on
 * its cache lines matters, where its memory must be given back in whole, or where bytes must be accounted and limited.
 *
 * Cost: an allocation or a free is a restartable sequence (cf_cpu.h) of three loads and two stores on lines of this CPU; where
 * there are none, this CPU's lock (uncontended). Every `magazine`-th at most exchanges magazines with the shared depot, by
 * atomic operations. Memory: per CPU a line and two magazines; the objects, packed as below.
 *
 * Packing, as in Linux's SLUB: object i of a slab lies at i x stride from a page's beginning; stride is the size rounded up
 * to the alignment (8 at least). Nothing pads an object to its lines unless the alignment asks for it. With a constructor,
 * or CF_SLAB_TYPE_STABLE, the free list's pointer lies behind the object, and stride is 8 more, as there. The pages of a
 * slab are the fewest that waste at most a sixteenth (then an eighth, a quarter) with at least 4 x (log2(CPUs) + 2)
 * objects, up to 8 pages.
 *
 *   operation                may overlap                 progress
 *   cf_slab_init             nothing on this cache       as malloc
 *   cf_slab_alloc, _free     everything                  restarts when preempted; every magazine-th blocks on the depot;
 *                                                        waits for a shrink's drain; may map memory
 *   cf_slab_shrink           everything                  one at a time; interrupts all CPUs (membarrier)
 *   cf_slab_stats            everything                  reads every CPU's line; not a snapshot
 *   cf_slab_destroy          nothing                     frees all memory
 *
 * Guarantees, each with its test in tests/slab.c:
 *   1. An object is given to one at a time, and lies as `Packing` says.  ("objects do not overlap")
 *   2. What happened before an object's free happens before what its next owner does.  ("a free happens before")
 *   3. When all objects were freed and cf_slab_shrink has returned, with nothing beside it, no memory of slabs is
 *      left: stats.bytes is 0.  ("memory returns to its start") Unless membarrier(2) is refused since the program started:
 *      then a magazine of each CPU stays as it is.
 *   4. The constructor runs once for each object of a new slab; a free object stays as its owner left it. Without a
 *      constructor and CF_SLAB_TYPE_STABLE its first 8 bytes are the cache's.  ("constructed once")
 *   5. Bytes are charged before they are mapped, and uncharged after they were given back.  ("a limit")
 *
 * With RCU: a free by call_rcu's callback is a free like any other. Where readers may look at an object after its free
 * (and check its identity), give CF_SLAB_TYPE_STABLE, and call cf_slab_shrink and _destroy only a grace period after the
 * last free, since they give memory back.
 *
 * Hazards: not in signal handlers, as malloc. After fork(2), use in the child only if no other thread was using it.
 *
 * Lifetime: cf_slab_destroy when all objects are freed; it returns how many were not (their memory is gone, too).
 *
 * Five lines:
 *   struct cf_slab inodes;
 *   if (cf_slab_init(&inodes, &(struct cf_slab_options){ .name = "inode", .size = sizeof(struct inode) })) return -ENOMEM;
 *   struct inode *inode = cf_slab_alloc(&inodes);
 *   cf_slab_free(&inodes, inode);
 *   cf_slab_destroy(&inodes);
 *
 * Source: J. Bonwick and J. Adams, "Magazines and Vmem" (2001), for magazines and depot; Linux's mm/slub.c for the packing.
 * We differ from SLUB: what is behind the per-CPU part, and that memory is mapped in regions of 1 MiB.
 */
#ifndef COREFOLD_CF_SLAB_H
#define COREFOLD_CF_SLAB_H

#include <corefold/cf_cpu.h>
#include <corefold/cf_mcs.h>
#include <corefold/cf_mutex.h>
#include <corefold/cf_qspin.h>
#include <errno.h>

CF_EXTERN_BEGIN

/* Flags. */
#define CF_SLAB_TYPE_STABLE 1u /* nothing is written into free objects */
#define CF_SLAB_LINES 2u       /* align to a line; small objects so that none crosses one (SLAB_HWCACHE_ALIGN) */

struct cf_slab_options {
	const char *name;               /* for reports; must live as long as the cache. Of a structure of that name they show
	                                   the fields */
	size_t size;                    /* 1 to 8,192 */
	size_t align;                   /* a power of two up to 4,096; 0: none (8) */
	void (*constructor)(void *object);
	unsigned flags;
	uint32_t magazine;              /* objects in one, up to 255; 0: by size */
	uint32_t cpus;                  /* for the number of pages; 0: those of this machine */
	int (*charge)(void *context, int64_t bytes); /* +bytes: 0, or negative to refuse; -bytes: cannot refuse. Or null */
	void *context;
};

struct cf_slab_cpu;
struct cf_slab_magazine;
struct cf_slab_region;
struct cf_slab_page;

struct cf_slab_list {
	struct cf_slab_page *first; /* under the pages' lock */
};

struct cf_slab {
	/* Line 0: read by everybody, constant. */
	struct cf_slab_cpu *cpus;
	uint32_t magazine;      /* objects in a magazine */
	uint32_t cpu_count;
	uint32_t size;          /* as asked for */
	uint32_t stride;        /* from object to object */
	uint32_t link;          /* where in a free object the free list's pointer is */
	uint32_t objects;       /* in a slab */
	uint32_t slab_bytes;    /* a power of two */
	uint32_t flags;
	void (*constructor)(void *object);
	int (*charge)(void *context, int64_t bytes);
	void *context;
	/* Line 1: the depot. Under its lock. */
	struct cf_mcs depot CF_LINE_ALIGNED;
	struct cf_slab_magazine *full, *empty;
	uint32_t full_count, empty_count;
	uint64_t exchanges;
	/* Line 2: slabs. Under their lock; the depot's may be held, not the other way round. */
	struct cf_mcs pages CF_LINE_ALIGNED;
	struct cf_slab_list partial, unused; /* with free objects and others; with free ones alone */
	struct cf_slab_region *regions;
	uint64_t slabs, unused_count;
	uint64_t bytes;         /* mapped for slabs and their descriptors; read without the lock */
	uint64_t refills;
	const char *name CF_LINE_ALIGNED;
	struct cf_mutex draining; /* one at a time */
};

/* Allocations read line 0; who changes the depot or the slabs does not take that line from them, nor each other's. */
CF_STATIC_ASSERT(offsetof(struct cf_slab, context) + sizeof(void *) <= CF_LINE, "constants are on line 0");
CF_STATIC_ASSERT(offsetof(struct cf_slab, depot) == CF_LINE &&
		 offsetof(struct cf_slab, exchanges) + sizeof(uint64_t) <= 2 * CF_LINE, "the depot is on line 1");
CF_STATIC_ASSERT(offsetof(struct cf_slab, pages) == 2 * CF_LINE &&
		 offsetof(struct cf_slab, refills) + sizeof(uint64_t) <= 3 * CF_LINE, "slabs are on line 2");
CF_STATIC_ASSERT(offsetof(struct cf_slab, name) == 3 * CF_LINE && sizeof(struct cf_slab) == 4 * CF_LINE,
		 "what is rarely used is on line 3");

struct cf_slab_stats {
	uint64_t allocated; /* objects with an owner */
	uint64_t cached;    /* free ones in magazines */
	uint64_t slabs, empty_slabs;
	uint64_t bytes;     /* of slabs and their descriptors; what `charge` was told */
	uint64_t allocations, frees;
	uint64_t exchanges; /* of magazines with the depot */
	uint64_t refills;   /* of magazines from slabs */
};

/* 0, -EINVAL or -ENOMEM. */
int cf_slab_init(struct cf_slab *slab, const struct cf_slab_options *options);
/* How many objects had still an owner. */
size_t cf_slab_destroy(struct cf_slab *slab);

/* Null: no memory, or the limit refuses. */
void *cf_slab_alloc(struct cf_slab *slab);
/* Null is nothing. */
void cf_slab_free(struct cf_slab *slab, void *object);

/* Gives back slabs that no object needs, with those in magazines, which stay. Returns the bytes. */
size_t cf_slab_shrink(struct cf_slab *slab);

void cf_slab_stats(struct cf_slab *slab, struct cf_slab_stats *stats);

static inline uint64_t cf_slab_bytes(const struct cf_slab *slab)
{
	return __atomic_load_n(&slab->bytes, __ATOMIC_RELAXED); /* relaxed: old when it is read */
}

CF_EXTERN_END

#endif
