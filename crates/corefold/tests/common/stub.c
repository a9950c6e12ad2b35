/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A runtime that simulates nothing: the hooks do nothing, and the file that STUB_RUN names becomes the
 * engine's recording. It stands in for the engine where the command around it is tested.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HOOK(name) void name(void) {}
HOOK(__tsan_init) HOOK(__tsan_func_entry) HOOK(__tsan_func_exit) HOOK(__sanitizer_cov_trace_pc)
HOOK(__tsan_read1) HOOK(__tsan_read2) HOOK(__tsan_read4) HOOK(__tsan_read8) HOOK(__tsan_read16)
HOOK(__tsan_write1) HOOK(__tsan_write2) HOOK(__tsan_write4) HOOK(__tsan_write8) HOOK(__tsan_write16)
HOOK(__tsan_vptr_update) HOOK(__tsan_vptr_read) HOOK(__tsan_atomic_thread_fence)

/* What inlined hooks call where they have work to do, and the memory that they look at. */
HOOK(corefold_shadow_read1) HOOK(corefold_shadow_read2) HOOK(corefold_shadow_read4) HOOK(corefold_shadow_read8)
HOOK(corefold_shadow_read16) HOOK(corefold_shadow_write1) HOOK(corefold_shadow_write2) HOOK(corefold_shadow_write4)
HOOK(corefold_shadow_write8) HOOK(corefold_shadow_write16) HOOK(corefold_block_unknown) HOOK(corefold_block_limit)

static unsigned long frame;

__attribute__((constructor)) static void map_what_hooks_see(void)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
	unsigned long *hot = mmap((void *)0x100000, 4096, PROT_READ | PROT_WRITE, flags, -1, 0);
	void *shadow = mmap((void *)0x7f000000, 1ul << 43, PROT_READ, flags, -1, 0);
	if (hot == MAP_FAILED || shadow == MAP_FAILED)
		_exit(98);
	hot[4] = (unsigned long)&frame; /* the stack of return addresses, which does not grow */
}

int __tsan_atomic32_fetch_add(int *p, int v, int order)
{
	(void)order;
	*p += v;
	return *p - v;
}

int stub_progress;

void corefold_progress(const char *name)
{
	(void)name;
	stub_progress++;
}

/* N.launch lies beside N.run. */
__attribute__((destructor)) static void leave_recording(void)
{
	const char *launch = getenv("COREFOLD_LAUNCH"), *run = getenv("STUB_RUN");
	char to[4096], bytes[65536];

	if (!launch || !run || strlen(launch) >= sizeof(to))
		return;
	strcpy(to, launch);
	strcpy(strrchr(to, '.'), ".run");
	int in = open(run, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	ssize_t n = read(in, bytes, sizeof(bytes));
	if (n < 0 || write(out, bytes, n) != n)
		_exit(99);
	close(in);
	close(out);
}
