// SPDX-License-Identifier: MIT OR Apache-2.0
// Inodes in a slab without alignment, in the sizes of Linux 4.20 before (592) and after (584) the commit that README.md
// tells of.
//   mapped small THREADS OPERATIONS INDEX WORK  tasks map and unmap small areas of one hot file, inode INDEX of its slab;
//                                               cycles, about, between two calls
//   mapped many THREADS PASSES INODES           each task goes through so many inodes of its own
// A unit of work is an area mapped and unmapped, or an inode looked at.
// Shapes, one of:
//   (nothing)    584 bytes: the commit
//   -DPARENT     592 bytes: before it
//   -DPAD_MAPPING, -DPAD_INODE  584 bytes and a pad, in the address space or at the inode's end
//   -DALIGNED    640 bytes, each inode on lines of its own
//   -DALIGNED -DAPART=n  the semaphore's last n bytes on another line than the rest: 8 owner, 16 also queue and wait lock,
//                24 and 32 the list of waiters, too
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <corefold/cf_rwsem.h>
#include <corefold/cf_slab.h>

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
enum { MOST_TASKS = 1024, AREAS = 4, HEAD = 336, SEM = 48, TAIL = 88 };

struct area {
	struct area *left, *right, *parent;
	uint64_t begin;
};

struct tree {
	struct area *root, *leftmost;
};

// The order and the sizes of struct address_space in Linux 4.20.
struct address_space {
	struct inode *host;
	uint64_t i_pages[2];
#ifdef PARENT
	int32_t i_mmap_writable;
#else
	uint32_t gfp_mask;
	int32_t i_mmap_writable;
#endif
	struct tree i_mmap;
	struct cf_rwsem i_mmap_rwsem;
	uint64_t nrpages, nrexceptional, writeback_index;
	const void *a_ops;
	uint64_t flags;
#ifdef PARENT
	uint32_t private_lock, gfp_mask;
	void *private_list[2];
	void *private_data;
	uint32_t wb_err;
#else
	uint32_t wb_err, private_lock;
	void *private_list[2];
	void *private_data;
#endif
#ifdef PAD_MAPPING
	uint32_t pad;
#endif
};

#ifdef ALIGNED
#ifndef APART
#define APART 0
#endif
// What comes before the address space moves it so that a line ends before the semaphore's last APART bytes; 0: as it is.
#define BEFORE (APART ? (64 + 64 * 6 - (HEAD + SEM + 40 - APART)) % 64 : 0)
#else
#define BEFORE 0
#endif

struct inode {
	uint32_t i_mode, i_flags;
	uint64_t i_ino, i_size, i_state;
	unsigned char before[HEAD + BEFORE - 32];
	struct address_space i_data;
	unsigned char after[TAIL];
#ifdef PAD_INODE
	uint64_t pad;
#endif
};

#if defined(PARENT) || defined(PAD_MAPPING) || defined(PAD_INODE)
_Static_assert(sizeof(struct inode) == 592, "as before the commit");
#elif !defined(ALIGNED)
_Static_assert(sizeof(struct inode) == 584, "as after the commit");
#endif
_Static_assert(offsetof(struct inode, i_data.i_mmap_rwsem) == HEAD + BEFORE + SEM, "384 in both");

static struct cf_slab inodes;
static struct inode *hot;
static pthread_barrier_t begin;
static pthread_mutex_t setting_up = PTHREAD_MUTEX_INITIALIZER;
static long operations, count;
static uint64_t between;

static uint64_t next(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	return *random ^= *random << 17;
}

// The tasks' own part of a system call: cycles, about.
static NOINLINE void work(uint64_t cycles)
{
	for (volatile uint64_t i = 0; i < cycles / 5; i++)
		;
}

static NOINLINE void insert(struct tree *tree, struct area *area)
{
	struct area **link = &tree->root, *parent = NULL;
	bool leftmost = true;
	while (*link) {
		parent = *link;
		link = area->begin < parent->begin ? &parent->left : &parent->right;
		leftmost &= link == &parent->left;
	}
	area->left = area->right = NULL;
	area->parent = parent;
	*link = area;
	if (leftmost)
		tree->leftmost = area;
}

static void replace(struct tree *tree, const struct area *old, struct area *with)
{
	if (!old->parent)
		tree->root = with;
	else if (old->parent->left == old)
		old->parent->left = with;
	else
		old->parent->right = with;
	if (with)
		with->parent = old->parent;
}

