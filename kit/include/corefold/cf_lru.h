/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_lru.h: least-recently-used lists, one for each CPU, and a shrinker that scans them.
 *
 * Choose it over one list with one lock where objects become unused on many CPUs. An object is put on the list of the CPU
 * that adds it, and can be removed on any CPU; each list is ordered by age. The kit keeps unused dentries, unused inodes
 * and dirty inodes in such lists.
 *
 * Cost: add and remove take one lock, of one list (64 bytes for each CPU); 24 bytes an object.
 *
 *   operation             may overlap                                                        the caller holds
 *   add, remove           everything; of one object: one at a time (the object's own lock)   maybe the object's lock
 *   scan                  everything                                                         nothing
 *   count                 everything; a snapshot of each list
 *   init, destroy         nothing
 * The callback of scan runs under the list's lock, so it may only *try* to take the object's lock, and returns
 * CF_LRU_BUSY if it cannot.
 *
 * Ordering: 1. What happened before add happens before the callback that gets the object. (The list's lock.)
 *           2. When remove has returned true, the object is not passed to a callback any more.
 *
 * Lifetime: objects are the caller's; the link is zero when the object is on no list.
 *
 * Five lines:
 *   cf_lru_add(&lru, &object->link);
 *   struct cf_lru_link *gone = NULL;
 *   size_t n = cf_lru_scan(&lru, 128, may_go, NULL, &gone);
 *   while (gone) { struct cf_lru_link *next = gone->next; free_object(gone); gone = next; }
 *
 * Source: semantics of Linux's list_lru. We differ: lists are per CPU, not per memory node.
 */
#ifndef COREFOLD_CF_LRU_H
#define COREFOLD_CF_LRU_H

#include <corefold/cf_cpu.h>
#include <corefold/cf_lock.h>
#include <stdbool.h>

CF_EXTERN_BEGIN

struct cf_lru_link {
	struct cf_lru_link *next, *prev; /* under the list's lock */
	uint32_t list;                   /* 1 + which list; 0: none. Written under the list's lock */
	uint32_t own;                    /* the user's */
};

struct cf_lru_list {
	struct cf_lock lock;
	struct cf_lru_link head; /* oldest first */
	uint64_t count;          /* under the lock, read by everybody */
} CF_LINE_ALIGNED;

struct cf_lru {
	struct cf_lru_list *lists;
	uint32_t size;     /* how many lists */
	uint32_t external; /* 1: the caller's lock stands for the lists' */
	uint32_t next;     /* where the next scan begins */
};

struct cf_lru_options {
	enum cf_lock_kind lock;
	bool one;      /* one list for all CPUs */
	bool external; /* with `one`: the caller holds a lock of its own around add, remove and scan */
};

enum cf_lru_answer {
	CF_LRU_KEEP,   /* stays where it is */
	CF_LRU_ROTATE, /* goes to the young end */
	CF_LRU_REMOVE, /* moved to the list that scan returns; the callback must make sure that nobody adds it again */
	CF_LRU_GONE,   /* the callback has removed it itself, by cf_lru_isolate__, and not put it back */
	CF_LRU_BUSY,   /* its lock is taken: left for the next scan */
	CF_LRU_STOP,   /* stays where it is, and the scan ends */
};

typedef enum cf_lru_answer cf_lru_callback(struct cf_lru_list *list, struct cf_lru_link *link, void *argument);

/* 0 or -ENOMEM. */
int cf_lru_init(struct cf_lru *lru, const struct cf_lru_options *options);
/* Lists must be empty. */
void cf_lru_destroy(struct cf_lru *lru);

/* False: it is on a list already (or was not on one); nothing was changed. */
bool cf_lru_add(struct cf_lru *lru, struct cf_lru_link *link);
bool cf_lru_remove(struct cf_lru *lru, struct cf_lru_link *link);

/* Shows objects to the callback, each at most once, oldest first, until `most` have been handed out through *gone, linked by
 * next; returns how many. Begins with another list each time. */
size_t cf_lru_scan(struct cf_lru *lru, size_t most, cf_lru_callback *callback, void *argument,
		   struct cf_lru_link **gone);

/* For callbacks, which hold the list's lock: takes the object off, or puts it back at the young end. */
void cf_lru_isolate__(struct cf_lru_link *link);
void cf_lru_restore__(struct cf_lru *lru, struct cf_lru_list *list, struct cf_lru_link *link);

size_t cf_lru_count(const struct cf_lru *lru);

static inline bool cf_lru_listed(const struct cf_lru_link *link)
{
	/* Sequentially consistent: a put that has counted to 0 looks here, cf_lru_isolate__ is followed by a look at the
	 * count: one of the two sees the other. x86 cannot tell, the puts and the shrinker exchange before they look; aarch64 and
	 * POWER can. */
	return __atomic_load_n(&link->list, __ATOMIC_SEQ_CST) != 0;
}

CF_EXTERN_END

#endif
