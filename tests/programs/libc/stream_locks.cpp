// SPDX-License-Identifier: MIT OR Apache-2.0
// Calls of streams with all kinds of arguments; a stream's lock is let go when a thread is cancelled inside of a call.
#include "check.h"
#include <cstdarg>
#include <cstring>
#include <pthread.h>
#include <unistd.h>

static FILE *stream;

static ssize_t write_all(void *, const char *bytes, size_t count)
{
	if (memchr(bytes, '!', count)) {
		pthread_cancel(pthread_self());
		for (;;) {
			usleep(10);
			pthread_testcancel();
		}
	}
	return count;
}

static void *is_cancelled(void *)
{
	fprintf(stream, "this ends here!\n");
	return nullptr;
}

static void *goes_on(void *argument)
{
	CHECK(fprintf(stream, "fine\n") == 5);
	return argument;
}

static int list(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	int count = vprintf(format, arguments);
	va_end(arguments);
	return count;
}

int main()
{
	cookie_io_functions_t functions = {nullptr, write_all, nullptr, nullptr};
	pthread_t thread;
	void *result;
	int a, b;
	double c;

	stream = fopencookie(nullptr, "w", functions);
	setvbuf(stream, nullptr, _IONBF, 0);
	CHECK(pthread_create(&thread, nullptr, is_cancelled, nullptr) == 0);
	CHECK(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
	CHECK(pthread_create(&thread, nullptr, goes_on, stream) == 0);
	CHECK(pthread_join(thread, &result) == 0 && result == stream);

	printf("%g %g %g %g %g %g %g %g %g %g %d %s %ld\n", 1., 2., 3., 4., 5., 6., 7., 8., 9.5, 10., 11, "12", 13L);
	CHECK(list("%d %d %d %d %d %d %g\n", 1, 2, 3, 4, 5, 6, 7.5) == 16);
	char text[] = "1 2 3.5";
	FILE *memory = fmemopen(text, strlen(text), "r");
	CHECK(fscanf(memory, "%d %d %lf", &a, &b, &c) == 3 && a == 1 && b == 2 && c == 3.5);
	fclose(memory);

	flockfile(stdout);
	flockfile(stdout);
	puts("nested");
	funlockfile(stdout);
	CHECK(ftrylockfile(stdout) == 0);
	funlockfile(stdout);
	funlockfile(stdout);
	fflush(nullptr);
	return 0;
}
