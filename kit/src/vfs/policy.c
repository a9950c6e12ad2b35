// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <corefold/cf_vfs_policy.h>

#include <pthread.h>

CF_STATIC_ASSERT(sizeof(pthread_rwlock_t) <= sizeof(struct cf_vfs_sem), "a semaphore holds a lock of libc's");

const char *cf_vfs_policy_name(void)
{
	static const char *const names[] = { "base-2.6.35", "files", "inodes", "dentries", "percpu", "rcu-walk" };
	return names[CF_VFS_POLICY];
}

static pthread_rwlock_t *lock_of(struct cf_vfs_sem *sem)
{
	return (pthread_rwlock_t *)(void *)sem->words;
}

void cf_vfs_sem_init(struct cf_vfs_sem *sem)
{
	pthread_rwlock_init(lock_of(sem), NULL);
}

void cf_vfs_sem_destroy(struct cf_vfs_sem *sem)
{
	pthread_rwlock_destroy(lock_of(sem));
}

void cf_vfs_sem_read(struct cf_vfs_sem *sem)
{
	pthread_rwlock_rdlock(lock_of(sem));
}

void cf_vfs_sem_read_done(struct cf_vfs_sem *sem)
{
	pthread_rwlock_unlock(lock_of(sem));
}

void cf_vfs_sem_write(struct cf_vfs_sem *sem)
{
	pthread_rwlock_wrlock(lock_of(sem));
}

bool cf_vfs_sem_write_try(struct cf_vfs_sem *sem)
{
	return pthread_rwlock_trywrlock(lock_of(sem)) == 0;
}

void cf_vfs_sem_write_done(struct cf_vfs_sem *sem)
{
	pthread_rwlock_unlock(lock_of(sem));
}
