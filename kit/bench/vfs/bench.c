// SPDX-License-Identifier: MIT OR Apache-2.0
#include "bench.h"
#include "lock_events.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Nanoseconds for each thread until all have left a barrier and know when to begin. */
enum { LEAD = 400 };
/* Cycles by which threads begin at different times, on average: how they meet differs from seed to seed. */
enum { STAGGER = 2000 };

static struct {
	const struct workload *workload CF_LINE_ALIGNED; /* read at every operation: on no line that a barrier writes */
	long warm, batches, batch;
	struct worker *workers;
	bool stops; /* a worker failed */
	pthread_barrier_t ready CF_LINE_ALIGNED, dropped, warmed;
	int64_t start_time CF_LINE_ALIGNED; /* 0: not known yet */
} run;

static int64_t nanoseconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* All go on at one time: out of a barrier they come one by one. */
static void begin_together(long threads)
{
	int64_t time = 0;
	/* Relaxed: the time alone. */
	if (pthread_barrier_wait(&run.warmed) == PTHREAD_BARRIER_SERIAL_THREAD) {
		lock_events_count(true);
		__atomic_store_n(&run.start_time, nanoseconds() + LEAD * threads, __ATOMIC_RELAXED);
	}
	while ((time = __atomic_load_n(&run.start_time, __ATOMIC_RELAXED)) == 0)
		sched_yield();
	while (nanoseconds() < time)
		;
}

/* From half as many cycles to one and a half times, so that no two threads keep step. */
static void busy(struct worker *w, long cycles)
{
	for (cycles = cycles / 2 + (cycles ? worker_random(w, (uint32_t)cycles) : 0); cycles > 0; cycles -= 4)
		w->random = w->random * 6364136223846793005u + 1442695040888963407u; /* a multiplication's latency */
}

static bool operations(struct worker *w, long from, long to)
{
	for (long at = from; at < to; at++) {
		busy(w, w->settings->work);
		if (!run.workload->operation(w, at))
			return false;
		CF_PROGRESS("operation");
	}
	return true;
}

/* No worker may be missing at a barrier, so one that fails goes on to all of them. */
static void measure(struct worker *w)
{
	bool fine = !run.workload->prepare || run.workload->prepare(w);
	pthread_barrier_wait(&run.ready);
	pthread_barrier_wait(&run.dropped);
	fine = fine && operations(w, 0, run.warm);
	w->differs = 0;
	if (!fine)
		__atomic_store_n(&run.stops, true, __ATOMIC_RELAXED); /* relaxed: the barrier orders */
	begin_together(w->settings->threads);
	if (__atomic_load_n(&run.stops, __ATOMIC_RELAXED))
		return;
	busy(w, STAGGER);
	CF_REGION_BEGIN();
	w->marks[0] = nanoseconds();
	for (long batch = 0; fine && batch < run.batches; batch++) {
		long from = run.warm + batch * run.batch;
		fine = operations(w, from, from + run.batch);
		w->marks[batch + 1] = nanoseconds();
	}
	CF_REGION_END();
}

static void *worker(void *argument)
{
	struct worker *w = argument;
	if (w->calls->thread_begin)
		w->calls->thread_begin();
	measure(w);
	if (w->calls->thread_end)
		w->calls->thread_end();
	return NULL;
}

static bool worker_new(struct worker *w, const struct fs_calls *calls, struct fs *fs, const struct settings *settings, long id)
{
	*w = (struct worker){ .calls = calls, .settings = settings, .id = id, .random = (uint64_t)(id + settings->seed * 4096) * 0x9e3779b97f4a7c15u };
	w->own = run.workload->own ? calls->start(settings->where) : NULL;
	if (run.workload->own && !w->own)
		return went_well(w, "making a file system", -errno);
	w->task = calls->task_new(w->own ? w->own : fs);
	w->buffer = aligned_alloc(CF_LINE, BUFFER_BYTES);
	w->marks = calloc((size_t)settings->batches + 1, sizeof *w->marks);
	if (!w->task || !w->buffer || !w->marks)
		return went_well(w, "malloc", -ENOMEM);
	for (long i = 0; i < BUFFER_BYTES; i++)
		w->buffer[i] = (char)i;
	return true;
}

static void worker_free(struct worker *w)
{
	if (w->task)
		w->calls->task_free(w->task);
	if (w->own)
		w->calls->stop(w->own);
	free(w->buffer);
	free(w->marks);
}

static bool failed(struct outcome *outcome, const char *call, int error)
{
	if (!outcome->failed)
		outcome->failed = call, outcome->error = error;
	return false;
}

