// SPDX-License-Identifier: MIT OR Apache-2.0
// The model against the real kernel's tmpfs: the same random calls, the same results. Seeds are independent; each runs in a
// child of its own, since its root directory is changed. Left out, since they are the implementation's: positions in directories,
// how full a pipe gets, inode numbers, sizes of directories. A time has changed since it was seen last in both, or in neither
// (where the kernel has fine-grained time stamps: Linux 6.13).
#include "threads.h"
#include "model/kernel.h"
#include "model/random_calls.h"

#include <sys/utsname.h>
#include <sys/wait.h>

enum { FDS_OF_TASK = 200, SKIPPED = 77 };

static const struct cred creds[MODEL_TASKS] = { { 0, 0, { 0 }, 0 }, { 1000, 1000, { 50 }, 1 }, { 1001, 1001, { 50 }, 1 } };

static bool guards_links(void)
{
	FILE *file = fopen("/proc/sys/fs/protected_hardlinks", "r");
	int on = file && fgetc(file) == '1';
	if (file)
		fclose(file);
	return on;
}

static bool has_fine_times(void)
{
	struct utsname name;
	int major = 0, minor = 0;
	return uname(&name) == 0 && sscanf(name.release, "%d.%d", &major, &minor) == 2 && major * 100 + minor >= 613;
}

static int compare(uint64_t seed, long calls)
{
	static struct random_calls random;
	struct model_options options = { .fds = FDS_OF_TASK, .root_mode = 0777, .guard_links = guards_links() };
	struct lockstep lockstep = { .small_pipes = true, .tmpfs = true, .looks = true, .changes = has_fine_times() };
	const char *why;
	bool same;
	signal(SIGPIPE, SIG_IGN);
	memcpy(options.creds, creds, sizeof creds);
	random = (struct random_calls){ .state = seed, .fds = 30, .largest = 20000, .rare_offsets = true, .rare_times = true };
	lockstep.other = (struct implementation){ "kernel", kernel_new(creds, 0777, FDS_OF_TASK, &why), kernel_call };
	if (!lockstep.other.self) {
		skip(why);
		return SKIPPED;
	}
	lockstep.model = model_new(&options);
	same = lockstep_run(&lockstep, &random, calls);
	if (!same)
		fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
	for (int op = 0; getenv("CF_TEST_SHOW") && op < OPS; op++)
		fprintf(stderr, "op %d: %llu succeeded, %llu failed\n", op, (unsigned long long)lockstep.successes[op],
			(unsigned long long)lockstep.errors[op]);
	lockstep_free(&lockstep);
	model_free(lockstep.model);
	return same ? 0 : 1;
}

TEST("the model does what the kernel does")
{
	const char *only = getenv("CF_TEST_SEED");
	for (uint64_t seed = only ? (uint64_t)atoll(only) : 1; seed <= (only ? (uint64_t)atoll(only) : 4); seed++) {
		int status;
		pid_t child = fork();
		if (child == 0)
			exit(compare(seed, scaled(5000)));
		waitpid(child, &status, 0);
		CHECK(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == SKIPPED));
	}
}

VFS_MAIN
