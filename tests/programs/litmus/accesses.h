/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Accesses of one, two, four and eight bytes: plain ones (between barriers for the compiler), volatile, _Atomic, and inline
   assembly. A store has release order and a load acquire order, which any access of x86 has. */
#include <stdatomic.h>
#include <stdint.h>

enum kind { PLAIN, VOLATILE, ATOMIC, ASSEMBLY, KINDS };

#define COMPILER_BARRIER() __asm__ volatile("" ::: "memory")
/* A use of `each` for every type, whose objects may be parts of others. */
#define TYPES(each) each(byte) each(half) each(word) each(whole)
#define CASE(type, kind) case sizeof(type) * KINDS + kind

typedef uint8_t byte;
typedef uint16_t __attribute__((may_alias)) half;
typedef uint32_t __attribute__((may_alias)) word;
typedef uint64_t __attribute__((may_alias)) whole;

__attribute__((noinline)) static void put(void *at, unsigned size, whole value, enum kind kind)
{
	COMPILER_BARRIER();
	switch (size * KINDS + kind) {
#define PUT(type)                                                                                       \
	CASE(type, PLAIN):                                                                              \
		*(type *)at = (type)value;                                                              \
		break;                                                                                  \
	CASE(type, VOLATILE):                                                                           \
		*(volatile type *)at = (type)value;                                                     \
		break;                                                                                  \
	CASE(type, ATOMIC):                                                                             \
		atomic_store_explicit((_Atomic type *)at, (type)value, memory_order_release);           \
		break;                                                                                  \
	CASE(type, ASSEMBLY):                                                                           \
		__asm__ volatile("mov %1, %0" : "=m"(*(type *)at) : "q"((type)value) : "memory");       \
		break;
		TYPES(PUT)
	}
	COMPILER_BARRIER();
}

__attribute__((noinline)) static whole get(void *at, unsigned size, enum kind kind)
{
	whole value = 0;

	COMPILER_BARRIER();
	switch (size * KINDS + kind) {
#define GET(type)                                                                                       \
	CASE(type, PLAIN):                                                                              \
		value = *(type *)at;                                                                    \
		break;                                                                                  \
	CASE(type, VOLATILE):                                                                           \
		value = *(volatile type *)at;                                                           \
		break;                                                                                  \
	CASE(type, ATOMIC):                                                                             \
		value = atomic_load_explicit((_Atomic type *)at, memory_order_acquire);                 \
		break;                                                                                  \
	CASE(type, ASSEMBLY): {                                                                         \
		type found;                                                                             \
		__asm__ volatile("mov %1, %0" : "=q"(found) : "m"(*(type *)at) : "memory");             \
		value = found;                                                                          \
		break;                                                                                  \
	}
		TYPES(GET)
	}
	COMPILER_BARRIER();
	return value;
}

/* Stores by a locked operation: a seq_cst store is one, too. */
__attribute__((noinline)) static void put_locked(void *at, unsigned size, whole value, enum kind kind)
{
	switch (size * KINDS + kind) {
#define EXCHANGE(type)                                                                                  \
	CASE(type, PLAIN):                                                                              \
		__sync_lock_test_and_set((type *)at, (type)value);                                      \
		break;                                                                                  \
	CASE(type, VOLATILE):                                                                           \
		*(volatile _Atomic type *)at = (type)value;                                             \
		break;                                                                                  \
	CASE(type, ATOMIC):                                                                             \
		atomic_exchange((_Atomic type *)at, (type)value);                                       \
		break;                                                                                  \
	CASE(type, ASSEMBLY): {                                                                         \
		type old = (type)value;                                                                 \
		__asm__ volatile("xchg %0, %1" : "+q"(old), "+m"(*(type *)at) : : "memory");            \
		break;                                                                                  \
	}
		TYPES(EXCHANGE)
	}
}

/* A full fence. */
static void fence(enum kind kind)
{
	switch (kind) {
	case PLAIN:
		__sync_synchronize();
		break;
	case VOLATILE:
		__asm__ volatile("lock; orl $0, (%%rsp)" ::: "memory", "cc");
		break;
	case ATOMIC:
		atomic_thread_fence(memory_order_seq_cst);
		break;
	default:
		__asm__ volatile("mfence" ::: "memory");
	}
}