/* The last of the threads to come is this one: it holds the measured ones until names are dropped. */
static bool threads_run(const struct fs_calls *calls, struct fs *fs, long threads, struct outcome *outcome)
{
	pthread_t *ids = calloc((size_t)threads, sizeof *ids);
	int dropped = 0;
	if (!ids)
		return failed(outcome, "malloc", ENOMEM);
	pthread_barrier_init(&run.ready, NULL, (unsigned)threads + 1);
	pthread_barrier_init(&run.dropped, NULL, (unsigned)threads + 1);
	pthread_barrier_init(&run.warmed, NULL, (unsigned)threads);
	run.start_time = 0;
	run.stops = false;
	for (long i = 0; i < threads; i++) {
		int error = pthread_create(&ids[i], NULL, worker, &run.workers[i]);
		if (error) { /* those that are there wait for all */
			fprintf(stderr, "vfs-bench: thread %ld of %ld cannot be made: %s\n", i, threads, strerror(error));
			exit(1);
		}
	}
	pthread_barrier_wait(&run.ready);
	if (run.workload->cold && (dropped = calls->drop_names(fs)) < 0) {
		failed(outcome, "forgetting cached names", -dropped);
		run.stops = true;
	}
	pthread_barrier_wait(&run.dropped);
	for (long i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	lock_events_count(false);
	free(ids);
	pthread_barrier_destroy(&run.ready);
	pthread_barrier_destroy(&run.dropped);
	pthread_barrier_destroy(&run.warmed);
	return !outcome->failed;
}

static double batch_rate(long threads, long batch)
{
	double rate = 0;
	for (long i = 0; i < threads; i++) {
		const int64_t *marks = run.workers[i].marks;
		int64_t taken = marks[batch + 1] - marks[batch];
		rate += (double)run.batch / (taken > 0 ? (double)taken : 1) * 1e9;
	}
	return rate;
}

/* The rates of the batches, or only that of the run: all operations over all time, so that stalls count in full. */
static void collect(const struct settings *settings, struct outcome *outcome)
{
	double time = 0;
	for (long batch = 0; batch < run.batches; batch++) {
		double rate = batch_rate(settings->threads, batch);
		time += 1 / rate;
		if (settings->repetitions == 1)
			outcome->rates[outcome->count++] = rate;
	}
	if (settings->repetitions > 1)
		outcome->rates[outcome->count++] = (double)run.batches / time;
	outcome->operations += run.batches * run.batch * settings->threads;
}

static bool workers_run(const struct fs_calls *calls, struct fs *fs, const struct settings *settings,
			struct outcome *outcome)
{
	long made = 0;
	bool fine = true;
	run.workers = aligned_alloc(CF_LINE, (size_t)settings->threads * sizeof *run.workers);
	if (!run.workers)
		return failed(outcome, "malloc", ENOMEM);
	for (; fine && made < settings->threads; made++)
		fine = worker_new(&run.workers[made], calls, fs, settings, made);
	fine = fine && (!run.workload->before || run.workload->before(&run.workers[0]));
	fine = fine && threads_run(calls, fs, settings->threads, outcome);
	for (long i = 0; i < made; i++) {
		struct worker *w = &run.workers[i];
		if (w->failed)
			fine = failed(outcome, w->failed, w->error);
		outcome->differs += w->differs;
		if (run.workload->after)
			run.workload->after(w);
	}
	if (fine)
		collect(settings, outcome);
	for (long i = 0; i < made; i++)
		worker_free(&run.workers[i]);
	free(run.workers);
	return fine;
}

bool bench_run(const struct fs_calls *calls, const struct workload *workload, const struct settings *settings,
	       struct outcome *outcome)
{
	long steps = workload->steps ? workload->steps(settings) : 1;
	long figures = settings->repetitions > settings->batches ? settings->repetitions : settings->batches;
	bool fine = true;
	*outcome = (struct outcome){ .rates = calloc((size_t)figures, sizeof *outcome->rates) };
	run.workload = workload;
	run.warm = settings->warm * steps;
	/* Whole passes over a trace: its parts differ. */
	run.batches = settings->batches < settings->operations ? settings->batches : settings->operations;
	run.batch = settings->operations / run.batches * steps;
	for (long i = 0; fine && i < settings->repetitions; i++) {
		struct fs *fs = outcome->rates ? calls->start(settings->where) : NULL;
		if (!fs)
			return failed(outcome, "making a file system", errno);
		fine = workers_run(calls, fs, settings, outcome);
		calls->stop(fs);
	}
	outcome->rate = interval_of_rates(outcome->rates, outcome->count);
	return fine;
}

void outcome_free(struct outcome *outcome)
{
	free(outcome->rates);
}
