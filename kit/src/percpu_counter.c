// SPDX-License-Identifier: MIT OR Apache-2.0
#include <corefold/cf_percpu_counter.h>

#include <errno.h>

// What a gate lets pass: nothing; plain adds; limited adds too.
enum { CLOSED = 0, OPEN = INT32_MAX, LICENSED = -1 };

// Never a limit that anybody gave: nothing is licensed yet.
#define NO_GUARD INT64_MIN

static int32_t default_batch(void)
{
	uint32_t twice = 2 * cf_cpu_count();
	return twice > 32 ? (int32_t)twice : 32;
}

static void set_gates(struct cf_percpu_counter *c, int32_t gate)
{
	for (uint32_t cpu = 0; cpu < cf_cpu_count(); cpu++)
		cf_slot_gate_set(&c->slots[cpu], gate);
}

int cf_percpu_counter_init_with(struct cf_percpu_counter *c, int64_t value, const struct cf_percpu_options *options)
{
	enum { MORE_THAN_32 = 33 };
	if (!c || !options || !cf_value_fits(value) || options->batch < 0)
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
	set_gates(c, OPEN);
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
	return c->global ? 0 : (int64_t)c->bound * cf_cpu_count();
}

static void store_count(struct cf_percpu_counter *c, int64_t count)
{
	__atomic_store_n(&c->count, count, __ATOMIC_RELAXED); // relaxed: writers hold the lock, readers ask no order
}

// All deltas, beside fast paths that go on. Caller holds the lock.
static int64_t sum_deltas__(const struct cf_percpu_counter *c)
{
	int64_t sum = 0;
	if (c->global)
		return 0;
	for (uint32_t cpu = 0; cpu < cf_cpu_count(); cpu++)
		sum += cf_slot_delta(cf_slot_word_load(&c->slots[cpu]));
	return sum;
}

// No fast path changes a slot from here on; all deltas are in the count. Caller holds the lock.
static void stop__(struct cf_percpu_counter *c)
{
	int64_t sum = 0;
	set_gates(c, CLOSED);
	cf_cpu_fence(-1); // gates before takes: cf_cpu.h, ordering 2
	for (uint32_t cpu = 0; cpu < cf_cpu_count(); cpu++)
		sum += cf_slot_delta_take(&c->slots[cpu]);
	store_count(c, c->count + sum);
	c->licensed = 0;
}

static void start__(struct cf_percpu_counter *c)
{
	if (!c->global)
		set_gates(c, OPEN);
}

static void withdraw__(struct cf_percpu_counter *c)
{
	if (!c->licensed)
		return;
	c->licensed = 0;
	set_gates(c, OPEN);
	cf_cpu_fence(-1); // gates before what comes: every take under the old gate has happened by now
}

// Before the count becomes `count`: limited adds of other CPUs may not go on if it is then too near the guard.
static void withdraw_below__(struct cf_percpu_counter *c, int64_t count)
{
	if (c->licensed && count < c->guard + spread(c))
		withdraw__(c);
}

// After the count has grown. Twice the distance that is needed, so as not to come and go.
static void license__(struct cf_percpu_counter *c)
{
	if (c->licensed || c->global || c->guard == NO_GUARD || c->count < c->guard + 2 * spread(c))
		return;
	c->licensed = 1;
	set_gates(c, LICENSED);
}

static void leave_global__(struct cf_percpu_counter *c)
{
	c->global = 0;
	set_gates(c, OPEN);
}

// The delta of the CPU that this runs on goes into the count with `amount`. Caller holds the lock.
static int fold__(struct cf_percpu_counter *c, int64_t amount)
{
	int64_t count;
	uint32_t cpu;
	int32_t delta;
	if (!cf_value_fits(amount) || !cf_value_add(c->count, amount, &count))
		return -ERANGE;
	do {
		cpu = cf_cpu_current();
		delta = cf_slot_delta(cf_slot_word_load(&c->slots[cpu]));
		if (!cf_value_add(c->count + delta, amount, &count))
			return -ERANGE;
		withdraw_below__(c, count);
	} while (cf_slot_replace(c->slots, cpu, delta, 0) != CF_SLOT_DONE);
	store_count(c, count);
	if (c->global && (count > c->limit || count < -c->limit))
		leave_global__(c);
	license__(c);
	return 0;
}

