// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Descriptors. A slot is null, RESERVED, an open file, or CLOSING; it changes by compare-and-swap.
 *   lowest   under the task's lock, from `lowest` on; a close lowers it
 *   any      (CF_O_ANYFD) from this CPU's part of the table on
 * CLOSING lasts while `lowest` is lowered: until then nobody may see that the file is gone, or a descriptor that is higher could be
 * taken after that. Who finds it waits.
 * A call looks the file up in a read section; one that may block takes a reference.
 */
#include "vfs.h"

#include <limits.h>

static struct cf_file *const RESERVED = (struct cf_file *)1, *const CLOSING = (struct cf_file *)2;

// Null, RESERVED or a file.
static struct cf_file *in_slot(struct cf_file *const *slot)
{
	// Sequentially consistent: in a scan, behind the exchange of `lowest`; for the others acquire would do. x86 cannot tell.
	struct cf_file *file = __atomic_load_n(slot, __ATOMIC_SEQ_CST);
	if (CF_UNLIKELY(file == CLOSING))
		CF_LOCK_WAIT_UNTIL((file = cf_rcu_dereference(*slot)) != CLOSING);
	return file;
}

struct cf_file *cf_task_file(struct cf_task *task, int fd)
{
	struct cf_file *file = fd >= 0 && fd < CF_TASK_FDS ? in_slot(cf_task_slot(task, fd)) : NULL;
	return file == RESERVED ? NULL : file;
}

