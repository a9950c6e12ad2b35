/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_slab.h: slab caches: objects of one size, with magazines of free objects for each CPU.
 *
 * Choose it over malloc for many objects of one type that are allocated and freed on all CPUs, where the offset of an object
 * on its cache lines matters, where all memory must be returned, or where bytes must be accounted and limited.
 *
 * Cost: an allocation or a free is a restartable sequence (cf_cpu.h) of three loads and two stores on lines of this CPU, or,
 * without restartable sequences, takes this CPU's lock (uncontended). At most every `magazine`-th exchanges magazines with
 * the shared depot, by atomic operations. Memory: a line and two magazines per CPU; the objects, packed as below.
 *
 * Packing, as in Linux's SLUB: object i of a slab is at i x stride from the slab's first page; stride is the size rounded
 * up to the alignment (at least 8). Objects are not padded to cache lines unless the alignment says so. With a constructor,
 * or CF_SLAB_TYPE_STABLE, the free list's pointer is behind the object, and the stride is 8 larger, as in SLUB. A slab has
 * the fewest pages that waste at most a sixteenth (or else an eighth, a quarter) and have at least 4 x (log2(CPUs) + 2)
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
 *   1. An object has one owner at a time, and is placed as described under Packing.  ("objects do not overlap")
 *   2. What happened before an object's free happens before what its next owner does.  ("a free happens before")
 *   3. When all objects are freed, and cf_slab_shrink has returned without concurrent calls, all memory of slabs is
 *      unmapped: stats.bytes is 0.  ("memory returns to its start") Exception: if membarrier(2) has been refused since the
 *      program started, one magazine per CPU keeps its objects.
 *   4. The constructor runs once for each object of a new slab; a free object stays as its owner left it. Without a
 *      constructor and CF_SLAB_TYPE_STABLE the cache overwrites its first 8 bytes.  ("constructed once")
 *   5. Bytes are charged before they are mapped, and uncharged after they are unmapped.  ("a limit")
 *
 * With RCU: a free in a call_rcu callback is a free like any other. If readers may access an object after its free (and
 * check its identity), use CF_SLAB_TYPE_STABLE, and call cf_slab_shrink and _destroy only a grace period after the last
 * free, since they unmap memory.
 *
 * Hazards: not in signal handlers, as malloc. After fork(2), use in the child only if no other thread was using it.
 *
 * Lifetime: call cf_slab_destroy when all objects are freed; it returns how many were not (their memory is unmapped, too).
 *
 * Five lines:
 *   struct cf_slab inodes;
 *   if (cf_slab_init(&inodes, &(struct cf_slab_options){ .name = "inode", .size = sizeof(struct inode) })) return -ENOMEM;
 *   struct inode *inode = cf_slab_alloc(&inodes);
 *   cf_slab_free(&inodes, inode);
 *   cf_slab_destroy(&inodes);
 *
 * Source: J. Bonwick and J. Adams, "Magazines and Vmem" (2001), for magazines and depot; Linux's mm/slub.c for the packing.
 * We differ from SLUB in what is behind the per-CPU part, and in that memory is mapped in regions of 1 MiB.
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

/* Allocations read line 0, which changes of the depot and of slabs do not write; these two write separate lines. */
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
/* Returns how many objects still had an owner. */
size_t cf_slab_destroy(struct cf_slab *slab);

/* Null: out of memory, or `charge` refused. */
void *cf_slab_alloc(struct cf_slab *slab);
/* Null: no effect. */
void cf_slab_free(struct cf_slab *slab, void *object);

/* Unmaps slabs without allocated objects, after emptying the magazines. Returns the bytes unmapped. */
size_t cf_slab_shrink(struct cf_slab *slab);

void cf_slab_stats(struct cf_slab *slab, struct cf_slab_stats *stats);

static inline uint64_t cf_slab_bytes(const struct cf_slab *slab)
{
	return __atomic_load_n(&slab->bytes, __ATOMIC_RELAXED); /* relaxed: old when it is read */
}

CF_EXTERN_END

#endif
