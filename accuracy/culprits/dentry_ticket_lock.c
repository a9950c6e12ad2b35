/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// A ticket spinlock around a tiny update, as in "Non-scalable locks are dangerous" (Boyd-Wickizer et al., OLS 2012),
// benchmark FOPS: each open and close of a file changes the reference count of its dentry under d_lock, and all
// threads open the same file. In the twin each thread opens a file of its own.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct spinlock {
	atomic_uint current_ticket;
	atomic_uint next_ticket;
};

struct dentry {
	_Alignas(128) struct spinlock d_lock;
	unsigned d_count;
	unsigned long opened;
};

struct process {
	_Alignas(128) pthread_t id;
	struct dentry *file;
	long opens;
	uint32_t names;
};

static pthread_barrier_t start;

static inline void spin_lock(struct spinlock *lock)
{
	unsigned ticket = atomic_fetch_add(&lock->next_ticket, 1);

	while (atomic_load_explicit(&lock->current_ticket, memory_order_acquire) != ticket)
		__builtin_ia32_pause();
}

static inline void spin_unlock(struct spinlock *lock)
{
	unsigned ticket = atomic_load_explicit(&lock->current_ticket, memory_order_relaxed);

	atomic_store_explicit(&lock->current_ticket, ticket + 1, memory_order_release);
}

__attribute__((noinline)) static void dget(struct dentry *dentry)
{
	spin_lock(&dentry->d_lock);
	dentry->d_count++;
	dentry->opened++;
	spin_unlock(&dentry->d_lock);
}

__attribute__((noinline)) static void dput(struct dentry *dentry)
{
	spin_lock(&dentry->d_lock);
	dentry->d_count--;
	spin_unlock(&dentry->d_lock);
}

__attribute__((noinline)) static uint32_t hash_name(long number)
{
	uint32_t hash = 2166136261u;

	for (int i = 0; i < 16; i++)
		hash = (hash ^ (uint32_t)(number >> i & 255)) * 16777619u;
	return hash;
}

static void *open_and_close(void *argument)
{
	struct process *self = argument;

	pthread_barrier_wait(&start);
	for (long i = 0; i < self->opens; i++) {
		dget(self->file);
		self->names ^= hash_name(self->names + i);
		dput(self->file);
		self->names += hash_name(self->names + i);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2;
	long work = argc > 2 ? atol(argv[2]) : 100000;
	struct process *processes = aligned_alloc(128, (size_t)threads * sizeof *processes);
	struct dentry *dentries = aligned_alloc(128, (size_t)threads * sizeof *dentries);
	unsigned long opened = 0, count = 0;

	pthread_barrier_init(&start, NULL, (unsigned)threads);
	for (int t = 0; t < threads; t++) {
		processes[t] = (struct process) { .opens = work * (t + 1) / threads - work * t / threads };
		dentries[t] = (struct dentry) { .d_count = 1 };
#ifdef TWIN
		processes[t].file = &dentries[t];
#else
		processes[t].file = &dentries[0];
#endif
		pthread_create(&processes[t].id, NULL, open_and_close, &processes[t]);
	}
	for (int t = 0; t < threads; t++)
		pthread_join(processes[t].id, NULL);
	for (int t = 0; t < threads; t++) {
		opened += dentries[t].opened;
		count += dentries[t].d_count;
	}
	printf("%lu opens, %lu references left\n", opened, count);
	return opened != (unsigned long)work || count != (unsigned long)threads;
}