bool cf_file_grab(struct cf_file *file)
{
	int32_t count = __atomic_load_n(&file->count, __ATOMIC_RELAXED);
	CF_TEST_POINT("fd: found");
	while (count > 0)
		// Relaxed: who has it keeps it; acquire of its contents was by the slot.
		if (__atomic_compare_exchange_n(&file->count, &count, count + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return true;
	return false;
}

struct cf_file *cf_task_file_get(struct cf_task *task, int fd)
{
	struct cf_file *file;
	cf_rcu_read_lock();
	do
		file = cf_task_file(task, fd);
	while (file && !cf_file_grab(file));
	cf_rcu_read_unlock();
	return file;
}

static void free_file(struct cf_rcu_head *head)
{
	struct cf_file *file = (struct cf_file *)(void *)((char *)head - offsetof(struct cf_file, rcu));
	cf_slab_free(&file->vfs->file_memory, file);
}

void cf_file_put(struct cf_file *file)
{
	// Acquire and release: with all who have put it. x86 cannot tell, whose subtraction is a full fence; aarch64 can.
	if (__atomic_sub_fetch(&file->count, 1, __ATOMIC_ACQ_REL))
		return;
	if (file->ops && file->ops->release)
		file->ops->release(file);
	if (!CF_VFS_RCU_WALK)
		cf_lru_remove(&file->vfs->files, &file->link);
	cf_dentry_put(file->dentry);
	cf_inode_unhold(file->inode, file->hold);
	cf_rcu_call(&file->rcu, free_file);
}

static bool take_slot(struct cf_task *task, int fd)
{
	struct cf_file *none = NULL;
	// Relaxed: the reservation publishes nothing. Looked at first, so that a full slot's line is not written.
	if (__atomic_load_n(cf_task_slot(task, fd), __ATOMIC_RELAXED))
		return false;
	CF_TEST_POINT("fd: free");
	return __atomic_compare_exchange_n(cf_task_slot(task, fd), &none, RESERVED, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static int take_between(struct cf_task *task, int from, int to)
{
	for (int fd = from; fd < to; fd++)
		if (take_slot(task, fd))
			return fd;
	return -EMFILE;
}

// `lowest` during a scan. Any close stores less there, so it is noticed whatever its number.
enum { SCANNING = INT_MAX, AGAIN = INT_MIN };

static int take_lowest_between(struct cf_task *task, int from, int to)
{
	for (int fd = from; fd < to; fd++) {
		(void)in_slot(cf_task_slot(task, fd)); // a close that is about to free it
		if (take_slot(task, fd))
			return fd;
	}
	return -EMFILE;
}

// With the task's lock. AGAIN: a lower one than this has been closed meanwhile. Sequentially consistent, with a close and with
// lower(): the exchange comes before the looks at the slots, as theirs of a slot come before the look at `lowest`. x86 cannot
// tell, whose locked instructions are full fences; aarch64 can.
static int scan_for_lowest__(struct cf_task *task, int limit)
{
	int from = __atomic_exchange_n(&task->lowest, SCANNING, __ATOMIC_SEQ_CST), now = SCANNING;
	int fd = take_lowest_between(task, from, limit);
	int next = fd >= 0 ? fd + 1 : from > limit ? from : limit;
	CF_TEST_POINT("fd: scanned");
	while (now >= (fd >= 0 ? fd : next))
		if (__atomic_compare_exchange_n(&task->lowest, &now, next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			return fd;
	if (fd >= 0)
		__atomic_store_n(cf_task_slot(task, fd), NULL, __ATOMIC_RELAXED); // what it is scanned for again is below
	return AGAIN;
}

static int lowest(struct cf_task *task, int limit)
{
	struct cf_lock_node node;
	int fd;
	cf_lock_take(&task->lock, &node);
	do
		fd = scan_for_lowest__(task, limit);
	while (fd == AGAIN);
	cf_lock_drop(&task->lock, &node);
	return fd;
}

// The first part is for those who ask for the lowest.
static int any(struct cf_task *task, int limit)
{
	int part = limit / ((int)cf_cpu_count() + 1), begin, fd;
	begin = part * ((int)cf_cpu_current() + 1) % (limit ? limit : 1);
	fd = take_between(task, begin, limit);
	return fd >= 0 ? fd : take_between(task, 0, begin);
}

int cf_fd_reserve(struct cf_task *task, int flags)
{
	int limit = __atomic_load_n(&task->limit, __ATOMIC_RELAXED);
	return flags & CF_O_ANYFD ? any(task, limit) : lowest(task, limit);
}

static void lower(struct cf_task *task, int fd)
{
	// Sequentially consistent, as in the scan: one of the two sees the other. x86 cannot tell, aarch64 can.
	int now = __atomic_load_n(&task->lowest, __ATOMIC_SEQ_CST);
	while (fd < now && !__atomic_compare_exchange_n(&task->lowest, &now, fd, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
}

// file null: the descriptor is free again. Sequentially consistent, for lower(); a release, for who finds the file.
void cf_fd_set(struct cf_task *task, int fd, struct cf_file *file)
{
	__atomic_store_n(cf_task_slot(task, fd), file, __ATOMIC_SEQ_CST);
	if (!file)
		lower(task, fd);
}

// ops null: what cannot be read or written.
static int make_file(struct cf_vfs *vfs, struct cf_inode *inode, uint32_t hold, struct cf_dentry *dentry,
		     const struct cf_file_ops *ops, int flags, struct cf_file **made)
{
	struct cf_file *file = cf_slab_alloc(&vfs->file_memory);
	int error = file ? 0 : -ENOMEM;
	if (file) {
		*file = (struct cf_file){ .inode = inode, .dentry = dentry, .ops = ops, .vfs = vfs, .flags = flags, .count = 1 };
		file->reads = (flags & O_ACCMODE) != O_WRONLY;
		file->writes = (flags & O_ACCMODE) != O_RDONLY;
		file->hold = hold;
		cf_lock_init(&file->lock, CF_LOCK_QUEUED);
		error = ops && ops->open ? ops->open(file) : 0;
	}
	if (error) {
		cf_dentry_put(dentry);
		cf_inode_unhold(inode, hold);
		cf_slab_free(&vfs->file_memory, file);
		return error;
	}
	if (!CF_VFS_RCU_WALK) // nobody asks for the list of all open files
		cf_lru_add(&vfs->files, &file->link);
	*made = file;
	return 0;
}

int cf_file_open(struct cf_vfs *vfs, struct cf_inode *inode, uint32_t hold, struct cf_dentry *dentry, int flags,
		 struct cf_file **made)
{
	return make_file(vfs, inode, hold, dentry, inode->file_ops, flags, made);
}

int cf_file_place(struct cf_vfs *vfs, struct cf_inode *inode, struct cf_dentry *dentry, struct cf_file **made)
{
	int error = make_file(vfs, inode, 0, dentry, NULL, O_RDONLY, made);
	if (!error)
		(*made)->reads = false;
	return error;
}

int cf_vfs_close(struct cf_task *task, int fd)
{
	struct cf_file *file, **slot;
	if (fd < 0 || fd >= CF_TASK_FDS)
		return -EBADF;
	slot = cf_task_slot(task, fd);
	do {
		file = in_slot(slot);
		if (!file || file == RESERVED)
			return -EBADF;
		// Acquire: the file. Sequentially consistent, for lower(), as a scan waits for who is closing. x86 cannot tell,
		// aarch64 can.
	} while (!__atomic_compare_exchange_n(slot, &file, CLOSING, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
	CF_TEST_POINT("fd: closing");
	lower(task, fd);
	// Release: after `lowest`, for who sees that it is free. x86 cannot tell, aarch64 can.
	__atomic_store_n(slot, NULL, __ATOMIC_RELEASE);
	cf_file_put(file);
	cf_vfs_relax(task->vfs);
	return 0;
}

int cf_vfs_dup(struct cf_task *task, int from, int flags)
{
	struct cf_file *file = cf_task_file_get(task, from);
	int fd;
	if (!file)
		return -EBADF;
	fd = cf_fd_reserve(task, flags);
	if (fd < 0)
		cf_file_put(file);
	else
		cf_fd_set(task, fd, file);
	return fd;
}

int cf_vfs_dup2(struct cf_task *task, int from, int to)
{
	struct cf_file *file = cf_task_file_get(task, from), *old;
	if (!file || to < 0 || to >= __atomic_load_n(&task->limit, __ATOMIC_RELAXED) || from == to) {
		if (file)
			cf_file_put(file);
		return file && from == to ? to : -EBADF;
	}
	do {
		old = in_slot(cf_task_slot(task, to));
		if (old == RESERVED) { // an open is under way there
			cf_file_put(file);
			return -EBUSY;
		}
	} while (!__atomic_compare_exchange_n(cf_task_slot(task, to), &old, file, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
	if (old)
		cf_file_put(old);
	cf_vfs_relax(task->vfs);
	return to;
}
