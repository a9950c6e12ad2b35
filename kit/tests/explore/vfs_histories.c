// SPDX-License-Identifier: MIT OR Apache-2.0
// Concurrent histories of cf_vfs, for `corefold explore`: a few threads make two or three calls each, and the results must be
// those of the model in some order of the calls that agrees with real time (each call takes effect at one moment between
// its begin and its end).
//   vfs_histories ROUNDS   so many small programs, chosen at random
// Left out, since they are several steps here as in Linux (cf_vfs.h, guarantee 3): O_TRUNC; renames of directories beside paths
// through them; link and truncate by path beside a rename or removal of that path (here: of "/k", which has none); the link
// count that stat shows while a name is made or removed; calls that span pages; the number that an open gets beside an open
// of the same task that fails.
#include "../vfs/model/ours.h"
#include <corefold/cf_dcache.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

enum { THREADS = 3, CALLS = 3, SETUP = 6, PROBES = 12, MOST = THREADS * CALLS };

struct event {
	struct call call;
	struct result result;
	uint64_t begin, end;
};

static struct history {
	struct ours ours;
	struct call setup[SETUP], probes[PROBES];
	struct result after[PROBES];
	struct event events[THREADS][CALLS];
	int probe_count;
	uint64_t clock;
	pthread_barrier_t barrier;
} h;

static const struct model_options options = { .fds = 20, .root_mode = 0777, .creds = { { 0, 0, { 0 }, 0 }, { 0, 0, { 0 }, 0 },
										      { 0, 0, { 0 }, 0 } } };
static const char *const paths[] = { "/a", "/b", "/d", "/d/a", "/d/b", "/l" };
static uint64_t state;

static uint32_t below(uint32_t bound)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((state >> 33) % bound);
}

static const char *some_path(void)
{
	return paths[below(6)];
}

// No directory: those are not renamed.
static const char *some_file(void)
{
	return paths[(const int[]){ 0, 1, 3, 4, 5 }[below(5)]];
}

static struct call some_call(int task)
{
	static const enum op ops[] = { OP_OPEN, OP_OPEN, OP_UNLINK, OP_RENAME, OP_RENAME, OP_LINK, OP_MKDIR, OP_UNLINK, OP_FSTATAT,
				       OP_PREAD, OP_PWRITE, OP_TRUNCATE, OP_SYMLINK, OP_READLINK, OP_CLOSE, OP_FSTAT, OP_WRITE,
				       OP_FTRUNCATE, OP_READ };
	struct call c = { .op = ops[below(sizeof ops / sizeof *ops)], .task = task, .fd = -100, .fd2 = -100, .mode = 0777 };
	c.path = some_path();
	c.path2 = some_path();
	c.fill = (uint8_t)below(256);
	c.size = 1 + below(100);
	c.offset = below(3) * 50;
	if (c.op == OP_OPEN)
		c.flags = O_RDWR | O_NONBLOCK | (below(2) ? O_CREAT : 0) | (below(3) ? 0 : O_EXCL | O_CREAT) | (below(3) ? 0 : O_APPEND);
	if (c.op == OP_UNLINK)
		c.flags = below(3) ? 0 : AT_REMOVEDIR;
	if (c.op == OP_RENAME) {
		c.path = some_file();
		c.path2 = some_file();
	}
	if (c.op == OP_LINK || c.op == OP_TRUNCATE)
		c.path = "/k";
	if ((c.op >= OP_CLOSE && c.op <= OP_FTRUNCATE) || c.op == OP_FSTAT) {
		c.fd = 0;
		c.path = NULL;
	}
	return c;
}

static struct call setup_call(int i)
{
	static const char *const made[] = { "/d", "/a", "/d/a", "/k", "/a", "/a" };
	struct call c = { .op = i == 0 ? OP_MKDIR : OP_OPEN, .fd = -100, .fd2 = -100, .path = made[i], .mode = 0777,
			  .flags = O_RDWR | O_CREAT };
	if (i >= 4) // two more tasks have the file open
		c.task = i - 3;
	return c;
}

static struct call probe_call(int i)
{
	struct call c = { .op = OP_FSTATAT, .fd = -100, .path = paths[i % 6], .flags = AT_SYMLINK_NOFOLLOW };
	if (i >= 6)
		c = (struct call){ .op = i < 9 ? OP_PREAD : OP_FSTAT, .task = i % 3, .fd = 0, .size = 300 };
	return c;
}

static uint64_t tick(void)
{
	return __atomic_fetch_add(&h.clock, 1, __ATOMIC_SEQ_CST);
}

