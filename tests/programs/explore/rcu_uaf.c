// SPDX-License-Identifier: MIT OR Apache-2.0
/* Read-copy-update with a phase that each grace period flips once. A reader that was held up between its
 * look at the phase and its own mark of it goes by a phase of the past, which the next grace period but
 * one takes for the present: it does not wait for that reader, and frees what it reads. FIXED flips twice,
 * as userspace RCU does. */
#include "threads.h"

#include <stdatomic.h>

enum { READERS = 2, READS = 20, UPDATES = 20, PHASE = 2, ACTIVE = 1 };

struct config {
	int a, b;
};

static _Atomic(struct config *) current;
static atomic_int phase = ACTIVE;
static atomic_int marks[READERS];

static void read_begin(int me)
{
	atomic_store(&marks[me], atomic_load(&phase));
}

static void read_end(int me)
{
	atomic_store(&marks[me], 0);
}

static void flip_and_wait(void)
{
	int now = atomic_fetch_xor(&phase, PHASE) ^ PHASE;
	int reader;

	for (reader = 0; reader < READERS; reader++)
		for (;;) {
			int mark = atomic_load(&marks[reader]);

			if (mark == 0 || mark == now)
				break;
		}
}

static void synchronize(void)
{
	flip_and_wait();
#ifdef FIXED
	flip_and_wait();
#endif
}

static struct config *new_config(int value)
{
	struct config *config = malloc(sizeof(*config));

	config->a = value;
	config->b = value;
	return config;
}

static void update(int value)
{
	struct config *old = atomic_exchange(&current, new_config(value));

	synchronize();
	free(old);
}

static void *take_part(void *arg)
{
	int me = (int)(long)arg - 1, i;

	for (i = 0; me < 0 && i < UPDATES; i++)
		update(i + 1);
	for (i = 0; me >= 0 && i < READS; i++) {
		struct config *config;

		read_begin(me);
		config = atomic_load(&current);
		require(config->a == config->b, "a configuration is torn");
		read_end(me);
	}
	return arg;
}

int main(void)
{
	atomic_store(&current, new_config(0));
	run_threads(1 + READERS, take_part);
	return 0;
}
