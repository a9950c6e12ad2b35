/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads talk through pipes and event descriptors: nothing is lost, and whoever waits is woken. */
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

enum { NUMBERS = 2000, WRITERS = 3, READERS = 4, BIG = 1 << 20 };

static int numbers[2], big[2], quiet[2], events;
static long sums[READERS];

static void *write_numbers(void *first)
{
	for (int i = (int)(long)first; i < NUMBERS; i += WRITERS)
		CHECK(write(numbers[1], &i, sizeof(i)) == sizeof(i));
	return NULL;
}

static void *read_numbers(void *me)
{
	int number;
	ssize_t got;

	while ((got = read(numbers[0], &number, sizeof(number))) == sizeof(number))
		sums[(long)me] += number;
	CHECK(got == 0);
	return NULL;
}

static void many_to_many(void)
{
	pthread_t readers[READERS], writers[WRITERS];
	long sum = 0;

	CHECK(pipe(numbers) == 0);
	for (long i = 0; i < READERS; i++)
		CHECK(pthread_create(&readers[i], NULL, read_numbers, (void *)i) == 0);
	for (long i = 0; i < WRITERS; i++)
		CHECK(pthread_create(&writers[i], NULL, write_numbers, (void *)i) == 0);
	for (int i = 0; i < WRITERS; i++)
		CHECK(pthread_join(writers[i], NULL) == 0);
	CHECK(close(numbers[1]) == 0);
	for (int i = 0; i < READERS; i++)
		CHECK(pthread_join(readers[i], NULL) == 0);
	for (int i = 0; i < READERS; i++)
		sum += sums[i];
	CHECK(sum == (long)NUMBERS * (NUMBERS - 1) / 2);
	CHECK(close(numbers[0]) == 0);
}

static void *write_big(void *unused)
{
	static unsigned char bytes[BIG];
	struct iovec parts[2] = { { bytes, 5 }, { bytes + 5, BIG - 5 } };

	(void)unused;
	for (int i = 0; i < BIG; i++)
		bytes[i] = (unsigned char)(i * 31 >> 3);
	CHECK(write(big[1], bytes, BIG) == BIG);
	CHECK(writev(big[1], parts, 2) == BIG);
	return NULL;
}

static void more_than_a_pipe_holds(void)
{
	static unsigned char bytes[10000];
	pthread_t writer;

	CHECK(pipe2(big, O_CLOEXEC) == 0);
	CHECK(pthread_create(&writer, NULL, write_big, NULL) == 0);
	for (int at = 0; at < 2 * BIG;) {
		ssize_t got = read(big[0], bytes, sizeof(bytes));

		CHECK(got > 0);
		for (ssize_t i = 0; i < got; i++, at++)
			CHECK(bytes[i] == (unsigned char)(at % BIG * 31 >> 3));
	}
	CHECK(pthread_join(writer, NULL) == 0);
}

static void *count_events(void *unused)
{
	eventfd_t value, sum = 0;

	(void)unused;
	while (sum < 300) {
		CHECK(eventfd_read(events, &value) == 0);
		sum += value;
	}
	CHECK(sum == 300);
	return NULL;
}

static void event_descriptors(void)
{
	pthread_t counter;

	events = eventfd(0, 0);
	CHECK(events >= 0);
	CHECK(pthread_create(&counter, NULL, count_events, NULL) == 0);
	for (int i = 0; i < 100; i++)
		CHECK(eventfd_write(events, 3) == 0);
	CHECK(pthread_join(counter, NULL) == 0);
	CHECK(close(events) == 0);
}

static void *ping_pong(void *pair)
{
	char c;

	for (int i = 0; i < 200; i++) {
		CHECK(read(((int *)pair)[0], &c, 1) == 1);
		CHECK(write(((int *)pair)[1], &c, 1) == 1);
	}
	return NULL;
}

static void back_and_forth(void)
{
	int there[2], back[2], ends[2];
	pthread_t other;
	char c = 'x';

	CHECK(pipe(there) == 0 && pipe(back) == 0);
	ends[0] = there[0];
	ends[1] = dup(back[1]);
	CHECK(pthread_create(&other, NULL, ping_pong, ends) == 0);
	for (int i = 0; i < 200; i++) {
		CHECK(write(there[1], &c, 1) == 1);
		CHECK(read(back[0], &c, 1) == 1);
	}
	CHECK(pthread_join(other, NULL) == 0);
}

/* A pipe end that the standard library writes to is heard of too. */
static void *print(void *unused)
{
	FILE *file = fdopen(quiet[1], "w");

	(void)unused;
	CHECK(file);
	usleep(1000);
	CHECK(fprintf(file, "%s %d\n", "hello", 42) > 0 && fclose(file) == 0);
	return NULL;
}

static void through_files(void)
{
	pthread_t printer;
	char line[64];

	CHECK(pipe(quiet) == 0);
	CHECK(pthread_create(&printer, NULL, print, NULL) == 0);
	FILE *file = fdopen(quiet[0], "r");
	CHECK(file && fgets(line, sizeof(line), file) && strcmp(line, "hello 42\n") == 0);
	CHECK(!fgets(line, sizeof(line), file) && fclose(file) == 0);
	CHECK(pthread_join(printer, NULL) == 0);
}

static void without_blocking(void)
{
	int pair[2];
	char c;

	CHECK(pipe2(pair, O_NONBLOCK) == 0);
	CHECK(read(pair[0], &c, 1) == -1 && errno == EAGAIN);
	struct pollfd fd = { pair[0], POLLIN, 0 };
	CHECK(poll(&fd, 1, 0) == 0 && poll(&fd, 1, 5) == 0);
	CHECK(write(pair[1], "a", 1) == 1 && poll(&fd, 1, -1) == 1 && fd.revents == POLLIN);
	CHECK(read(pair[0], &c, 1) == 1 && c == 'a');
	CHECK(read(-1, &c, 1) == -1 && errno == EBADF);
}

/* A stream that reads has nothing to flush; one with nothing in its buffer waits for no room. */
static void streams_without_output(void)
{
	int ends[2];
	char word[8];
	FILE *in, *out;

	CHECK(pipe(ends) == 0);
	CHECK((in = fdopen(ends[0], "r")) && (out = fdopen(dup(ends[1]), "w")));
	CHECK(fflush(in) == 0 && fflush_unlocked(in) == 0);
	CHECK(fputs("word\n", out) >= 0 && fflush(out) == 0 && fgets(word, sizeof(word), in));
	CHECK(fflush(in) == 0 && !strcmp(word, "word\n"));
	CHECK(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
	while (write(ends[1], word, 1) == 1)
		;
	CHECK(fcntl(ends[1], F_SETFL, 0) == 0);
	CHECK(fflush(out) == 0 && fclose(out) == 0);
	CHECK(fclose(in) == 0 && close(ends[1]) == 0);
}

int main(void)
{
	many_to_many();
	more_than_a_pipe_holds();
	event_descriptors();
	back_and_forth();
	through_files();
	without_blocking();
	streams_without_output();
	puts("pipes are right");
	return 0;
}
