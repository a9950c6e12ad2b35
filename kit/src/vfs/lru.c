// SPDX-License-Identifier: MIT OR Apache-2.0
#include <corefold/cf_lru.h>

#include <errno.h>
#include <stdlib.h>

int cf_lru_init(struct cf_lru *lru, const struct cf_lru_options *options)
{
	cf_cpu_start();
	lru->size = options->one ? 1 : cf_slot_count();
	lru->external = options->external;
	lru->next = 0;
	lru->lists = aligned_alloc(CF_LINE, lru->size * sizeof(struct cf_lru_list));
	if (!lru->lists)
		return -ENOMEM;
	for (uint32_t i = 0; i < lru->size; i++) {
		struct cf_lru_list *list = &lru->lists[i];
		cf_lock_init(&list->lock, options->lock);
		list->head = (struct cf_lru_link){ &list->head, &list->head, 0, 0 };
		list->count = 0;
	}
	return 0;
}

void cf_lru_destroy(struct cf_lru *lru)
{
	free(lru->lists);
	lru->lists = NULL;
}

static void lock_list(const struct cf_lru *lru, struct cf_lru_list *list, struct cf_lock_node *node)
{
	if (!lru->external)
		cf_lock_take(&list->lock, node);
}

static void unlock_list(const struct cf_lru *lru, struct cf_lru_list *list, struct cf_lock_node *node)
{
	if (!lru->external)
		cf_lock_drop(&list->lock, node);
}

static void change_count__(struct cf_lru_list *list, uint64_t amount)
{
	__atomic_store_n(&list->count, list->count + amount, __ATOMIC_RELAXED); // relaxed: cf_lru_count is a guess
}

static void link_young__(struct cf_lru_list *list, struct cf_lru_link *link)
{
	link->next = &list->head;
	link->prev = list->head.prev;
	link->prev->next = link;
	list->head.prev = link;
}

static void unlink_only__(struct cf_lru_link *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
}

static void push__(struct cf_lru_list *list, struct cf_lru_link *link, uint32_t number)
{
	link_young__(list, link);
	__atomic_store_n(&link->list, number + 1, __ATOMIC_RELAXED); // relaxed: the object's lock orders
}

static void unlink__(struct cf_lru_link *link)
{
	unlink_only__(link);
	// Sequentially consistent: pairs with cf_lru_listed. An exchange: in the lab a store is seen late.
	// x86 cannot tell, a locked instruction is a full barrier; aarch64 and POWER can.
	__atomic_exchange_n(&link->list, 0, __ATOMIC_SEQ_CST);
}

bool cf_lru_add(struct cf_lru *lru, struct cf_lru_link *link)
{
	struct cf_lock_node node;
	struct cf_lru_list *list;
	uint32_t number = lru->size == 1 ? 0 : cf_cpu_current();
	if (cf_lru_listed(link))
		return false;
	list = &lru->lists[number];
	lock_list(lru, list, &node);
	push__(list, link, number);
	change_count__(list, 1);
	unlock_list(lru, list, &node);
	return true;
}

bool cf_lru_remove(struct cf_lru *lru, struct cf_lru_link *link)
{
	struct cf_lock_node node;
	struct cf_lru_list *list;
	// Relaxed: only a scan changes it beside us, to 0, which is looked at again under the lock.
	uint32_t number = __atomic_load_n(&link->list, __ATOMIC_RELAXED);
	bool listed;
	if (!number)
		return false;
	list = &lru->lists[number - 1];
	CF_TEST_POINT("lru: removing");
	lock_list(lru, list, &node);
	listed = link->list == number;
	if (listed) {
		unlink__(link);
		change_count__(list, (uint64_t)-1);
	}
	unlock_list(lru, list, &node);
	return listed;
}

void cf_lru_isolate__(struct cf_lru_link *link)
{
	unlink__(link);
}

void cf_lru_restore__(struct cf_lru *lru, struct cf_lru_list *list, struct cf_lru_link *link)
{
	push__(list, link, (uint32_t)(list - lru->lists));
}

// One object's answer. Returns 1 if it was handed out.
static size_t obey__(struct cf_lru_list *list, struct cf_lru_link *link, enum cf_lru_answer answer,
		     struct cf_lru_link **gone)
{
	if (answer == CF_LRU_ROTATE) { // says all the while that it is listed: its lock is not held any more
		unlink_only__(link);
		link_young__(list, link);
	}
	// An object that was isolated is counted until its answer: else a list whose only object is put back would look empty to
	// another scan.
	if (answer == CF_LRU_REMOVE || answer == CF_LRU_GONE)
		change_count__(list, (uint64_t)-1);
	if (answer != CF_LRU_REMOVE)
		return 0;
	unlink__(link);
	link->next = *gone;
	*gone = link;
	return 1;
}

// Each object of the list once. True: the scan is to end.
static bool scan_list(struct cf_lru *lru, struct cf_lru_list *list, size_t *most, cf_lru_callback *callback,
		      void *argument, struct cf_lru_link **gone)
{
	struct cf_lock_node node;
	struct cf_lru_link *link, *next;
	enum cf_lru_answer answer = CF_LRU_KEEP;
	lock_list(lru, list, &node);
	link = list->head.next;
	for (size_t left = list->count; left > 0 && *most > 0 && answer != CF_LRU_STOP; link = next, left--) {
		next = link->next;
		answer = callback(list, link, argument);
		*most -= obey__(list, link, answer, gone);
	}
	unlock_list(lru, list, &node);
	return *most == 0 || answer == CF_LRU_STOP;
}

size_t cf_lru_scan(struct cf_lru *lru, size_t most, cf_lru_callback *callback, void *argument, struct cf_lru_link **gone)
{
	// Relaxed: where it begins does not matter.
	uint32_t first = __atomic_fetch_add(&lru->next, 1, __ATOMIC_RELAXED);
	size_t left = most;
	bool ends = most == 0;
	for (uint32_t i = 0; i < lru->size && !ends; i++) {
		struct cf_lru_list *list = &lru->lists[(first + i) % lru->size];
		// Sequentially consistent: what the caller stored so before the scan comes before this look. Pairs with an add that is
		// followed by a sequentially consistent exchange and a look at what the caller stored: one of the two sees the other.
		// x86 cannot tell, the caller's store was an exchange; aarch64 and POWER can.
		if (__atomic_load_n(&list->count, __ATOMIC_SEQ_CST))
			ends = scan_list(lru, list, &left, callback, argument, gone);
	}
	return most - left;
}

size_t cf_lru_count(const struct cf_lru *lru)
{
	size_t count = 0;
	for (uint32_t i = 0; i < lru->size; i++)
		count += __atomic_load_n(&lru->lists[i].count, __ATOMIC_RELAXED); // relaxed: each list's moment
	return count;
}
