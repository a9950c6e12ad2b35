// SPDX-License-Identifier: MIT OR Apache-2.0
// A trace has each access of its thread, in order (a copy in any), also those that cost nothing, and none of another thread's. Prints what
// is wrong; natively there are none.
#include <corefold.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static struct {
	_Alignas(64) long plain;
	_Alignas(64) atomic_long counter;
	_Alignas(64) char from[128];
	_Alignas(64) char to[128];
	_Alignas(64) atomic_int go, done;
	_Alignas(64) atomic_long others;
} data;

static void *other(void *unused)
{
	while (!atomic_load(&data.go))
		;
	for (int i = 0; i < 100; i++)
		atomic_fetch_add(&data.others, 1);
	atomic_store(&data.done, 1);
	return unused;
}

static int failures;

static void expect(const struct corefold_traced *t, const void *address, unsigned bytes, unsigned kind, const char *what)
{
	if (t->address == address && t->bytes == bytes && t->kind == kind && t->pc)
		return;
	printf("%s: %td bytes after the data, %u bytes, kind %u\n", what, (const char *)t->address - (const char *)&data, t->bytes,
	       t->kind);
	failures++;
}

// Accesses that lie in `data`, but those of waiting.
static size_t of_data(struct corefold_traced *t, size_t count)
{
	size_t kept = 0;
	for (size_t i = 0; i < count; i++) {
		const char *at = t[i].address;
		if (at >= (char *)&data && at < (char *)(&data + 1) && at != (char *)&data.done)
			t[kept++] = t[i];
	}
	return kept;
}

static volatile long *volatile plain = &data.plain;

int main(void)
{
	static struct corefold_traced t[10000];
	pthread_t thread;
	size_t count, all;
	long value;
	pthread_create(&thread, NULL, other, NULL);
	*plain = 1; // the line is this CPU's from here on
	COREFOLD_TRACE_BEGIN(t, 10000);
	value = *plain;
	*plain = value + 1;
	value = *plain;
	atomic_fetch_add(&data.counter, 1);
	atomic_load(&data.counter);
	memcpy(data.to, data.from, sizeof data.to);
	atomic_store(&data.go, 1);
	while (!atomic_load(&data.done))
		;
	all = COREFOLD_TRACE_END();
	value = *plain;
	pthread_join(thread, NULL);
	if (!corefold_trace_end) {
		puts("0 failures");
		return 0;
	}
	count = of_data(t, all);
	expect(&t[0], &data.plain, 8, COREFOLD_READ, "load");
	expect(&t[1], &data.plain, 8, COREFOLD_WRITE, "store");
	expect(&t[2], &data.plain, 8, COREFOLD_READ, "second load");
	expect(&t[3], &data.counter, 8, COREFOLD_RMW, "add");
	expect(&t[4], &data.counter, 8, COREFOLD_READ, "atomic load");
	int from = t[5].kind == COREFOLD_READ ? 5 : 7, to = 12 - from;
	expect(&t[from], &data.from, 64, COREFOLD_READ, "copy, from");
	expect(&t[from + 1], &data.from[64], 64, COREFOLD_READ, "copy, from its second line");
	expect(&t[to], &data.to, 64, COREFOLD_WRITE, "copy, to");
	expect(&t[to + 1], &data.to[64], 64, COREFOLD_WRITE, "copy, to its second line");
	if (count != 10) {
		printf("%zu accesses\n", count);
		failures++;
	}
	COREFOLD_TRACE_BEGIN(t, 1);
	value = *plain;
	value = *plain;
	t[1].address = NULL;
	all = COREFOLD_TRACE_END();
	if (all < 2 || t[1].address) {
		puts("beyond the room that there is");
		failures++;
	}
	printf("%d failures\n", failures);
	return failures != 0;
}
