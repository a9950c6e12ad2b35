// SPDX-License-Identifier: MIT OR Apache-2.0
// Opposite amounts meet in the nodes of one tree counter, for `corefold explore`: at rest the rough sum is within its
// bounds, and compare is exact.
//   tree ROUNDS
#include <corefold/cf_tree_counter.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BATCH = 2, AMOUNT = 1000 };

static struct cf_tree_counter counter;
static pthread_barrier_t barrier;
static long rounds;

static void check(int right, const char *what)
{
	if (right)
		return;
	fprintf(stderr, "tree: %s\n", what);
	exit(1);
}

static void look_at_rest(void)
{
	int64_t under, over, error = cf_tree_counter_sum(&counter) - cf_tree_counter_approximate(&counter);
	cf_tree_counter_bounds(&counter, &under, &over);
	check(cf_tree_counter_sum(&counter) == 0, "the sum is not exact");
	check(error >= -under && error <= over, "the rough sum is out of its bounds");
	check(cf_tree_counter_compare(&counter, 0) == 0, "compare is not exact");
}

// Pairs add and take away; then one looks while all others wait.
static void *thread(void *argument)
{
	long number = (long)argument;
	for (long i = 0; i < rounds; i++) {
		check(cf_tree_counter_add(&counter, number & 1 ? -AMOUNT : AMOUNT) == 0, "an add is refused");
		pthread_barrier_wait(&barrier);
		if (number == 0)
			look_at_rest();
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN) / 2 * 2;
	pthread_t threads[cpus];
	rounds = argc > 1 ? atol(argv[1]) : 20;
	check(cf_tree_counter_init(&counter, 0, BATCH) == 0, "no counter");
	pthread_barrier_init(&barrier, NULL, (unsigned)cpus);
	for (long i = 0; i < cpus; i++)
		check(pthread_create(&threads[i], NULL, thread, (void *)i) == 0, "no thread");
	for (long i = 0; i < cpus; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
