/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * rcu.h: between callbacks (rcu.c) and the thread that drives grace periods (rcu_driver.c).
 */
#ifndef KIT_SRC_VFS_RCU_H
#define KIT_SRC_VFS_RCU_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <corefold/cf_rcu.h>
#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* Grace periods by number: the last that began, and the last that has ended. Written by the driver. */
struct cf_rcu_periods {
	uint64_t begun CF_LINE_ALIGNED, ended;
};
extern struct cf_rcu_periods cf_rcu_periods;

/* Grace period `number` is wanted; urgent: at once, else within PAUSE_NS. Locks may be held. */
void cf_rcu_ask(uint64_t number, bool urgent);
/* `sweep` is called when a grace period has ended and nothing is urgent. Without a driver, nobody drives. */
void cf_rcu_start_driver(void (*sweep)(void));

#if CF_BUILT_SANITISED
extern char cf_rcu_ended_sections; /* for ThreadSanitizer alone */
#endif

#pragma GCC visibility pop

#if CF_BUILT_SANITISED
#include <sanitizer/tsan_interface.h>
#define SANITISED_RELEASE(p) __tsan_release(p)
#define SANITISED_ACQUIRE(p) __tsan_acquire(p)
#else
#define SANITISED_RELEASE(p) ((void)0)
#define SANITISED_ACQUIRE(p) ((void)0)
#endif

#endif
