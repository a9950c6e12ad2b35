/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_mapping.h: a file's page cache: pages of 4,096 bytes by index, with holes between them.
 *
 * Choose it for the contents of a file that is in memory; it needs the inode (cf_icache.h) for size, blocks and times.
 *
 * Cost: a read within a page that lies before the end does not load the size. It stores nothing to shared memory: it walks
 * a tree of 64 pointers a node (no node for a file of one page), and copies under the page's sequence count. A write
 * inside a page that is there writes that page's line and data. A write that fills a hole or makes the file longer takes
 * the file's lock. Memory: a page and 64 bytes; 560 bytes a node.
 *
 *   operation                     may overlap                       progress
 *   read, next                    everything                        waits for a writer of the same page
 *   write, append, truncate       everything                        blocks: on the page, or the file's lock
 *   init, destroy                 nothing; destroy: no caller of read or write comes any more
 *
 * Guarantees, each with its test in tests/vfs/mapping.c:
 *   1. What lies within a page is read and written as one.  ("a page is read whole")
 *      Of a call that spans pages another call may see some pages before and some after, as in Linux.
 *   2. Bytes behind the end are zero, whenever the file grows again.  ("what was cut off is gone")
 *   3. Pages and nodes are charged to `space` before they exist, and given back when they are taken out of the tree.
 *      ("charges are exact")
 *   4. A write that cannot be charged has written what it returns; a write that fails changes nothing.  ("no space")
 *   5. append writes behind the end as one with finding the end.  ("appends do not overlap")
 *
 * Lifetime: pages and nodes are freed a grace period after they were taken out of the tree. Callers of read and
 * write may be in a read section.
 *
 * Five lines (the inode is the caller's):
 *   cf_mapping_init(&mapping, inode, &space);
 *   cf_mapping_write(&mapping, "hello", 5, 0);
 *   cf_mapping_truncate(&mapping, 4);
 *   int64_t length = cf_mapping_read(&mapping, buffer, sizeof buffer, 0);
 *   cf_mapping_destroy(&mapping);
 *
 * Source: Linux's radix tree and mm/filemap.c by meaning. We differ: a page's sequence count is its lock, too.
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
/* Takes all pages out; writes return -EBADF from now on. */
void cf_mapping_destroy(struct cf_mapping *mapping);

/* Bytes read: fewer than asked for at the end only. -EBADF: destroyed. */
int64_t cf_mapping_read(struct cf_mapping *mapping, void *to, size_t size, int64_t offset);
/* Bytes written, -ENOSPC if none could be, -EFBIG, -EBADF (destroyed) or -ENOMEM. */
int64_t cf_mapping_write(struct cf_mapping *mapping, const void *from, size_t size, int64_t offset);
/* The same behind the end; *offset: where. */
int64_t cf_mapping_append(struct cf_mapping *mapping, const void *from, size_t size, int64_t *offset);
void cf_mapping_truncate(struct cf_mapping *mapping, int64_t size);
/* The first page at or behind `index` that is there (or, `hole`, is not); -1: none before index 2^51. */
int64_t cf_mapping_next(struct cf_mapping *mapping, int64_t index, bool hole);

CF_EXTERN_END

#endif