static NOINLINE void erase(struct tree *tree, struct area *area)
{
	struct area *heir;
	if (tree->leftmost == area) {
		for (heir = area->right; heir && heir->left; heir = heir->left)
			;
		tree->leftmost = heir ? heir : area->parent;
	}
	if (!area->left || !area->right) {
		replace(tree, area, area->left ? area->left : area->right);
		return;
	}
	for (heir = area->right; heir->left; heir = heir->left)
		;
	replace(tree, heir, heir->right);
	heir->left = area->left;
	heir->right = area->right;
	heir->left->parent = heir;
	if (heir->right)
		heir->right->parent = heir;
	replace(tree, area, heir);
}

static NOINLINE void map(struct address_space *mapping, struct area *area)
{
	cf_rwsem_write_lock(&mapping->i_mmap_rwsem);
	insert(&mapping->i_mmap, area);
	cf_rwsem_write_unlock(&mapping->i_mmap_rwsem);
}

static NOINLINE void unmap(struct address_space *mapping, struct area *area)
{
	cf_rwsem_write_lock(&mapping->i_mmap_rwsem);
	erase(&mapping->i_mmap, area);
	cf_rwsem_write_unlock(&mapping->i_mmap_rwsem);
}

// Returns its areas: the last ones stay in the file's tree, which other tasks go through.
static struct area *small(uint64_t task)
{
	uint64_t random = (task + 1) * 0x9e3779b97f4a7c15u;
	struct area *areas = aligned_alloc(64, AREAS * 64 * ((sizeof *areas + 63) / 64));
	for (long i = 0; i < operations; i++) {
		struct area *area = (struct area *)((char *)areas + i % AREAS * 64);
		if (i >= AREAS) {
			work(between);
			unmap(&hot->i_data, area);
		}
		area->begin = next(&random);
		work(between);
		map(&hot->i_data, area);
		CF_PROGRESS("area");
	}
	return areas;
}

static NOINLINE uint64_t look_at(struct inode *inode)
{
	uint64_t sum = 0;
	for (const char *at = (const char *)inode, *end = (const char *)(inode + 1); at < end; at += 8)
		sum += *(const uint64_t *)at;
	inode->i_state = sum;
	return sum;
}

static void many(struct inode **own)
{
	for (long pass = 0; pass < operations; pass++)
		for (long i = 0; i < count; i++) {
			look_at(own[i]);
			CF_PROGRESS("inode");
		}
}

static bool is_small;

static void *task(void *argument)
{
	uint64_t number = (uint64_t)(uintptr_t)argument;
	struct inode **own = is_small ? NULL : calloc((size_t)count, sizeof(*own));
	struct area *areas = NULL;
	// One task after the other: so many at once would only wait for the slab's lock.
	pthread_mutex_lock(&setting_up);
	for (long i = 0; own && i < count; i++) {
		own[i] = cf_slab_alloc(&inodes);
		memset(own[i], 0, sizeof *own[i]);
	}
	pthread_mutex_unlock(&setting_up);
	pthread_barrier_wait(&begin);
	if (!number)
		CF_REGION_BEGIN();
	if (is_small)
		areas = small(number);
	else
		many(own);
	pthread_barrier_wait(&begin);
	if (!number)
		CF_REGION_END();
	pthread_mutex_lock(&setting_up);
	for (long i = 0; own && i < count; i++)
		cf_slab_free(&inodes, own[i]);
	pthread_mutex_unlock(&setting_up);
	free(own);
	free(areas);
	return NULL;
}

// The inode with this number in its slab: of its neighbours nobody is used.
static void find_hot(long index)
{
	struct inode *first = cf_slab_alloc(&inodes), *other = first;
	while ((long)((char *)other - (char *)first) != index * (long)inodes.stride)
		other = cf_slab_alloc(&inodes);
	memset(other, 0, sizeof *other);
	cf_rwsem_init(&other->i_data.i_mmap_rwsem);
	other->i_data.host = other;
	hot = other;
}

int main(int argc, char **argv)
{
	static pthread_t threads[MOST_TASKS];
	struct cf_slab_options options = { .name = "inode", .size = sizeof(struct inode), .cpus = 80 };
	long tasks = argc >= 5 ? atol(argv[2]) : 0;
	if (tasks < 1 || tasks > MOST_TASKS) {
		fprintf(stderr, "mapped small THREADS OPERATIONS INDEX WORK, or mapped many THREADS PASSES INODES\n");
		return 2;
	}
	is_small = argc == 6 && !strcmp(argv[1], "small");
	operations = atol(argv[3]);
	count = atol(argv[4]);
	between = argc == 6 ? strtoul(argv[5], NULL, 0) : 0;
#ifdef ALIGNED
	options.align = 64;
#endif
	if (cf_slab_init(&inodes, &options))
		return 1;
	if (is_small)
		find_hot(count);
	pthread_barrier_init(&begin, NULL, (unsigned)tasks);
	for (long i = 0; i < tasks; i++)
		pthread_create(&threads[i], NULL, task, (void *)(uintptr_t)i);
	for (long i = 0; i < tasks; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
