// SPDX-License-Identifier: MIT OR Apache-2.0
#include <corefold/cf_percpu_counter.h>

#include "section.h"

#include <errno.h>

/*
 * limited_add without a look at the count: the quota. Two invariants keep it exact; tests/windows.c holds each step apart
 * from the next ("percpu: ...").
 *   A. Permits say QUOTA only while count >= guard + bound x slots. A delta is above -bound, so the value is above the
 *      guard whatever the deltas are, and a slot may take for any limit up to the guard.
 *   B. A limited_add that decides by a sum first withdraws the quota: permits to OPEN, so that no limited_add that begins
 *      later takes in its slot; then a fence, so that those that had read the old permit have stored or start again. From
 *      then on all limited adds wait for the lock, and plain adds alone change deltas. They may go up while the sum is
 *      made: then the value is at least the sum, and what the sum affords, the value does. Those that go down count as
 *      before or after (guarantee 4).
 * The quota is also withdrawn before the count falls below guard + bound x slots, and before the bound rises.
 */

// What a permit lets pass: nothing; plain adds; limited adds too.
enum { CLOSED = 0, OPEN = INT32_MAX, QUOTA = -1 };
// Whether permits say QUOTA: no; yes; not any more, but a limited_add that read one may still be about to store.
enum { NO_QUOTA = 0, HAS_QUOTA = 1, WITHDRAWN = 2 };

// Never a limit that anybody gave: there is no quota yet.
#define NO_GUARD INT64_MIN

static int32_t default_batch(void)
{
	uint32_t twice = 2 * cf_cpu_count();
	return twice > 32 ? (int32_t)twice : 32;
}

static void set_permits(struct cf_percpu_counter *c, int32_t permit)
{
	for (uint32_t cpu = 0; cpu < cf_slot_count(); cpu++)
		cf_slot_permit_set(&c->slots[cpu], permit);
}

int cf_percpu_counter_init_with(struct cf_percpu_counter *c, int64_t value, const struct cf_percpu_options *options)
{
	enum { MORE_THAN_32 = 33 };
	if (!c || !CF_IS_ALIGNED(c) || !options || !cf_value_fits(value) || options->batch < 0)
		return -EINVAL;
	*c = (struct cf_percpu_counter){ .guard = NO_GUARD };
	c->slots = cf_slots_new();
	if (!c->slots)
		return -ENOMEM;
	c->batch = options->batch ? options->batch : default_batch();
	c->bound = c->batch;
	c->many_cpus = options->many_cpus ? options->many_cpus : MORE_THAN_32;
	c->count = value;
	cf_lock_init(&c->lock, options->lock);
	set_permits(c, OPEN);
	return 0;
}

int cf_percpu_counter_init(struct cf_percpu_counter *c, int64_t value)
{
	const struct cf_percpu_options options = { 0, 0, CF_LOCK_QUEUED };
	return cf_percpu_counter_init_with(c, value, &options);
}

void cf_percpu_counter_destroy(struct cf_percpu_counter *c)
{
	if (!c)
		return;
	cf_slots_free(c->slots);
	c->slots = NULL;
}

// The most by which the deltas together can differ from zero.
static int64_t spread(const struct cf_percpu_counter *c)
{
	return c->global ? 0 : (int64_t)c->bound * cf_slot_count();
}

// Relaxed, here and in set_global__: writers hold the lock, readers outside of it ask no order.
static void store_count(struct cf_percpu_counter *c, int64_t count)
{
	__atomic_store_n(&c->count, count, __ATOMIC_RELAXED);
}

static void set_global__(struct cf_percpu_counter *c, bool global)
{
	__atomic_store_n(&c->global, (uint32_t)global, __ATOMIC_RELAXED);
}

// All deltas, beside fast paths that go on. Caller holds the lock.
static int64_t sum_deltas__(const struct cf_percpu_counter *c)
{
	int64_t sum = 0;
	if (c->global)
		return 0;
	for (uint32_t cpu = 0; cpu < cf_slot_count(); cpu++) {
		sum += cf_slot_delta(cf_slot_word_load(&c->slots[cpu]));
		CF_TEST_POINT("percpu: summing");
	}
	return sum;
}

static void start__(struct cf_percpu_counter *c)
{
	if (!c->global)
		set_permits(c, OPEN);
}

// No fast path changes a slot from here on; all deltas are in the count. Caller holds the lock. 0 or -errno: nothing done.
static int stop__(struct cf_percpu_counter *c)
{
	int64_t sum = 0;
	int result;
	set_permits(c, CLOSED);
	CF_TEST_POINT("percpu: closed");
	result = cf_cpu_fence(-1); // permits before takes: cf_cpu.h, ordering 2
	if (result) {
		c->quota = c->quota == NO_QUOTA ? NO_QUOTA : WITHDRAWN;
		start__(c);
		return result;
	}
	for (uint32_t cpu = 0; cpu < cf_slot_count(); cpu++)
		sum += cf_slot_delta_take(&c->slots[cpu]);
	store_count(c, c->count + sum);
	c->quota = NO_QUOTA;
	return 0;
}

