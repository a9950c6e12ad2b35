// SPDX-License-Identifier: MIT OR Apache-2.0
#include "run.h"
#include "../vfs/model/ours.h"

#include <corefold/cf_rcu.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#ifndef CF_CONFLICT_SECOND // the CPU of the second call; the first one's is 0
#define CF_CONFLICT_SECOND 1
#endif

enum {
	CALLERS = 2,
	MAKER_CPU = CF_CONFLICT_SECOND == 2 ? 3 : 2,
	RENEWED = 256,  // tests on one file system
	WARM_UP = 128,  // files that each caller makes on it before
	FDS = 64,       // numbers of descriptors in plans
	NO_FD = 1023,   // never opened
	CLOSED = -1,
};

struct caller {
	pthread_t thread;
	struct runner *runner;
	sem_t go, done;
	struct call call;
	struct result result;
	char paths[2][64];
	struct trace trace;
	int number, cpu;
	bool warms, ends, complete;
} __attribute__((aligned(4096)));

struct runner {
	struct caller callers[CALLERS];
	struct ours ours[1 + CALLERS]; // one file system; each thread's choice of descriptors
	struct cf_time now;
	char paths[2][64];
	int fds[MODEL_TASKS][FDS]; // of the plan's numbers
	long tests;
};

static void pin(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof set, &set))
		abort();
}

// A file system in use: this CPU has its share of memory, space and numbers.
static void warm_up(struct caller *c)
{
	struct ours *ours = &c->runner->ours[1 + c->number];
	struct result result;
	char path[32];
	snprintf(path, sizeof path, "/warm%d", c->number);
	for (int i = 0; i < WARM_UP; i++) {
		ours_call(ours, &(struct call){ .op = OP_OPEN, .task = c->number, .fd = AT_FDCWD, .path = path, .flags = O_CREAT | O_RDWR,
						.mode = 0644 }, &result);
		int fd = (int)result.value;
		ours_call(ours, &(struct call){ .op = OP_PWRITE, .task = c->number, .fd = fd, .size = 2 * CF_PAGE }, &result);
		ours_call(ours, &(struct call){ .op = OP_CLOSE, .task = c->number, .fd = fd }, &result);
		ours_call(ours, &(struct call){ .op = OP_UNLINK, .task = c->number, .fd = AT_FDCWD, .path = path }, &result);
	}
}

static void *serve(void *argument)
{
	struct caller *c = argument;
	pin(c->cpu);
	cf_rcu_register_thread();
	for (;;) {
		sem_wait(&c->go);
		if (c->ends)
			break;
		if (c->warms) {
			warm_up(c);
			sem_post(&c->done);
			continue;
		}
		trace_begin(&c->trace);
		ours_call(&c->runner->ours[1 + c->number], &c->call, &c->result);
		c->complete = trace_end(&c->trace);
		sem_post(&c->done);
	}
	cf_rcu_unregister_thread();
	return NULL;
}

static void renew(struct runner *r)
{
	static const struct model_options options = { .fds = NO_FD, .root_mode = 0755 };
	if (r->tests)
		ours_free(&r->ours[0]);
	if (ours_new(&r->ours[0], &options, &r->now, NULL))
		abort();
	for (int i = 0; i < CALLERS; i++) {
		struct caller *c = &r->callers[i];
		r->ours[1 + i] = r->ours[0];
		r->ours[1 + i].any_fd = true;
		c->warms = true;
		sem_post(&c->go);
		sem_wait(&c->done);
		c->warms = false;
	}
}

struct runner *runner_new(void)
{
	struct runner *r = aligned_alloc(4096, (sizeof *r + 4095) / 4096 * 4096);
	if (!r)
		abort();
	memset(r, 0, sizeof *r);
	cf_rcu_register_thread();
	pin(MAKER_CPU);
	for (int i = 0; i < CALLERS; i++) {
		struct caller *c = &r->callers[i];
		c->runner = r;
		c->number = i;
		c->cpu = i ? CF_CONFLICT_SECOND : 0;
		sem_init(&c->go, 0, 0);
		sem_init(&c->done, 0, 0);
		if (pthread_create(&c->thread, NULL, serve, c))
			abort();
	}
	return r;
}