// A license that already stands must hold for larger deltas too. Caller holds the lock.
static void raise_bound__(struct cf_percpu_counter *c, int32_t batch)
{
	if (batch <= c->bound)
		return;
	withdraw__(c);
	__atomic_store_n(&c->bound, batch, __ATOMIC_RELAXED); // relaxed: read as a hint outside, used under the lock
}

int cf_percpu_counter_add_slow(struct cf_percpu_counter *c, int64_t amount, int32_t batch)
{
	struct cf_lock_node node;
	int result = 0;
	if (batch > c->bound) {
		cf_lock_take(&c->lock, &node);
		raise_bound__(c, batch);
		cf_lock_drop(&c->lock, &node);
		if (cf_slot_add_within(c->slots, amount, batch) == CF_SLOT_DONE)
			return 0;
	}
	cf_lock_take(&c->lock, &node);
	result = fold__(c, amount);
	cf_lock_drop(&c->lock, &node);
	return result;
}

int cf_percpu_counter_set(struct cf_percpu_counter *c, int64_t value)
{
	struct cf_lock_node node;
	if (!cf_value_fits(value))
		return -ERANGE;
	cf_lock_take(&c->lock, &node);
	stop__(c);
	store_count(c, value);
	start__(c);
	cf_lock_drop(&c->lock, &node);
	return 0;
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
	cf_lock_take(&c->lock, &node);
	if (c->count + sum_deltas__(c) == 0) {
		result = -EINVAL;
	} else if (cf_cpu_count() >= c->many_cpus) {
		stop__(c);
		c->limit = limit;
		c->global = c->count <= limit && c->count >= -limit;
		start__(c);
		result = (int)c->global;
	}
	cf_lock_drop(&c->lock, &node);
	return result;
}

int64_t cf_percpu_counter_sum(struct cf_percpu_counter *c)
{
	struct cf_lock_node node;
	int64_t sum;
	cf_lock_take(&c->lock, &node);
	sum = c->count + sum_deltas__(c);
	cf_lock_drop(&c->lock, &node);
	return sum;
}

int cf_percpu_counter_compare_batch(struct cf_percpu_counter *c, int64_t rhs, int32_t batch)
{
	// Acquire: count before global. A counter that turned per-CPU in between was exact when this was read.
	int64_t count = __atomic_load_n(&c->count, __ATOMIC_ACQUIRE);
	uint64_t rough = batch > 0 ? (uint64_t)batch * cf_cpu_count() : 0;
	if (__atomic_load_n(&c->global, __ATOMIC_RELAXED) || cf_value_distance(count, rhs) > rough)
		return cf_value_order(count, rhs);
	return cf_value_order(cf_percpu_counter_sum(c), rhs);
}

// Whether the value may change by amount. Caller holds the lock, so the count stands still.
static bool allowed__(struct cf_percpu_counter *c, int64_t limit, int64_t amount)
{
	int64_t after = c->count + amount;
	// Surely within, whatever the deltas are; or by a sum, which others change only away from the limit.
	if (amount < 0)
		return after - spread(c) >= limit || after + sum_deltas__(c) >= limit;
	return after + spread(c) <= limit || after + sum_deltas__(c) <= limit;
}

// Limited adds of other CPUs, on their fast path, hold to the old guard: not while a higher one counts.
static void raise_guard__(struct cf_percpu_counter *c, int64_t limit)
{
	if (limit <= c->guard)
		return;
	withdraw__(c);
	__atomic_store_n(&c->guard, limit, __ATOMIC_RELAXED); // relaxed: a hint outside of the lock
}

int cf_percpu_counter_limited_add_slow(struct cf_percpu_counter *c, int64_t limit, int64_t amount)
{
	struct cf_lock_node node;
	int result;
	if (!cf_value_fits(amount))
		return -ERANGE;
	if (!cf_value_fits(limit)) // beyond every value: refuses all, or nothing
		limit = limit < 0 ? -2 * CF_VALUE_MAX : 2 * CF_VALUE_MAX;
	cf_lock_take(&c->lock, &node);
	if (amount == 0) {
		result = 0;
	} else if (!allowed__(c, limit, amount)) {
		result = -ENOSPC;
	} else {
		if (amount < 0)
			raise_guard__(c, limit);
		result = fold__(c, amount);
	}
	cf_lock_drop(&c->lock, &node);
	return result;
}
