// SPDX-License-Identifier: MIT OR Apache-2.0
#include "history.h"

#include <corefold/cf_vfs.h>
#include <errno.h>
#include <sys/stat.h>

// A call, or the moment in it that reserves its descriptor's number.
struct step {
	const struct event *event;
	bool reserves;
};

struct order {
	struct step steps[2 * HISTORY_MOST];
	int count;
	int next[HISTORY_THREADS];      // of each thread, the first call that is not in it yet
	bool reserved[HISTORY_THREADS]; // but its reservation is
};

// `settled`: nothing runs beside it. Until then link counts and blocks may be of a moment before or after.
static bool same(const struct result *a, const struct result *b, bool settled)
{
	if (a->value != b->value || a->bytes != b->bytes || a->stat.mode != b->stat.mode)
		return false;
	if (!S_ISDIR(a->stat.mode) && a->stat.size != b->stat.size)
		return false;
	return !settled || (a->stat.nlink == b->stat.nlink && a->stat.blocks == b->stat.blocks &&
			    a->space.bfree == b->space.bfree && a->space.ffree == b->space.ffree);
}

// No model has this; dup2 onto a number that an open has reserved is refused, as by Linux.
static bool has_no_effect(const struct event *e)
{
	return e->call.op == OP_SHRINK || (e->call.op == OP_DUP2 && e->result.value == -EBUSY);
}

static bool reserves(const struct event *e)
{
	return (e->call.op == OP_OPEN || e->call.op == OP_DUP) && e->result.value >= 0;
}

// The number that a call has got: chosen at this moment if it is not reserved. False: it would have been another.
static bool choose_number(struct model *m, const struct event *e)
{
	struct model_task *t = &m->tasks[e->call.task];
	int fd = (int)e->result.value;
	if (t->reserved[fd])
		return true;
	m->any_fd = e->call.flags & CF_O_ANYFD ? fd : -1;
	return model_free_fd(m, t) == fd;
}

// Makes the model's call; false: it could not have returned this.
static bool take_step(struct model *m, const struct step *step, bool settled)
{
	const struct event *e = step->event;
	struct model_task *t = &m->tasks[e->call.task];
	struct result r;
	m->any_fd = -1;
	if (has_no_effect(e))
		return true;
	if (reserves(e) && !choose_number(m, e))
		return false;
	if (reserves(e)) {
		t->reserved[e->result.value] = step->reserves;
		m->any_fd = (int)e->result.value;
	}
	if (step->reserves)
		return true;
	if (e->call.op == OP_DUP2 && t->reserved[e->call.fd2])
		return false;
	model_call(m, &e->call, &r);
	return same(&e->result, &r, settled);
}

// Whether the model gives these results in this order. All but the last step are known to agree.
static bool agrees(const struct history *h, const struct order *order, bool complete)
{
	struct model *m = model_new(&h->options);
	struct result r;
	bool right = true;
	for (int i = 0; i < h->setup_count; i++)
		model_call(m, &h->setup[i], &r);
	for (int i = 0; i < order->count; i++)
		right = take_step(m, &order->steps[i], false);
	for (int i = 0; complete && right && i < h->probe_count; i++)
		right = take_step(m, &(struct step){ &h->probes[i], false }, true);
	model_free(m);
	return right;
}

// The earliest end of the calls that are not in the order: what began later cannot come before it.
static uint64_t earliest_end(const struct history *h, const struct order *order)
{
	uint64_t earliest = UINT64_MAX;
	for (int t = 0; t < h->threads; t++) {
		int i = order->next[t];
		if (i < h->calls[t] && h->events[t][i].end < earliest)
			earliest = h->events[t][i].end;
	}
	return earliest;
}

static bool search(const struct history *h, struct order *order);

static bool is_complete(const struct history *h, const struct order *order)
{
	for (int t = 0; t < h->threads; t++)
		if (order->next[t] < h->calls[t])
			return false;
	return true;
}

// With the thread's next call, or its reservation, behind what is there.
static bool search_behind(const struct history *h, struct order *order, int thread, bool reserve)
{
	const struct event *e = &h->events[thread][order->next[thread]];
	const bool was_reserved = order->reserved[thread];
	bool complete, found;
	order->steps[order->count++] = (struct step){ e, reserve };
	order->next[thread] += !reserve;
	order->reserved[thread] = reserve;
	complete = is_complete(h, order);
	found = agrees(h, order, complete) && (complete || search(h, order));
	order->reserved[thread] = was_reserved;
	order->next[thread] -= !reserve;
	order->count--;
	return found;
}

static bool search(const struct history *h, struct order *order)
{
	uint64_t earliest = earliest_end(h, order);
	for (int t = 0; t < h->threads; t++) {
		const struct event *e = &h->events[t][order->next[t]];
		if (order->next[t] == h->calls[t] || e->begin > earliest)
			continue;
		if (search_behind(h, order, t, false))
			return true;
		if (h->one_task && reserves(e) && !order->reserved[t] && search_behind(h, order, t, true))
			return true;
	}
	return false;
}

bool history_is_linear(const struct history *h)
{
	struct order order = { .count = 0 };
	return search(h, &order);
}

static void print_event(FILE *to, const struct event *e)
{
	const struct cf_stat *s = &e->result.stat;
	if (e->call.op == OP_SHRINK) {
		fprintf(to, "shrink\n");
		return;
	}
	if (s->mode)
		fprintf(to, "(mode 0%o size %lld nlink %u blocks %lld) ", s->mode, (long long)s->size, s->nlink, (long long)s->blocks);
	if (e->result.bytes)
		fprintf(to, "(bytes %llx) ", (unsigned long long)e->result.bytes);
	if (e->result.space.blocks)
		fprintf(to, "(free: %lld blocks, %lld inodes) ", (long long)e->result.space.bfree,
			(long long)e->result.space.ffree);
	call_print(to, &e->call, &e->result);
}

void history_print(FILE *to, const struct history *h)
{
	for (int i = 0; i < h->setup_count; i++) {
		fprintf(to, "  before: ");
		call_print(to, &h->setup[i], NULL);
	}
	for (int t = 0; t < h->threads; t++)
		for (int i = 0; i < h->calls[t]; i++) {
			const struct event *e = &h->events[t][i];
			fprintf(to, "  thread %d, %llu to %llu: ", t, (unsigned long long)e->begin, (unsigned long long)e->end);
			print_event(to, e);
		}
	for (int i = 0; i < h->probe_count; i++) {
		fprintf(to, "  after: ");
		print_event(to, &h->probes[i]);
	}
}
