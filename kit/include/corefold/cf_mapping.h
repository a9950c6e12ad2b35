/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_mapping.h: a file's page cache: pages of 4,096 bytes by index, with holes between them.
 *
 * Choose it for the contents of a file that is in memory; it needs the inode (cf_icache.h) for size, blocks and times.
 *
 * Cost: a read stores nothing to shared memory: it walks a tree with 64 pointers per node (none for a file of one page),
 * and copies under the page's sequence count. Within a page that lies before the end of the file it does not load the size.
 * A write within an existing page writes that page's line and data. A write that fills a hole or extends the file takes
 * the file's lock. Memory: 64 bytes besides the page; 640 bytes per node.
 *
 *   operation                     may overlap                       progress
 *   read, next                    everything                        waits for a writer of the same page
 *   write, append, truncate       everything                        blocks: on the page, or the file's lock
 *   init, destroy                 nothing; no read or write may follow destroy
 *
 * Guarantees, each with its test in tests/vfs/mapping.c:
 *   1. Reads and writes within one page are atomic.  ("a page is read whole")
 *      If a call spans pages, another call may see some of them before and some after it, as in Linux.
 *   2. Bytes past the end read as zero when the file grows again.  ("what was cut off is gone")
 *   3. Pages and nodes are charged to `space` before they are allocated, and uncharged when they leave the tree.
 *      ("charges are exact")
 *   4. If space runs out, write returns the bytes written before that; a write that fails changes nothing.  ("no space")
 *   5. append finds the end of the file and writes there in one atomic step.  ("appends do not overlap")
 *
 * Offsets, sizes and indices are not below 0, and indices below 2^51: the caller checks.
 *
 * Lifetime: pages and nodes are freed a grace period after they were removed from the tree. read and write may be called
 * in a read section.
 *
 * Five lines (the inode is the caller's):
 *   cf_mapping_init(&mapping, inode, &space);
 *   cf_mapping_write(&mapping, "hello", 5, 0);
 *   cf_mapping_truncate(&mapping, 4);
 *   int64_t length = cf_mapping_read(&mapping, buffer, sizeof buffer, 0);
 *   cf_mapping_destroy(&mapping);
 *
 * Source: semantics of Linux's radix tree and mm/filemap.c. We differ: a page's sequence count is also its lock.
 */
#ifndef COREFOLD_CF_MAPPING_H
#define COREFOLD_CF_MAPPING_H

#include <corefold/cf_icache.h>
#include <corefold/cf_mutex.h>
#include <corefold/cf_space.h>
#include <corefold/cf_vfs_types.h>

CF_EXTERN_BEGIN

enum { CF_MAPPING_BITS = 6, CF_MAPPING_FAN = 1 << CF_MAPPING_BITS };

/* Bits of a page's seq; changes count in steps of CF_PAGE_CHANGE. WHOLE: all of it lies before the file's end, unless the file is
 * being made shorter (cf_mapping.cuts): who reads or writes within it need not look at the size. */
enum { CF_PAGE_LOCKED = 1, CF_PAGE_REMOVED = 2, CF_PAGE_WHOLE = 4, CF_PAGE_CHANGE = 8 };

struct cf_page {
	uint32_t seq;            /* written by who changes the page, read by everybody */
	struct cf_rcu_head rcu;
	uint8_t bytes[CF_PAGE] CF_LINE_ALIGNED;
};

struct cf_mapping_node {
	uint32_t shift;          /* constant: of the index, for this node's slots */
	struct cf_rcu_head rcu;
	/* Written under the mapping's lock, read by everybody. Neighbours lie on different lines: who reads a page does not
	 * meet who adds the next one. */
	uintptr_t slots[CF_MAPPING_FAN] CF_LINE_ALIGNED;
	uint32_t count;          /* slots in use; under the mapping's lock */
};

struct cf_mapping {
	uintptr_t root;          /* 0, a page (index 0 alone), or a node with bit 0 set. Under the lock, read by everybody */
	struct cf_inode *host;   /* constant: its size and blocks are this file's */
	struct cf_space *space;  /* constant; null: nothing is charged */
	uint32_t dead;           /* 1: destroyed. Under the lock */
	uint32_t cuts;           /* odd while the file is made shorter. Under the lock, read by everybody */
	struct cf_mutex lock CF_LINE_ALIGNED; /* the file's: sizes, holes */
};

void cf_mapping_init(struct cf_mapping *mapping, struct cf_inode *host, struct cf_space *space);
/* Removes all pages; writes return -EBADF from now on. */
void cf_mapping_destroy(struct cf_mapping *mapping);

/* Bytes read: fewer than requested only at the end of the file. -EBADF: destroyed. */
int64_t cf_mapping_read(struct cf_mapping *mapping, void *to, size_t size, int64_t offset);
/* Bytes written, -ENOSPC if none could be, -EFBIG, -EBADF (destroyed) or -ENOMEM. */
int64_t cf_mapping_write(struct cf_mapping *mapping, const void *from, size_t size, int64_t offset);
/* The same at the end of the file; *offset: where. */
int64_t cf_mapping_append(struct cf_mapping *mapping, const void *from, size_t size, int64_t *offset);
void cf_mapping_truncate(struct cf_mapping *mapping, int64_t size);
/* The first existing page (with `hole`: missing page) at or after `index`; -1: none before index 2^51. */
int64_t cf_mapping_next(struct cf_mapping *mapping, int64_t index, bool hole);

CF_EXTERN_END

#endif
