// SPDX-License-Identifier: MIT OR Apache-2.0
// Bytes of a file. A page's seq is its lock and its readers' sequence count; the mapping's lock is for sizes and holes.
#include "mapping.h"

#include <string.h>

// A page's bytes are copied beside writers, and thrown away if seq has changed. ThreadSanitizer wants to see that. The orders
// are for aarch64 and POWER, which would move the bytes past seq; x86 cannot tell, its loads and its stores stay in order.
#if CF_BUILT_SANITISED
static void copy_out(uint8_t *to, const uint8_t *from, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_ACQUIRE);
}

static void copy_in(uint8_t *to, const uint8_t *from, size_t size)
{
	for (size_t i = 0; i < size; i++)
		__atomic_store_n(&to[i], from ? from[i] : 0, __ATOMIC_RELEASE);
}
#else
static void copy_out(uint8_t *to, const uint8_t *from, size_t size)
{
	memcpy(to, from, size);
	__atomic_thread_fence(__ATOMIC_ACQUIRE); // the bytes before the second look at seq; x86 cannot tell, aarch64 and POWER can
}

static void copy_in(uint8_t *to, const uint8_t *from, size_t size)
{
	__atomic_thread_fence(__ATOMIC_RELEASE); // seq says LOCKED before the bytes change
	if (from)
		memcpy(to, from, size);
	else
		memset(to, 0, size);
}
#endif

static uint32_t seq_of(const struct cf_page *page)
{
	return __atomic_load_n(&page->seq, __ATOMIC_RELAXED); // relaxed: the lock's holder alone stores it
}

