/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Linux' tmpfs before 2.6.36: each page that a file gets or gives back changes the file system's free_blocks under
// one spinlock, stat_lock. The twin follows the fix (commit 7e496299d4d2, percpu_counter): each thread
// keeps a difference of its own and takes stat_lock only when that exceeds a batch.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGES 4
#define BATCH 32

struct shmem_sb_info {
	unsigned long max_blocks;
	unsigned long free_blocks;
	unsigned long max_inodes;
	unsigned long free_inodes;
	pthread_spinlock_t stat_lock;
};

struct shmem_inode {
	_Alignas(128) unsigned char page[PAGES][512];
	long alloced, taken, operations;
	uint32_t checksum;
	pthread_t id;
};

static struct shmem_sb_info *sbinfo;
static pthread_barrier_t start;

static void count_blocks(struct shmem_inode *inode, long blocks)
{
#ifdef TWIN
	inode->taken += blocks;
	if (inode->taken < BATCH && inode->taken > -BATCH)
		return;
	blocks = inode->taken;
	inode->taken = 0;
#endif
	pthread_spin_lock(&sbinfo->stat_lock);
	sbinfo->free_blocks -= (unsigned long)blocks;
	inode->alloced += blocks;
	pthread_spin_unlock(&sbinfo->stat_lock);
}

__attribute__((noinline)) static void shmem_getpage(struct shmem_inode *inode, long index)
{
	count_blocks(inode, 1);
	memset(inode->page[index % PAGES], (int)index & 0xff, sizeof inode->page[0]);
}

__attribute__((noinline)) static void shmem_truncate(struct shmem_inode *inode, long index)
{
	uint32_t sum = 0;

	for (int i = 0; i < 512; i += 16)
		sum = sum * 31 + inode->page[index % PAGES][i];
	inode->checksum ^= sum;
	count_blocks(inode, -1);
}

static void *client(void *argument)
{
	struct shmem_inode *inode = argument;

	pthread_barrier_wait(&start);
	for (long i = 0; i < inode->operations; i++) {
		shmem_getpage(inode, i);
		shmem_truncate(inode, i);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2;
	long work = argc > 2 ? atol(argv[2]) : 100000;
	struct shmem_inode **inodes = malloc((size_t)threads * sizeof *inodes);
	unsigned long missing;
	uint32_t checksum = 0;

	sbinfo = aligned_alloc(64, 64);
	memset(sbinfo, 0, 64);
	sbinfo->free_blocks = sbinfo->max_blocks = 1 << 20;
	pthread_spin_init(&sbinfo->stat_lock, PTHREAD_PROCESS_PRIVATE);
	pthread_barrier_init(&start, NULL, (unsigned)threads);
	for (int t = 0; t < threads; t++) {
		inodes[t] = aligned_alloc(128, sizeof **inodes);
		*inodes[t] = (struct shmem_inode) { .operations = work * (t + 1) / threads - work * t / threads };
		pthread_create(&inodes[t]->id, NULL, client, inodes[t]);
	}
	missing = sbinfo->max_blocks;
	for (int t = 0; t < threads; t++) {
		pthread_join(inodes[t]->id, NULL);
		missing -= (unsigned long)(inodes[t]->alloced + inodes[t]->taken);
		checksum ^= inodes[t]->checksum;
	}
	missing -= sbinfo->free_blocks;
	printf("%ld pages, checksum %08x, %lu blocks missing\n", work, checksum, missing);
	return missing != 0;
}