// No limited_add that begins from here on takes in its slot.
static void withdraw__(struct cf_percpu_counter *c)
{
	if (c->quota != HAS_QUOTA)
		return;
	c->quota = WITHDRAWN;
	set_permits(c, OPEN);
	CF_TEST_POINT("percpu: withdrawn");
}

// Nor does one that began before (invariant B). 0 or -errno: it may.
static int withdraw_and_wait__(struct cf_percpu_counter *c)
{
	int result;
	withdraw__(c);
	if (c->quota == NO_QUOTA)
		return 0;
	result = cf_cpu_fence(-1); // permits before what comes
	if (result == 0)
		c->quota = NO_QUOTA;
	return result;
}

// Before the count becomes `count` (invariant A).
static void withdraw_below__(struct cf_percpu_counter *c, int64_t count)
{
	// Where the fence fails, a limited_add that began before this call may come after it: as if it had come before.
	if (c->quota == HAS_QUOTA && count < c->guard + spread(c))
		(void)withdraw_and_wait__(c);
}

// After the count has grown. Twice the distance that is needed, so as not to come and go.
static void give_quota__(struct cf_percpu_counter *c)
{
	if (c->quota == HAS_QUOTA || c->global || c->guard == NO_GUARD || c->count < c->guard + 2 * spread(c))
		return;
	c->quota = HAS_QUOTA;
	set_permits(c, QUOTA);
}

static void leave_global__(struct cf_percpu_counter *c)
{
	set_global__(c, false);
	set_permits(c, OPEN);
}

// The delta of the CPU that this runs on goes into the count with `amount`. Caller holds the lock.
static int fold__(struct cf_percpu_counter *c, int64_t amount)
{
	enum { TRIES = 100 };
	int64_t count;
	uint32_t cpu;
	int32_t delta;
	int tries = 0;
	if (!cf_value_fits(amount) || !cf_value_add(c->count, amount, &count))
		return -ERANGE;
	do { // a thread that is interrupted at every try folds the last slot, as any other does
		cpu = tries++ < TRIES ? cf_cpu_current() : cf_slot_count() - 1;
		delta = cf_slot_delta(cf_slot_word_load(&c->slots[cpu]));
		if (!cf_value_add(c->count + delta, amount, &count))
			return -ERANGE;
		withdraw_below__(c, count);
		CF_TEST_POINT("percpu: folding");
	} while (cf_slot_replace(c->slots, cpu, delta, 0) != CF_SLOT_DONE);
	store_count(c, count);
	if (c->global && (count > c->limit || count < -c->limit))
		leave_global__(c);
	give_quota__(c);
	return 0;
}

// A quota that stands was given for smaller deltas. Caller holds the lock.
static void raise_bound__(struct cf_percpu_counter *c, int32_t batch)
{
	if (batch <= c->bound)
		return;
	withdraw__(c);
	// Release: permits before the bound that lets larger deltas be. x86 cannot tell, its stores stay in order; arm64 and
	// RISC-V need it.
	__atomic_store_n(&c->bound, batch, __ATOMIC_RELEASE);
}

int cf_percpu_counter_add_slow(struct cf_percpu_counter *c, int64_t amount, int32_t batch)
{
	struct cf_lock_node node;
	int result = 0;
	if (batch > __atomic_load_n(&c->bound, __ATOMIC_RELAXED)) { // relaxed: looked at again under the lock
		CF_TEST_POINT("percpu: larger batch");
		if (!cf_section_begin(&c->lock, &node))
			return -EDEADLK;
		raise_bound__(c, batch);
		cf_section_end(&c->lock, &node);
		if (cf_slot_add_within(c->slots, amount, batch) == CF_SLOT_DONE)
			return 0;
	}
	if (!cf_section_begin(&c->lock, &node))
		return -EDEADLK;
	result = fold__(c, amount);
	cf_section_end(&c->lock, &node);
	return result;
}

int cf_percpu_counter_set(struct cf_percpu_counter *c, int64_t value)
{
	struct cf_lock_node node;
	int result;
	if (!cf_value_fits(value))
		return -ERANGE;
	if (!cf_section_begin(&c->lock, &node))
		return -EDEADLK;
	result = stop__(c);
	if (result == 0) {
		store_count(c, value);
		start__(c);
	}
	cf_section_end(&c->lock, &node);
	return result;
}