static void *thread(void *argument)
{
	struct event *events = h.events[(long)argument];
	cf_rcu_register_thread();
	pthread_barrier_wait(&h.barrier);
	for (int i = 0; i < CALLS; i++) {
		events[i].begin = tick();
		ours_call(&h.ours, &events[i].call, &events[i].result);
		events[i].end = tick();
	}
	cf_rcu_unregister_thread();
	return NULL;
}

// --- The search for an order.

static bool same(const struct result *a, const struct result *b, bool settled)
{
	if (a->value != b->value || a->bytes != b->bytes || a->stat.mode != b->stat.mode)
		return false;
	if (!S_ISDIR(a->stat.mode) && a->stat.size != b->stat.size)
		return false;
	return !settled || (a->stat.nlink == b->stat.nlink && a->stat.blocks == b->stat.blocks);
}

// Whether the model gives these results in this order; the last call's alone are compared, those before have been.
static bool agrees(struct event *const *order, int count, bool complete)
{
	struct model *m = model_new(&options);
	struct result r;
	bool right = true;
	for (int i = 0; i < SETUP; i++)
		model_call(m, &h.setup[i], &r);
	for (int i = 0; i < count; i++)
		model_call(m, &order[i]->call, &r);
	right = same(&order[count - 1]->result, &r, false);
	for (int i = 0; complete && right && i < PROBES; i++) {
		model_call(m, &h.probes[i], &r);
		right = same(&h.after[i], &r, true);
	}
	model_free(m);
	return right;
}

static bool search(struct event **order, int count, int next[THREADS])
{
	uint64_t soonest = UINT64_MAX; // none that began later than this call ended may come before it
	if (count == MOST)
		return true;
	for (int t = 0; t < THREADS; t++)
		if (next[t] < CALLS && h.events[t][next[t]].end < soonest)
			soonest = h.events[t][next[t]].end;
	for (int t = 0; t < THREADS; t++) {
		if (next[t] == CALLS || h.events[t][next[t]].begin > soonest)
			continue;
		order[count] = &h.events[t][next[t]];
		next[t]++;
		if (agrees(order, count + 1, count + 1 == MOST) && search(order, count + 1, next))
			return true;
		next[t]--;
	}
	return false;
}

static void report(void)
{
	for (int t = 0; t < THREADS; t++)
		for (int i = 0; i < CALLS; i++) {
			const struct event *e = &h.events[t][i];
			fprintf(stderr, "  %llu to %llu ", (unsigned long long)e->begin, (unsigned long long)e->end);
			call_print(stderr, &e->call, &e->result);
		}
	for (int i = 0; i < PROBES; i++) {
		const struct cf_stat *stat = &h.after[i].stat;
		fprintf(stderr, "  after: size %lld nlink %u mode 0%o blocks %lld bytes %llx ", (long long)stat->size, stat->nlink,
			stat->mode, (long long)stat->blocks, (unsigned long long)h.after[i].bytes);
		call_print(stderr, &h.probes[i], &h.after[i]);
	}
}

static bool round_of(void)
{
	pthread_t threads[THREADS];
	struct event *order[MOST];
	struct result r;
	int next[THREADS] = { 0 };
	bool right;
	static const struct cf_time now = { 1, 0 };
	if (ours_new(&h.ours, &options, &now, NULL))
		return false;
	for (int i = 0; i < SETUP; i++) {
		h.setup[i] = setup_call(i);
		ours_call(&h.ours, &h.setup[i], &r);
	}
	for (int t = 0; t < THREADS; t++)
		for (int i = 0; i < CALLS; i++)
			h.events[t][i].call = some_call(t);
	h.clock = 0;
	for (long t = 0; t < THREADS; t++)
		if (pthread_create(&threads[t], NULL, thread, (void *)t))
			exit(2);
	for (int t = 0; t < THREADS; t++)
		pthread_join(threads[t], NULL);
	for (int i = 0; i < PROBES; i++) {
		h.probes[i] = probe_call(i);
		ours_call(&h.ours, &h.probes[i], &h.after[i]);
	}
	right = search(order, 0, next);
	if (!right) {
		fprintf(stderr, "vfs_histories: no order of these calls gives these results\n");
		report();
	}
	ours_free(&h.ours);
	return right;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 20;
	bool right = true;
	if (getrandom(&state, sizeof state, 0) != sizeof state)
		return 2;
	pthread_barrier_init(&h.barrier, NULL, THREADS);
	cf_rcu_register_thread();
	for (long i = 0; i < rounds && right; i++)
		right = round_of();
	cf_rcu_unregister_thread();
	return right ? 0 : 1;
}