void runner_free(struct runner *r)
{
	for (int i = 0; i < CALLERS; i++) {
		r->callers[i].ends = true;
		sem_post(&r->callers[i].go);
		pthread_join(r->callers[i].thread, NULL);
	}
	if (r->tests)
		ours_free(&r->ours[0]);
	cf_rcu_unregister_thread();
	free(r);
}

// The plan's call as it is made here: below this test's directory, with the descriptors that it was given.
static struct call own_call(struct runner *r, const struct call *c, char paths[2][64])
{
	struct call own = *c;
	if (c->path)
		snprintf(paths[0], 64, "/%ld%s", r->tests, c->path);
	if (c->path2)
		snprintf(paths[1], 64, "/%ld%s", r->tests, c->path2);
	own.path = c->path ? paths[0] : NULL;
	own.path2 = c->path2 ? paths[1] : NULL;
	if (c->fd >= 0)
		own.fd = r->fds[c->task][c->fd] == CLOSED ? NO_FD : r->fds[c->task][c->fd];
	return own;
}

// The plan counts descriptors from 0 on, the lowest first.
static void note_fd(struct runner *r, int task, int fd)
{
	int number = 0;
	while (r->fds[task][number] != CLOSED)
		number++;
	r->fds[task][number] = fd;
}

static void note(struct runner *r, const struct call *c, const struct result *result)
{
	if (c->op == OP_OPEN || c->op == OP_DUP) {
		note_fd(r, c->task, (int)result->value);
	} else if (c->op == OP_PIPE) {
		note_fd(r, c->task, result->fds[0]);
		note_fd(r, c->task, result->fds[1]);
	} else if (c->op == OP_CLOSE) {
		r->fds[c->task][c->fd] = CLOSED;
	}
}

static void set_up(struct runner *r, const struct plan *p)
{
	struct call root = { .op = OP_MKDIR, .fd = AT_FDCWD, .path = "", .mode = 0755 };
	struct result result;
	memset(r->fds, 0xff, sizeof r->fds);
	r->now.sec++;
	r->ours[0].any_fd = !p->lowest;
	for (int i = -1; i < p->setups; i++) {
		const struct call *c = i < 0 ? &root : &p->setup[i];
		struct call own = own_call(r, c, r->paths);
		r->now.sec += p->ticks;
		ours_call(&r->ours[0], &own, &result);
		if (result.value < 0 && own.op != OP_FSTATAT)
			abort(); // the model made it
		note(r, c, &result);
	}
	r->now.sec += p->ticks;
}

static void check(const struct plan *p, int which, const struct result *result, int64_t expected)
{
	enum row row = p->rows[which];
	bool any = row == ROW_OPEN && expected >= 0;
	if (any ? result->value >= 0 : result->value == expected)
		return;
	fprintf(stderr, "the model says %lld: ", (long long)expected);
	call_print(stderr, &p->calls[which], result);
	exit(1);
}

static void make_call(struct runner *r, const struct plan *p, int which, int64_t expected)
{
	struct caller *c = &r->callers[which];
	r->ours[1 + which] = r->ours[0];
	r->ours[1 + which].any_fd = p->rows[which] != ROW_OPEN_LOWEST;
	c->call = own_call(r, &p->calls[which], c->paths);
	sem_post(&c->go);
	sem_wait(&c->done);
	check(p, which, &c->result, expected);
	if (!c->complete) {
		fprintf(stderr, "%zu accesses: run by corefold run, and with room for all\n", c->trace.count);
		exit(1);
	}
}

static void close_all(struct runner *r, const struct plan *p)
{
	struct result result;
	for (int i = 0; i < 2; i++)
		if (r->callers[i].result.value >= 0)
			note(r, &p->calls[i], &r->callers[i].result);
	for (int task = 0; task < MODEL_TASKS; task++)
		for (int fd = 0; fd < FDS; fd++)
			if (r->fds[task][fd] != CLOSED)
				ours_call(&r->ours[0], &(struct call){ .op = OP_CLOSE, .task = task, .fd = r->fds[task][fd] }, &result);
}

int runner_run(struct runner *r, const struct plan *p, const int64_t expected[2], struct conflict *conflicts)
{
	if (r->tests % RENEWED == 0)
		renew(r);
	set_up(r, p);
	for (int i = 0; i < 2; i++)
		make_call(r, p, i, expected[i]);
	close_all(r, p);
	r->tests++;
	return trace_conflicts(&r->callers[0].trace, &r->callers[1].trace, conflicts);
}