static bool page_try(struct cf_page *page, uint32_t seq)
{
	// Acquire: after the last writer's release. aarch64 and POWER need it, and the release; x86 cannot tell. Nor does
	// ThreadSanitizer, for which the bytes are atomic.
	return __atomic_compare_exchange_n(&page->seq, &seq, seq | CF_PAGE_LOCKED, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

// False: it has been removed.
static bool page_lock_unless_removed(struct cf_page *page)
{
	uint32_t seq = 0;
	do {
		CF_LOCK_WAIT_UNTIL(!((seq = __atomic_load_n(&page->seq, __ATOMIC_RELAXED)) & CF_PAGE_LOCKED));
		if (seq & CF_PAGE_REMOVED)
			return false;
	} while (!page_try(page, seq));
	return true;
}

void cf_page_lock(struct cf_page *page)
{
	(void)page_lock_unless_removed(page); // the caller holds the mapping's lock: it is in the tree
}

void cf_page_unlock(struct cf_page *page)
{
	// Release: the bytes, and the file's size, before the count that lets readers and writers in; x86 cannot tell, aarch64 and
	// POWER can.
	__atomic_store_n(&page->seq, (seq_of(page) & ~(uint32_t)CF_PAGE_LOCKED) + CF_PAGE_CHANGE, __ATOMIC_RELEASE);
}

static int64_t size_of(const struct cf_mapping *m)
{
	return (int64_t)CF_INODE_LOAD(m->host, size);
}

// Its lock is held, and the size stands, or is being made smaller by who will lock it yet. Before the scaled form nobody asks.
static void mark_whole(const struct cf_mapping *m, struct cf_page *page, int64_t offset)
{
	bool whole = CF_VFS_RCU_WALK && offset / CF_PAGE < size_of(m) / CF_PAGE;
	__atomic_store_n(&page->seq, (seq_of(page) & ~(uint32_t)CF_PAGE_WHOLE) | (whole ? CF_PAGE_WHOLE : 0), __ATOMIC_RELAXED);
}

// While a file is made shorter its size decides.
static bool is_cut(const struct cf_mapping *m)
{
	// Acquire: before the bytes, and the second look at seq; x86 cannot tell, aarch64 and POWER can.
	return __atomic_load_n(&m->cuts, __ATOMIC_ACQUIRE) & 1;
}

static size_t least(size_t a, int64_t b)
{
	return b < 0 ? 0 : a < (size_t)b ? a : (size_t)b;
}

// What lies within a page, at most `size` bytes; 0 at the end. In a read section.
static size_t read_part(struct cf_mapping *m, uint8_t *to, size_t size, int64_t offset)
{
	for (;;) {
		struct cf_page *page = cf_mapping_page(m, offset / CF_PAGE);
		uint32_t seq = 0;
		size_t part;
		CF_TEST_POINT("mapping: read, looked up");
		if (page) {
			// Acquire: before size and bytes; x86 cannot tell, aarch64 and POWER can.
			CF_LOCK_WAIT_UNTIL(!((seq = __atomic_load_n(&page->seq, __ATOMIC_ACQUIRE)) & CF_PAGE_LOCKED));
			if (seq & CF_PAGE_REMOVED)
				continue;
		}
		CF_TEST_POINT("mapping: read, found");
		bool whole = seq & CF_PAGE_WHOLE && !is_cut(m);
		int64_t end = whole ? INT64_MAX : size_of(m);
		part = least(size, end - offset);
		if (page)
			copy_out(to, page->bytes + offset % CF_PAGE, part);
		else
			memset(to, 0, part);
		CF_TEST_POINT("mapping: read, copied");
		// A hole is one if there still is no page, and the file was as long all the while.
		if (page ? __atomic_load_n(&page->seq, __ATOMIC_RELAXED) == seq :
			   cf_mapping_page(m, offset / CF_PAGE) == NULL && size_of(m) == end)
			return part;
	}
}

int64_t cf_mapping_read(struct cf_mapping *m, void *to, size_t size, int64_t offset)
{
	size_t done = 0;
	cf_rcu_read_lock();
	while (done < size) {
		int64_t at = offset + (int64_t)done;
		size_t within = CF_PAGE - (size_t)(at % CF_PAGE), part = size - done < within ? size - done : within;
		size_t got = read_part(m, (uint8_t *)to + done, part, at);
		done += got;
		if (got < part)
			break;
	}
	cf_rcu_read_unlock();
	// Relaxed: a file whose last descriptor is closed meanwhile.
	return __atomic_load_n(&m->dead, __ATOMIC_RELAXED) ? -EBADF : (int64_t)done;
}

// Within a page that is there, and within the file: without the mapping's lock. False: not so.
static bool write_within(struct cf_mapping *m, const uint8_t *from, size_t size, int64_t offset)
{
	struct cf_page *page;
	bool within = false;
	cf_rcu_read_lock();
	page = cf_mapping_page(m, offset / CF_PAGE);
	CF_TEST_POINT("mapping: write, found");
	if (page && page_lock_unless_removed(page)) {
		bool whole = seq_of(page) & CF_PAGE_WHOLE && !is_cut(m);
		// Under the page's lock: a truncate that has stored a smaller size clears the rest of the page later.
		if (!whole)
			within = offset + (int64_t)size <= size_of(m);
		within |= whole;
		CF_TEST_POINT("mapping: write, locked");
		if (within) {
			copy_in(page->bytes + offset % CF_PAGE, from, size);
			if (!whole)
				mark_whole(m, page, offset);
			cf_page_unlock(page);
		} else {
			// Unchanged. Release: what earlier holders stored comes before the next one, too. x86 cannot tell, aarch64 can.
			__atomic_store_n(&page->seq, seq_of(page) & ~(uint32_t)CF_PAGE_LOCKED, __ATOMIC_RELEASE);
		}
	}
	cf_rcu_read_unlock();
	return within;
}

// Under the lock. Before the scaled form the inode's lock is for all attributes.
static void change_size(struct cf_mapping *m, int64_t size, int64_t more_pages)
{
	struct cf_lock_node node;
	if (!CF_VFS_RCU_WALK)
		cf_inode_lock(m->host, &node);
	cf_inode_attr_write_begin(&m->host->size_seq);
	if (size >= 0)
		CF_INODE_STORE(m->host, size, (uint64_t)size);
	if (more_pages)
		CF_INODE_STORE(m->host, blocks, m->host->blocks + (uint64_t)(more_pages * (CF_PAGE / 512)));
	cf_inode_attr_write_end(&m->host->size_seq);
	if (!CF_VFS_RCU_WALK)
		cf_inode_unlock(m->host, &node);
}

// Under the lock: into a page that may be missing, and the file may grow. 0 or -errno.
static int write_part(struct cf_mapping *m, const uint8_t *from, size_t size, int64_t offset)
{
	struct cf_page *page = cf_mapping_page(m, offset / CF_PAGE);
	int64_t end = offset + (int64_t)size > size_of(m) ? offset + (int64_t)size : -1;
	if (page) {
		cf_page_lock(page);
		copy_in(page->bytes + offset % CF_PAGE, from, size);
		if (end >= 0)
			change_size(m, end, 0);
		mark_whole(m, page, offset);
		cf_page_unlock(page);
		return 0;
	}
	struct cf_mapping_spare spare;
	int error = cf_mapping_prepare(m, offset / CF_PAGE, &spare);
	if (error)
		return error;
	memcpy(spare.page->bytes + offset % CF_PAGE, from, size);
	// Locked until the size is right, so that a reader sees both or none.
	spare.page->seq = CF_PAGE_LOCKED;
	page = spare.page;
	cf_mapping_insert(m, offset / CF_PAGE, &spare);
	CF_TEST_POINT("mapping: write, inserted");
	change_size(m, end, 1);
	mark_whole(m, page, offset);
	cf_page_unlock(page);
	return 0;
}

// Under the lock.
static int64_t write_locked(struct cf_mapping *m, const uint8_t *from, size_t size, int64_t offset)
{
	size_t done = 0;
	int error = m->dead ? -EBADF : 0;
	while (!error && done < size) {
		int64_t at = offset + (int64_t)done;
		size_t within = CF_PAGE - (size_t)(at % CF_PAGE), part = size - done < within ? size - done : within;
		error = write_part(m, from + done, part, at);
		done += error ? 0 : part;
	}
	return done ? (int64_t)done : error;
}

int64_t cf_mapping_write(struct cf_mapping *m, const void *from, size_t size, int64_t offset)
{
	int64_t done;
	if (size == 0)
		return 0;
	if (offset == INT64_MAX)
		return -EFBIG;
	size = least(size, INT64_MAX - offset);
	if (offset / CF_PAGE == (offset + (int64_t)size - 1) / CF_PAGE && write_within(m, from, size, offset))
		return (int64_t)size;
	cf_mutex_lock(&m->lock);
	done = write_locked(m, from, size, offset);
	cf_mutex_unlock(&m->lock);
	return done;
}

int64_t cf_mapping_append(struct cf_mapping *m, const void *from, size_t size, int64_t *offset)
{
	int64_t done = 0;
	if (size == 0)
		return 0;
	cf_mutex_lock(&m->lock);
	*offset = size_of(m);
	CF_TEST_POINT("mapping: appending");
	done = *offset == INT64_MAX ? -EFBIG : write_locked(m, from, least(size, INT64_MAX - *offset), *offset);
	cf_mutex_unlock(&m->lock);
	return done;
}

// The lock is held. The last page's rest, and the pages behind it.
static void cut_behind(struct cf_mapping *m, int64_t size)
{
	struct cf_page *last = cf_mapping_page(m, size / CF_PAGE);
	int64_t removed;
	if (size % CF_PAGE && last) {
		cf_page_lock(last);
		copy_in(last->bytes + size % CF_PAGE, NULL, (size_t)(CF_PAGE - size % CF_PAGE));
		mark_whole(m, last, size);
		cf_page_unlock(last);
	}
	removed = cf_mapping_remove_from(m, size / CF_PAGE + (size % CF_PAGE != 0));
	if (removed)
		change_size(m, -1, -removed);
}

// Under the lock. First the size, so that writers that come late see it under their page's lock; then the pages behind it. From
// before the size changes, whole pages are none: who has seen the new size must not find what is behind it.
static void set_size(struct cf_mapping *m, int64_t size)
{
	if (size >= size_of(m)) {
		change_size(m, size, 0);
		return;
	}
	__atomic_store_n(&m->cuts, m->cuts + 1, __ATOMIC_RELAXED); // relaxed: the size is stored with release
	change_size(m, size, 0);
	CF_TEST_POINT("mapping: shorter");
	cut_behind(m, size);
	// Release: the pages' marks before it; x86 cannot tell, aarch64 and POWER can.
	__atomic_store_n(&m->cuts, m->cuts + 1, __ATOMIC_RELEASE);
}

// Nothing to cut. Before the scaled form every truncation locks and stores.
static bool is_empty(const struct cf_mapping *m)
{
	// Relaxed: an empty file at this moment; the size first is as good as the pages first.
	return CF_VFS_RCU_WALK && size_of(m) == 0 && !__atomic_load_n(&m->root, __ATOMIC_RELAXED);
}

void cf_mapping_truncate(struct cf_mapping *m, int64_t size)
{
	if (size == 0 && is_empty(m))
		return;
	cf_mutex_lock(&m->lock);
	if (!m->dead)
		set_size(m, size);
	cf_mutex_unlock(&m->lock);
}

void cf_mapping_init(struct cf_mapping *m, struct cf_inode *host, struct cf_space *space)
{
	m->root = 0;
	m->host = host;
	m->space = space;
	m->dead = m->cuts = 0;
	cf_mutex_init(&m->lock);
}

void cf_mapping_destroy(struct cf_mapping *m)
{
	cf_mutex_lock(&m->lock);
	__atomic_store_n(&m->dead, 1, __ATOMIC_RELAXED); // relaxed: a reader who misses it reads as before
	cf_mapping_remove_from(m, 0);
	cf_mutex_unlock(&m->lock);
}
