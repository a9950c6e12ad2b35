/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// PowerDNS, "Random points of contention" (2012): random numbers from the C library's one generator in all threads.
// rand() takes a lock inside glibc. Here: the area of a quarter circle, estimated from random points.
// The twin calls rand_r() with a state of its own in each thread.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct estimator {
	_Alignas(128) pthread_t id;
	unsigned seed;
	long points, inside;
	double light;
};

static pthread_barrier_t start;

#ifdef TWIN
#define draw() rand_r(&seed)
#else
#define draw() rand()
#endif

// The brightness of a point inside, a short series.
__attribute__((noinline)) static double shade(double x, double y)
{
	double sum = 0, term = x;

	for (int i = 1; i < 20; i++) {
		sum += term;
		term = term * y * 0.5 + x * 0.125;
	}
	return sum;
}

static void *estimate(void *argument)
{
	struct estimator *self = argument;
#ifdef TWIN
	unsigned seed = self->seed;
#endif
	long inside = 0;
	double light = 0;

	pthread_barrier_wait(&start);
	for (long i = 0; i < self->points; i++) {
		double x = draw() / (double)RAND_MAX, y = draw() / (double)RAND_MAX;

		if (x * x + y * y <= 1.0) {
			light += shade(x, y + light * 1e-12);
			inside++;
		}
	}
	self->inside = inside;
	self->light = light;
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2;
	long work = argc > 2 ? atol(argv[2]) : 100000, inside = 0;
	struct estimator *all = aligned_alloc(128, (size_t)threads * sizeof *all);
	double pi, light = 0;

	pthread_barrier_init(&start, NULL, (unsigned)threads);
	for (int t = 0; t < threads; t++) {
		all[t] = (struct estimator) { .seed = (unsigned)t + 1 };
		all[t].points = work * (t + 1) / threads - work * t / threads;
		pthread_create(&all[t].id, NULL, estimate, &all[t]);
	}
	for (int t = 0; t < threads; t++) {
		pthread_join(all[t].id, NULL);
		inside += all[t].inside;
		light += all[t].light;
	}
	pi = 4.0 * (double)inside / (double)work;
	printf("%ld points, pi is about %.3f, light %.1f\n", work, pi, light / (double)work);
	return work >= 100000 && (pi < 3.0 || pi > 3.3);
}
