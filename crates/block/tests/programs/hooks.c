/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The hooks that the instrumented loops call: block heads and atomic operations are recorded. With EACH, as
 * where blocks have no hooks, every hook is: 2, 3 or 4 and the return addresses that `trail` is to be told. */
typedef unsigned long u64;

extern void record(u64 event);
int recording;

void __sanitizer_cov_trace_pc(void)
{
	if (recording)
		record((u64)__builtin_return_address(0));
}

#ifdef EACH
static __attribute__((noinline)) void passed(u64 what, void *pc, void *returns_to)
{
	if (!recording)
		return;
	record(what);
	record((u64)pc);
	if (returns_to)
		record((u64)returns_to);
}
#define PASSED(what, returns_to) passed(what, __builtin_return_address(0), returns_to)
#else
#define PASSED(what, returns_to) (void)0
#endif

static void atomic(void)
{
	if (recording)
		record(1);
}

u64 __tsan_atomic64_fetch_add(volatile u64 *at, u64 by, int order)
{
	(void)order;
	PASSED(4, 0);
	atomic();
	return __atomic_fetch_add(at, by, __ATOMIC_SEQ_CST);
}

/* Loads and stores that are relaxed cost the model nothing more than plain ones: not recorded. */
u64 __tsan_atomic64_load(const volatile u64 *at, int order)
{
	(void)order;
	PASSED(4, 0);
	return __atomic_load_n(at, __ATOMIC_SEQ_CST);
}

int __tsan_atomic64_compare_exchange_strong(volatile u64 *at, u64 *old, u64 new, int order, int failed)
{
	(void)order, (void)failed;
	PASSED(4, 0);
	atomic();
	return __atomic_compare_exchange_n(at, old, new, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

u64 __tsan_atomic64_compare_exchange_val(volatile u64 *at, u64 old, u64 new, int order, int failed)
{
	(void)order, (void)failed;
	PASSED(4, 0);
	atomic();
	__atomic_compare_exchange_n(at, &old, new, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return old;
}

/* Ahead of a compare-and-swap that the program has itself. */
void __corefold_atomic_store(u64 at)
{
	(void)at;
	PASSED(4, 0);
	atomic();
}

static void *frames[64], **frame = frames;

void __tsan_init(void) {}

void __tsan_func_entry(void *returns_to)
{
	*frame++ = returns_to;
	PASSED(2, returns_to);
}

void __tsan_func_exit(void)
{
	frame--;
	PASSED(3, *frame);
}

#define NOTHING(name) void name(void *at) { (void)at; PASSED(4, 0); }
NOTHING(__tsan_read1)
NOTHING(__tsan_read2)
NOTHING(__tsan_read4)
NOTHING(__tsan_read8)
NOTHING(__tsan_read16)
NOTHING(__tsan_write1)
NOTHING(__tsan_write2)
NOTHING(__tsan_write4)
NOTHING(__tsan_write8)
NOTHING(__tsan_write16)
NOTHING(__tsan_volatile_read8)
NOTHING(__tsan_volatile_write8)
NOTHING(__tsan_unaligned_read4)
NOTHING(__tsan_unaligned_read8)
NOTHING(__tsan_unaligned_read16)
NOTHING(__tsan_unaligned_write4)
NOTHING(__tsan_unaligned_write8)
NOTHING(__tsan_unaligned_write16)

#define COPYING(name, source, filled) \
	void *__tsan_##name(void *to, source, u64 size) { PASSED(4, 0); return __builtin_##name(to, filled, size); }
COPYING(memcpy, const void *from, from)
COPYING(memmove, const void *from, from)
COPYING(memset, int byte, byte)
