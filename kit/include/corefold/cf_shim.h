/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_shim.h: the one place that knows how this translation unit is compiled and run.
 *
 *   native      restartable sequences in assembly; the kernel aborts them at a preemption
 *   simulated   built by `corefold cc`: no assembly, since hooks may be put around its instructions.
 *               A function without hooks is atomic in simulation, where threads change only at hooks
 *   sanitised   ThreadSanitizer sees no assembly: atomics everywhere
 *
 * What a unit can do is decided here, at compile time; which way is taken is the library's choice, once, at run
 * time (cf_cpu.h), so that units built in different ways can share a counter.
 *
 * Not for users: everything here may change.
 */
#ifndef COREFOLD_CF_SHIM_H
#define COREFOLD_CF_SHIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define CF_STATIC_ASSERT static_assert
/* Functions that fill a structure have its name, as stat(2): gcc's -Wshadow takes that for a hidden constructor. */
#define CF_EXTERN_BEGIN                                                                                                \
	_Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wshadow\"") extern "C" {
#define CF_EXTERN_END                                                                                                  \
	}                                                                                                              \
	_Pragma("GCC diagnostic pop")
#else
#define CF_STATIC_ASSERT _Static_assert
#define CF_EXTERN_BEGIN
#define CF_EXTERN_END
#endif

/* The size of a cache line. On machines with longer lines slots share one: slower, but correct. */
#define CF_LINE 64
#define CF_LINE_ALIGNED __attribute__((aligned(CF_LINE)))

/* Through an empty statement, or the compiler would know the answer from the type. */
#define CF_IS_ALIGNED(p)                                                                                               \
	__extension__({                                                                                                \
		const void *p_ = (p);                                                                                  \
		__asm__("" : "+r"(p_));                                                                               \
		(uintptr_t)p_ % CF_LINE == 0;                                                                          \
	})

#define CF_LIKELY(x) __builtin_expect(!!(x), 1)
#define CF_UNLIKELY(x) __builtin_expect(!!(x), 0)

#ifndef __has_feature
#define __has_feature(x) 0
#endif

/* The three ways, one of which is 1. */
#if defined(__COREFOLD__)
#define CF_BUILT_SIMULATED 1
#define CF_BUILT_SANITISED 0
#elif defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define CF_BUILT_SIMULATED 0
#define CF_BUILT_SANITISED 1
#else
#define CF_BUILT_SIMULATED 0
#define CF_BUILT_SANITISED 0
#endif
#if !CF_BUILT_SIMULATED && !CF_BUILT_SANITISED && defined(__x86_64__) && defined(__LP64__) && defined(__linux__)
#define CF_BUILT_RSEQ 1
#else
#define CF_BUILT_RSEQ 0
#endif

/* Whether waiters of locks sleep in the end. The simulator's scheduler is fair and has no priorities: there they yield. */
#ifndef CF_LOCK_PARKS
#define CF_LOCK_PARKS (!CF_BUILT_SIMULATED)
#endif

/* Code without hooks, and macros that declare its memory accesses. */
#if CF_BUILT_SIMULATED
#include <corefold.h>
#if defined(__clang__)
#define CF_UNHOOKED __attribute__((noinline, no_sanitize("thread"), no_sanitize("coverage")))
#else
#define CF_UNHOOKED __attribute__((noinline, no_sanitize_thread, no_sanitize_coverage))
#endif
#define CF_SEEN_READ(p, n) COREFOLD_ACCESS_READ(p, n)
#define CF_SEEN_WRITE(p, n) COREFOLD_ACCESS_WRITE(p, n)
#endif

/* Marks for the simulator: a unit of work is done; the region of interest begins and ends; the name of an object in
 * memory. */
#if CF_BUILT_SIMULATED
#define CF_PROGRESS(name) COREFOLD_PROGRESS(name)
#define CF_REGION_BEGIN() COREFOLD_BEGIN()
#define CF_REGION_END() COREFOLD_END()
#define CF_OBJECTS(address, bytes, stride, name) COREFOLD_OBJECTS(address, bytes, stride, name)
#else
#define CF_PROGRESS(name) ((void)0)
#define CF_REGION_BEGIN() ((void)0)
#define CF_REGION_END() ((void)0)
#define CF_OBJECTS(address, bytes, stride, name) ((void)0)
#endif

/*
 * A point between two steps whose order matters, where a test can stop one thread while others run. It is empty unless
 * the kit is compiled with CF_TEST_POINTS, by a test that defines the function.
 */
#ifdef CF_TEST_POINTS
CF_EXTERN_BEGIN
void cf_test_point(const char *where);
CF_EXTERN_END
#define CF_TEST_POINT(where) cf_test_point(where)
#else
#define CF_TEST_POINT(where) ((void)0)
#endif

/* A lock is released here: a bench that is built with CF_LOCK_EVENTS defines the function and counts by caller. */
#ifdef CF_LOCK_EVENTS
CF_EXTERN_BEGIN
void cf_lock_event(const char *primitive);
CF_EXTERN_END
#define CF_LOCK_RELEASED(primitive) cf_lock_event(primitive)
#else
#define CF_LOCK_RELEASED(primitive) ((void)0)
#endif

/*
 * A load that comes before the loads behind it. On x86-64 every load does, once the compiler keeps the order; elsewhere
 * an acquire load. Said so here because the simulator, like some machines, lets plain loads overlap and acquire loads not.
 * Tests cannot tell: no compiler of today moves atomic loads, and only weaker machines (arm64, RISC-V) have the other branch.
 */
static inline uint64_t cf_load_in_order(const uint64_t *p)
{
#if defined(__x86_64__)
	uint64_t value = __atomic_load_n(p, __ATOMIC_RELAXED);
	__asm__ volatile("" ::: "memory");
	return value;
#else
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
#endif
}

/*
 * Loads before from loads after; stores before from stores after. On x86-64 the compiler alone could mix them up; on aarch64
 * (and other machines weaker than x86) the instruction is needed: x86 cannot tell, its build has no fence. Not by
 * __atomic_thread_fence on x86-64, of which gcc warns where it builds for ThreadSanitizer or corefold.
 */
static inline void cf_fence_loads(void)
{
#if defined(__x86_64__)
	__asm__ volatile("" ::: "memory");
#else
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
}

/* As above: x86 cannot tell, aarch64 can. */
static inline void cf_fence_stores(void)
{
#if defined(__x86_64__)
	__asm__ volatile("" ::: "memory");
#else
	__atomic_thread_fence(__ATOMIC_RELEASE);
#endif
}

static inline void cf_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb" ::: "memory");
#endif
}

#endif
