/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Mappings of all kinds hold what they should; how long the program works depends on their addresses. */
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096UL
#define RW (PROT_READ | PROT_WRITE)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)

static volatile unsigned long sink;

static void work(uintptr_t address)
{
	for (unsigned long i = 0; i < address / PAGE % 1000; i++)
		sink += i;
}

static char *map(size_t bytes)
{
	char *at = mmap(NULL, bytes, RW, ANON, -1, 0);

	CHECK(at != MAP_FAILED && (uintptr_t)at % PAGE == 0);
	work((uintptr_t)at);
	return at;
}

/* Is something mapped there? */
static int is_mapped(void *page)
{
	unsigned char resident;

	return mincore(page, PAGE, &resident) == 0;
}

static void anonymous(void)
{
	char *a = map(10 * PAGE), *b = map(3 * PAGE - 5), *c = map(1 << 22);

	for (size_t i = 0; i < 10 * PAGE; i++)
		CHECK(a[i] == 0);
	memset(a, 1, 10 * PAGE);
	memset(b, 2, 3 * PAGE);
	memset(c, 3, 1 << 22);
	CHECK(a[10 * PAGE - 1] == 1 && b[0] == 2 && b[3 * PAGE - 1] == 2 && c[0] == 3);
	CHECK(munmap(a + 2 * PAGE, 3 * PAGE) == 0);
	CHECK(a[2 * PAGE - 1] == 1 && a[5 * PAGE] == 1);
	char *d = map(2 * PAGE);
	CHECK(d[0] == 0 && d[2 * PAGE - 1] == 0);
	CHECK(munmap(a, 10 * PAGE) == 0 || errno == EINVAL);
	CHECK(munmap(b, 3 * PAGE) == 0 && munmap(c, 1 << 22) == 0);
	CHECK(munmap(a + 1, PAGE) == -1 && errno == EINVAL);
	CHECK(munmap(a, 0) == -1 && errno == EINVAL);
	CHECK(mmap(NULL, 0, RW, ANON, -1, 0) == MAP_FAILED && errno == EINVAL);
	CHECK(mmap(NULL, PAGE, RW, MAP_PRIVATE, -1, 0) == MAP_FAILED && errno == EBADF);
	CHECK(mmap(NULL, (size_t)1 << 60, RW, ANON, -1, 0) == MAP_FAILED && errno == ENOMEM);
}

static void fixed(void)
{
	char *all = mmap(NULL, 16 * PAGE, PROT_NONE, ANON | MAP_NORESERVE, -1, 0);

	CHECK(all != MAP_FAILED);
	char *part = mmap(all + 4 * PAGE, 2 * PAGE, RW, ANON | MAP_FIXED, -1, 0);
	CHECK(part == all + 4 * PAGE);
	memset(part, 5, 2 * PAGE);
	CHECK(mmap(part, PAGE, RW, ANON | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED && errno == EEXIST);
	CHECK(part[0] == 5);
	CHECK(mprotect(all, PAGE, RW) == 0);
	all[0] = 6;
	CHECK(madvise(part, PAGE, MADV_DONTNEED) == 0 && part[0] == 0 && part[PAGE] == 5);
	CHECK(munmap(all, 16 * PAGE) == 0);
	CHECK(mmap(part, PAGE, RW, ANON | MAP_FIXED_NOREPLACE, -1, 0) == part && part[0] == 0);
	CHECK(munmap(part, PAGE) == 0);
	char *hint = mmap(part, PAGE, RW, ANON, -1, 0);
	CHECK(hint == part && munmap(hint, PAGE) == 0);
	char *far = mmap((void *)0x123450000000, PAGE, RW, ANON, -1, 0);
	CHECK(far != MAP_FAILED && munmap(far, PAGE) == 0);
}

static void moved(void)
{
	char *a = map(4 * PAGE), *after = map(PAGE);

	memset(a, 7, 4 * PAGE);
	after[0] = 8;
	char *b = mremap(a, 4 * PAGE, 64 * PAGE, MREMAP_MAYMOVE);
	CHECK(b != MAP_FAILED && b[0] == 7 && b[4 * PAGE - 1] == 7 && b[4 * PAGE] == 0);
	work((uintptr_t)b);
	b[64 * PAGE - 1] = 9;
	CHECK(mremap(b, 64 * PAGE, 2 * PAGE, 0) == b && b[2 * PAGE - 1] == 7 && after[0] == 8);
	char *c = map(8 * PAGE);
	CHECK(mremap(b, 2 * PAGE, 3 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, c) == c);
	CHECK(c[0] == 7 && c[2 * PAGE] == 0);
	CHECK(!is_mapped(b) || simulated());
	CHECK(munmap(c, 8 * PAGE) == 0 && munmap(after, PAGE) == 0);
}

static void files(void)
{
	char name[] = "/tmp/maps-XXXXXX";
	int fd = mkstemp(name);

	CHECK(fd >= 0 && unlink(name) == 0 && ftruncate(fd, 5 * PAGE) == 0);
	char *shared = mmap(NULL, 5 * PAGE, RW, MAP_SHARED, fd, 0);
	char *private = mmap(NULL, PAGE, RW, MAP_PRIVATE, fd, 2 * PAGE);
	CHECK(shared != MAP_FAILED && private != MAP_FAILED);
	work((uintptr_t)shared);
	work((uintptr_t)private);
	strcpy(shared + 2 * PAGE, "shared");
	CHECK(strcmp(private, "shared") == 0);
	strcpy(private, "private");
	CHECK(strcmp(shared + 2 * PAGE, "shared") == 0);
	char text[8];
	CHECK(pread(fd, text, 7, 2 * PAGE) == 7 && strcmp(text, "shared") == 0);
	CHECK(pwrite(fd, "SHARED", 6, 2 * PAGE) == 6 && strcmp(shared + 2 * PAGE, "SHARED") == 0);
	CHECK(msync(shared, 5 * PAGE, MS_SYNC) == 0);
	char *grown = mremap(shared, 5 * PAGE, 40 * PAGE, MREMAP_MAYMOVE);
	CHECK(grown != MAP_FAILED && ftruncate(fd, 40 * PAGE) == 0);
	CHECK(strcmp(grown + 2 * PAGE, "SHARED") == 0);
	grown[39 * PAGE] = 1;
	CHECK(munmap(grown, 40 * PAGE) == 0 && munmap(private, PAGE) == 0 && close(fd) == 0);
}

static void *churn(void *seed)
{
	char *live[16] = { 0 };
	unsigned random = (unsigned)(long)seed * 2654435761u + 1;

	for (int i = 0; i < 400; i++) {
		random = random * 1664525 + 1013904223;
		size_t slot = random >> 20 & 15, pages = (slot & 7) + 1;

		if (live[slot]) {
			for (size_t at = 0; at < pages * PAGE; at += PAGE)
				CHECK(live[slot][at] == (char)(slot + 1));
			CHECK(munmap(live[slot], pages * PAGE) == 0);
			live[slot] = NULL;
		} else {
			live[slot] = map(pages * PAGE);
			for (size_t at = 0; at < pages * PAGE; at += PAGE) {
				CHECK(live[slot][at] == 0);
				live[slot][at] = (char)(slot + 1);
			}
		}
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[4];

	anonymous();
	fixed();
	moved();
	files();
	for (long i = 0; i < 4; i++)
		CHECK(pthread_create(&threads[i], NULL, churn, (void *)i) == 0);
	for (int i = 0; i < 4; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	void *heap = sbrk(PAGE);
	CHECK(heap != (void *)-1);
	puts("mappings are right");
	return 0;
}