// Returns whether the counter is global now, or -errno.
static int set_limit__(struct cf_percpu_counter *c, int64_t limit)
{
	int result = stop__(c);
	if (result)
		return result;
	c->limit = limit;
	set_global__(c, c->count <= limit && c->count >= -limit);
	start__(c);
	return (int)c->global;
}

int cf_percpu_counter_set_limit(struct cf_percpu_counter *c, int64_t percpu_limit)
{
	struct cf_lock_node node;
	int64_t limit;
	int result = 0;
	if (percpu_limit < 0)
		return -EINVAL;
	if (percpu_limit == 0)
		percpu_limit = default_batch();
	if (__builtin_mul_overflow(percpu_limit, (int64_t)cf_cpu_count(), &limit))
		limit = CF_VALUE_MAX;
	if (!cf_section_begin(&c->lock, &node))
		return -EDEADLK;
	if (c->count + sum_deltas__(c) == 0)
		result = -EINVAL;
	else if (cf_cpu_count() >= c->many_cpus)
		result = set_limit__(c, limit);
	cf_section_end(&c->lock, &node);
	return result;
}

int64_t cf_percpu_counter_sum(struct cf_percpu_counter *c)
{
	struct cf_lock_node node;
	int64_t sum;
	// In a signal handler beside its own thread's section: as things stand there.
	bool locked = cf_section_begin(&c->lock, &node);
	sum = c->count + sum_deltas__(c);
	if (locked)
		cf_section_end(&c->lock, &node);
	return sum;
}

int cf_percpu_counter_compare_batch(struct cf_percpu_counter *c, int64_t rhs, int32_t batch)
{
	// Acquire: count before global. A counter that turned per-CPU in between was exact when this was read. x86 cannot tell,
	// its loads stay in order; arm64 and RISC-V need it.
	int64_t count = __atomic_load_n(&c->count, __ATOMIC_ACQUIRE);
	int32_t bound = __atomic_load_n(&c->bound, __ATOMIC_RELAXED); // relaxed: an add that raises it and is not over counts as after
	uint64_t rough = (uint64_t)(batch > bound ? batch : bound) * cf_slot_count();
	if (__atomic_load_n(&c->global, __ATOMIC_RELAXED) || cf_value_distance(count, rhs) > rough)
		return cf_value_order(count, rhs);
	return cf_value_order(cf_percpu_counter_sum(c), rhs);
}

// Whether the value may fall by -amount: 0, -ENOSPC, or -errno for "cannot tell". Caller holds the lock: the count stands.
static int may_fall__(struct cf_percpu_counter *c, int64_t limit, int64_t amount)
{
	int64_t after = c->count + amount;
	int result;
	if (after - spread(c) >= limit)
		return 0; // whatever the deltas are
	if (after + spread(c) < limit)
		return -ENOSPC;
	result = withdraw_and_wait__(c); // invariant B
	if (result)
		return result;
	return after + sum_deltas__(c) >= limit ? 0 : -ENOSPC;
}

// Limited adds beside this one, whether in their slots or not, take the value away from this limit.
static int may_grow__(const struct cf_percpu_counter *c, int64_t limit, int64_t amount)
{
	int64_t after = c->count + amount;
	return after + spread(c) <= limit || after + sum_deltas__(c) <= limit ? 0 : -ENOSPC;
}

static void raise_guard__(struct cf_percpu_counter *c, int64_t limit)
{
	if (limit <= c->guard)
		return;
	// A quota that stands holds for the new guard: the count is as far above it as all deltas can be (may_fall__), or there
	// is none. Release: who takes for the new guard finds a permit of now, not one that the old guard gave.
	// x86 cannot tell, its stores stay in order; arm64 and RISC-V need it.
	__atomic_store_n(&c->guard, limit, __ATOMIC_RELEASE);
}

static int limited_add__(struct cf_percpu_counter *c, int64_t limit, int64_t amount)
{
	int result = amount < 0 ? may_fall__(c, limit, amount) : may_grow__(c, limit, amount);
	if (result)
		return result;
	CF_TEST_POINT("percpu: decided");
	if (amount < 0)
		raise_guard__(c, limit);
	return fold__(c, amount);
}

int cf_percpu_counter_limited_add_slow(struct cf_percpu_counter *c, int64_t limit, int64_t amount)
{
	struct cf_lock_node node;
	int result;
	if (!cf_value_fits(amount))
		return -ERANGE;
	if (!cf_value_fits(limit)) // beyond every value: refuses all, or nothing
		limit = limit < 0 ? -2 * CF_VALUE_MAX : 2 * CF_VALUE_MAX;
	if (amount == 0)
		return 0;
	if (!cf_section_begin(&c->lock, &node))
		return -EDEADLK;
	result = limited_add__(c, limit, amount);
	cf_section_end(&c->lock, &node);
	return result;
}
