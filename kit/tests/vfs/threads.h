/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * threads.h: for tests of what reads by RCU: VFS_MAIN instead of HARNESS_MAIN, and vfs_crew instead of crew_run, register
 * their threads.
 */
#ifndef KIT_TESTS_VFS_THREADS_H
#define KIT_TESTS_VFS_THREADS_H

#include "../hold.h"
#include <corefold/cf_rcu.h>

/* ThreadSanitizer sees libc's calls in liburcu, but not its atomics: what it makes of that is not reported. */
#if CF_BUILT_SANITISED
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "ignore_noninstrumented_modules=1";
}
#endif

struct vfs_crew {
	void (*work)(int id, void *shared);
	void *shared;
};

static inline void vfs_work(int id, void *argument)
{
	struct vfs_crew *crew = argument;
	cf_rcu_register_thread();
	crew->work(id, crew->shared);
	cf_rcu_unregister_thread();
}

static inline void vfs_crew(int size, void (*work)(int id, void *shared), void *shared)
{
	struct vfs_crew crew = { work, shared };
	crew_run(size, false, vfs_work, &crew);
}

#define VFS_MAIN                                                                                                       \
	int main(void)                                                                                                 \
	{                                                                                                              \
		int failed;                                                                                            \
		cf_rcu_register_thread();                                                                              \
		failed = run_tests();                                                                                  \
		cf_rcu_unregister_thread();                                                                            \
		return failed;                                                                                         \
	}

#endif
