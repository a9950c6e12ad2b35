// SPDX-License-Identifier: MIT OR Apache-2.0
// Tasks: who calls, and from where.
#include "vfs.h"

static int copy_cred(struct cf_task *task, const struct cf_cred *cred)
{
	uint32_t *groups = malloc((cred->group_count + 1) * sizeof *groups);
	if (!groups)
		return -ENOMEM;
	for (uint32_t i = 0; i < cred->group_count; i++)
		groups[i] = cred->groups[i];
	free(task->groups);
	task->groups = groups;
	task->cred = *cred;
	task->cred.groups = groups;
	task->cred.privileged = cred->uid == 0 || cred->privileged;
	return 0;
}

// Aligned, and its many descriptors not touched: aligned_alloc gives no zeroes.
static struct cf_task *new_task(void)
{
	char *memory = calloc(1, sizeof(struct cf_task) + CF_LINE);
	struct cf_task *task = memory ? (void *)(memory + (CF_LINE - (uintptr_t)memory % CF_LINE) % CF_LINE) : NULL;
	if (task)
		task->memory = memory;
	return task;
}

int cf_task_new(struct cf_task **made, struct cf_vfs *vfs, const struct cf_cred *cred)
{
	static const struct cf_cred root = { .privileged = 1 };
	struct cf_task *task = new_task();
	int error = task ? copy_cred(task, cred ? cred : &root) : -ENOMEM;
	if (error) {
		if (task)
			free(task->memory);
		return error;
	}
	task->vfs = vfs;
	task->umask = 022;
	task->limit = task->top = CF_TASK_LIMIT;
	task->cwd = vfs->super.root;
	cf_dentry_get(task->cwd);
	cf_lock_init(&task->lock, CF_LOCK_QUEUED);
	*made = task;
	return 0;
}

int cf_task_cred(struct cf_task *task, const struct cf_cred *cred)
{
	return copy_cred(task, cred);
}

void cf_task_free(struct cf_task *task)
{
	if (!task)
		return;
	for (int fd = 0; fd < task->top; fd++)
		if (*cf_task_slot(task, fd))
			cf_vfs_close(task, fd);
	cf_dentry_put(task->cwd);
	cf_vfs_relax(task->vfs);
	free(task->groups);
	free(task->memory);
}

int cf_task_limit(struct cf_task *task, int descriptors)
{
	if (descriptors < 0 || descriptors > CF_TASK_FDS)
		return -EINVAL;
	__atomic_store_n(&task->limit, descriptors, __ATOMIC_RELAXED); /* relaxed: the number alone */
	task->top = descriptors > task->top ? descriptors : task->top;
	return 0;
}

uint32_t cf_vfs_umask(struct cf_task *task, uint32_t mask)
{
	return __atomic_exchange_n(&task->umask, mask & 0777, __ATOMIC_RELAXED); /* relaxed: the number alone */
}

// Takes over the reference.
static void move_to(struct cf_task *task, struct cf_dentry *to)
{
	struct cf_lock_node node;
	struct cf_dentry *old;
	cf_lock_take(&task->lock, &node);
	old = task->cwd;
	cf_rcu_assign(task->cwd, to);
	cf_lock_drop(&task->lock, &node);
	cf_dentry_put(old);
	cf_vfs_relax(task->vfs);
}

static int change_directory(struct cf_task *task, struct cf_dentry *to)
{
	struct cf_inode *inode = cf_dentry_inode(to);
	int error = !inode || !S_ISDIR(CF_INODE_LOAD(inode, mode)) ? -ENOTDIR :
			cf_inode_permission(inode, CF_MAY_EXEC, &task->cred, true);
	if (error)
		cf_dentry_put(to);
	else
		move_to(task, to);
	return error;
}

int cf_vfs_chdir(struct cf_task *task, const char *path)
{
	struct cf_walk walk;
	int error = cf_vfs_walk(task, CF_AT_FDCWD, path, CF_WALK_FOLLOW | CF_WALK_DIRECTORY, &walk);
	return error ? error : change_directory(task, walk.dentry);
}

int cf_vfs_fchdir(struct cf_task *task, int fd)
{
	struct cf_file *file = cf_task_file_get(task, fd);
	struct cf_dentry *dentry;
	if (!file)
		return -EBADF;
	dentry = file->dentry;
	if (dentry)
		cf_dentry_get(dentry);
	cf_file_put(file);
	return dentry ? change_directory(task, dentry) : -ENOTDIR;
}
