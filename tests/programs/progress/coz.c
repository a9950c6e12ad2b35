/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Progress points as coz.h has them, of transactions, of visits, or of both: coz transactions | visits | both.
 * Each is made a thousand times.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/* What coz.h has of it. */
typedef struct {
	size_t count;
	size_t backoff;
} coz_counter_t;

enum { THROUGHPUT = 1, BEGIN = 2, END = 3 };

#define COZ_INCREMENT(type, name) \
	do { \
		static coz_counter_t *counter; \
		if (!counter) \
			counter = get_counter(type, name); \
		if (counter) \
			__atomic_add_fetch(&counter->count, 1, __ATOMIC_RELAXED); \
	} while (0)

static coz_counter_t *get_counter(int type, const char *name)
{
	coz_counter_t *(*get)(int, const char *) = dlsym(RTLD_DEFAULT, "_coz_get_counter");

	return get ? get(type, name) : NULL;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "both";

	for (int i = 0; i < 1000; i++) {
		if (strcmp(what, "visits"))
			COZ_INCREMENT(BEGIN, "transaction");
		if (strcmp(what, "transactions"))
			COZ_INCREMENT(THROUGHPUT, "visit");
		if (strcmp(what, "visits"))
			COZ_INCREMENT(END, "transaction");
	}
	return 0;
}
