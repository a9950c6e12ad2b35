// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads that call the C library at once, each the same work, for what a lock in it guards: library_locks HOW THREADS
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <iconv.h>
#include <link.h>
#include <locale.h>
#include <pthread.h>
#include <regex.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TURNS = 1000, MOST = 64 };

static FILE *stream, *memory;
static DIR *directory;
static regex_t expression;
/* Of nrand48(), for each thread. */
static _Alignas(64) unsigned short states[MOST][3];
static const char *how;

static void list(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(stream, format, arguments);
	va_end(arguments);
}

static void nothing(void)
{
}

static int see(struct dl_phdr_info *file, size_t bytes, void *data)
{
	(void)file;
	(void)bytes;
	(void)data;
	return 0;
}

static void once(long me, int i)
{
	char text[64];
	time_t seconds = 1000 * i;
	struct tm parts;
	Dl_info place;

	if (!strcmp(how, "fprintf"))
		fprintf(stream, "%ld %d %s %g\n", me, i, "text", 0.5 * i);
	else if (!strcmp(how, "vfprintf"))
		list("%ld %d %ld %ld %ld %ld %ld %g\n", me, i, 1L, 2L, 3L, 4L, 5L, 6.5);
	else if (!strcmp(how, "fwrite"))
		fwrite("0123456789", 1, 10, stream);
	else if (!strcmp(how, "open_memstream"))
		fwrite("0123456789", 1, 10, memory);
	else if (!strcmp(how, "fputs"))
		fputs("a line\n", stream);
	else if (!strcmp(how, "fflush_all")) {
		fputs("a line\n", stream);
		if (i % 10 == 0)
			fflush(NULL);
	} else if (!strcmp(how, "putc"))
		putc('x', stream);
	else if (!strcmp(how, "fgetc"))
		fgetc(stream);
	else if (!strcmp(how, "fgets"))
		fgets(text, sizeof(text), stream);
	else if (!strcmp(how, "fscanf"))
		fscanf(stream, "%63s", text);
	else if (!strcmp(how, "rand"))
		rand();
	else if (!strcmp(how, "lrand48"))
		lrand48();
	else if (!strcmp(how, "nrand48"))
		nrand48(states[me]);
	else if (!strcmp(how, "localtime"))
		localtime_r(&seconds, &parts);
	else if (!strcmp(how, "setenv"))
		setenv("LIBRARY_LOCKS", "set", 1);
	else if (!strcmp(how, "atexit"))
		atexit(nothing);
	else if (!strcmp(how, "dladdr"))
		dladdr((void *)(uintptr_t)once, &place);
	else if (!strcmp(how, "dl_iterate_phdr"))
		dl_iterate_phdr(see, NULL);
	else if (!strcmp(how, "readdir"))
		readdir(directory);
	else if (!strcmp(how, "regexec"))
		regexec(&expression, "text", 0, NULL, 0);
	else if (!strcmp(how, "setlocale"))
		setlocale(LC_ALL, "C");
	else if (!strcmp(how, "iconv_open"))
		iconv_close(iconv_open("UTF-8", "UTF-8"));
	else if (!strcmp(how, "putc_unlocked"))
		(putc_unlocked)('x', stream);
	else if (!strcmp(how, "fwrite_unlocked"))
		fwrite_unlocked("", 0, 0, stream);
	else if (!strcmp(how, "fopen"))
		fclose(fopen("/dev/null", "r"));
	else
		exit(3);
}

static void *work(void *me)
{
	for (int i = 0; i < TURNS; i++)
		once((long)me, i);
	return NULL;
}

int main(int count, char **arguments)
{
	pthread_t threads[MOST];
	char *text;
	size_t bytes;
	int most = count > 2 ? atoi(arguments[2]) : 1;
	int reads;

	how = arguments[1];
	memory = open_memstream(&text, &bytes);
	directory = opendir("/");
	regcomp(&expression, "t.*t", REG_EXTENDED);
	reads = how[0] == 'f' && (how[1] == 'g' || how[1] == 's');
	stream = fopen(reads ? "/dev/zero" : "/dev/null", reads ? "r" : "w");
	for (long i = 0; i < most; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (int i = 0; i < most; i++)
		pthread_join(threads[i], NULL);
	fclose(stream);
	closedir(directory);
	regfree(&expression);
	return 0;
}
