/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Linux's struct task_group: load_avg, written as the load of a CPU changes, lies on one cache line with rt_se and
 * rt_rq, which every CPU reads as it moves a task to the group. Here one CPU's load changes, the others only read.
 * Twin: load_avg is on a line of its own (the published fix). task_group THREADS WAKEUPS
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { NR_CPUS = 80 };

struct sched_rt_entity {
	unsigned long timeout;
	unsigned time_slice;
};

struct rt_rq {
	_Alignas(64) unsigned long rt_nr_running;
	unsigned long highest_prio;
};

struct task_group {
	int idle;
	unsigned long shares;
	_Alignas(64) atomic_long load_avg;
#ifdef TWIN
	_Alignas(64)
#endif
	struct sched_rt_entity **rt_se;
	struct rt_rq **rt_rq;
	unsigned long rt_runtime;
	struct task_group *parent;
};

struct task {
	struct sched_rt_entity *rt_parent;
	struct rt_rq *rt_rq;
	unsigned long vruntime;
};

static struct task_group *group;
static struct sched_rt_entity entity[NR_CPUS];
static struct rt_rq queue[NR_CPUS];
static long wakeups;
static int cpus;

static __attribute__((noinline)) void set_task_rq(struct task *p, struct task_group *tg, int cpu)
{
	p->rt_rq = tg->rt_rq[cpu];
	p->rt_parent = tg->rt_se[cpu];
}

static __attribute__((noinline)) void update_tg_load_avg(struct task_group *tg, long delta)
{
	atomic_fetch_add_explicit(&tg->load_avg, delta, memory_order_relaxed);
}

static void run(struct task *p)
{
	for (int i = 0; i < 12; i++) {
		p->vruntime = p->vruntime * 6364136223846793005UL + 1442695040888963407UL;
		p->vruntime ^= p->vruntime >> 31;
	}
	p->rt_rq->rt_nr_running++;
}

static void *cpu_main(void *number)
{
	int cpu = (int)(long)number;
	struct task p = { .vruntime = (unsigned long)cpu };

	for (long i = wakeups * cpu / cpus; i < wakeups * (cpu + 1) / cpus; i++) {
		set_task_rq(&p, group, cpu);
		run(&p);
		if (cpu == 0)
			update_tg_load_avg(group, 1);
	}
	return (void *)p.vruntime;
}

int main(int argc, char **argv)
{
	pthread_t thread[NR_CPUS];
	unsigned long ran = 0;

	cpus = argc > 1 ? atoi(argv[1]) : 2;
	wakeups = argc > 2 ? atol(argv[2]) : 100000;
	if (cpus < 1 || cpus > NR_CPUS)
		return 2;
	group = aligned_alloc(64, sizeof *group);
	*group = (struct task_group){ .shares = 1024 };
	group->rt_se = malloc(NR_CPUS * sizeof *group->rt_se);
	group->rt_rq = malloc(NR_CPUS * sizeof *group->rt_rq);
	for (int i = 0; i < NR_CPUS; i++) {
		group->rt_se[i] = &entity[i];
		group->rt_rq[i] = &queue[i];
	}
	for (long i = 0; i < cpus; i++)
		pthread_create(&thread[i], NULL, cpu_main, (void *)i);
	for (int i = 0; i < cpus; i++) {
		pthread_join(thread[i], NULL);
		ran += queue[i].rt_nr_running;
	}
	printf("%lu wake-ups, load %ld\n", ran, atomic_load(&group->load_avg));
	return ran != (unsigned long)wakeups || atomic_load(&group->load_avg) != wakeups / cpus;
}
