/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// A common fault: phases between barriers with uneven shares. The particles are cut into one part more than there are
// threads, and the first thread gets two, so that all others wait for it at the end of each phase.
// The twin cuts them into as many parts as threads.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define PARTICLES 6480
#define PHASES 4

struct particle {
	double x, v;
};

struct mover {
	_Alignas(128) pthread_t id;
	int first, end, substeps;
	long steps;
};

static struct particle *particles;
static pthread_barrier_t phase_barrier;

// Leapfrog steps of an oscillator; a step takes some ten dependent operations.
__attribute__((noinline)) static void move(struct particle *particle, int substeps)
{
	double x = particle->x, v = particle->v;

	for (int i = 0; i < substeps; i++)
		for (int order = 0; order < 5; order++) {
			v -= x * 0.0009765625;
			x += v * 0.0009765625;
		}
	particle->x = x;
	particle->v = v;
}

static void *simulate(void *argument)
{
	struct mover *self = argument;

	pthread_barrier_wait(&phase_barrier);
	for (int phase = 0; phase < PHASES; phase++) {
		for (int i = self->first; i < self->end; i++) {
			move(&particles[i], self->substeps);
			self->steps += self->substeps;
		}
		pthread_barrier_wait(&phase_barrier);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2, parts = threads;
	long work = argc > 2 ? atol(argv[2]) : 100000, steps = 0;
	int substeps = (int)(work / ((long)PARTICLES * PHASES)) + 1;
	struct mover *movers = aligned_alloc(128, (size_t)threads * sizeof *movers);
	double energy = 0;

#ifndef TWIN
	parts++;
#endif
	particles = aligned_alloc(64, PARTICLES * sizeof *particles);
	for (int i = 0; i < PARTICLES; i++)
		particles[i] = (struct particle) { .x = 1, .v = 0 };
	pthread_barrier_init(&phase_barrier, NULL, (unsigned)threads);
	for (int t = 0; t < threads; t++) {
		int from = t == 0 ? 0 : t + parts - threads, to = t + 1 + parts - threads;

		movers[t] = (struct mover) { .first = (int)((long)PARTICLES * from / parts), .substeps = substeps };
		movers[t].end = (int)((long)PARTICLES * to / parts);
		pthread_create(&movers[t].id, NULL, simulate, &movers[t]);
	}
	for (int t = 0; t < threads; t++) {
		pthread_join(movers[t].id, NULL);
		steps += movers[t].steps;
	}
	for (int i = 0; i < PARTICLES; i++)
		energy += (particles[i].x * particles[i].x + particles[i].v * particles[i].v) / PARTICLES;
	printf("%ld steps, energy %.4f\n", steps, energy);
	return steps != (long)substeps * PARTICLES * PHASES || energy < 0.99 || energy > 1.01;
}
