/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Whoever opens a FIFO waits until its other end is open, too; then it is as any pipe. */
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { BIG = 300000 };

static char directory[] = "/tmp/fifos-XXXXXX", path[64];
static int lowest;

static void wait_ms(int ms)
{
	usleep((unsigned)ms * 1000);
}

static long now_ms(void)
{
	struct timespec time;

	CHECK(clock_gettime(CLOCK_MONOTONIC, &time) == 0);
	return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static int opened(int flags)
{
	int fd = open(path, flags);

	CHECK(fd >= 0 && !(fcntl(fd, F_GETFL) & O_NONBLOCK) == !(flags & O_NONBLOCK));
	return fd;
}

static void *say_hello(void *ms)
{
	wait_ms((int)(long)ms);
	int fd = opened(O_WRONLY);
	CHECK(write(fd, "hello", 5) == 5 && close(fd) == 0);
	return NULL;
}

static void hear_hello(int reader_ms, int writer_ms)
{
	pthread_t writer;
	char bytes[8];
	long begin = now_ms();

	CHECK(pthread_create(&writer, NULL, say_hello, (void *)(long)writer_ms) == 0);
	wait_ms(reader_ms);
	int fd = opened(O_RDONLY);
	CHECK(now_ms() - begin >= (reader_ms > writer_ms ? reader_ms : writer_ms) - 1);
	CHECK(read(fd, bytes, 8) == 5 && memcmp(bytes, "hello", 5) == 0);
	CHECK(read(fd, bytes, 8) == 0);
	CHECK(close(fd) == 0 && pthread_join(writer, NULL) == 0);
}

static void *write_big(void *unused)
{
	static char bytes[BIG];
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0);

	memset(bytes, 'b', BIG);
	CHECK(fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC && write(fd, bytes, BIG) == BIG && close(fd) == 0);
	return unused;
}

static void more_than_it_holds(void)
{
	static char bytes[7000];
	pthread_t writer;
	ssize_t got, all = 0;

	CHECK(pthread_create(&writer, NULL, write_big, NULL) == 0);
	int fd = opened(O_RDONLY);
	while ((got = read(fd, bytes, sizeof(bytes))) > 0)
		all += got;
	CHECK(got == 0 && all == BIG && close(fd) == 0 && pthread_join(writer, NULL) == 0);
}

static void *print_lines(void *unused)
{
	FILE *stream = fopen(path, "w");

	CHECK(stream);
	for (int i = 0; i < 20000; i++)
		CHECK(fprintf(stream, "line %d\n", i) > 0);
	CHECK(fclose(stream) == 0);
	return unused;
}

static void by_streams(void)
{
	pthread_t writer;
	char line[32];
	int number, count = 0;

	CHECK(pthread_create(&writer, NULL, print_lines, NULL) == 0);
	FILE *stream = fopen(path, "re");
	CHECK(stream && fcntl(fileno(stream), F_GETFD) == FD_CLOEXEC);
	while (fgets(line, sizeof(line), stream))
		CHECK(sscanf(line, "line %d", &number) == 1 && number == count++);
	CHECK(count == 20000 && fclose(stream) == 0 && pthread_join(writer, NULL) == 0);
	CHECK(!fopen(path, "wx") && errno == EEXIST);
}

/* A stream gets the FIFO in place of its own file, which is closed meanwhile. */
static void by_another_file_of_a_stream(void)
{
	pthread_t writer;
	char bytes[8];
	int old[2];
	long begin = now_ms();

	CHECK(pipe(old) == 0);
	FILE *stream = fdopen(old[1], "w");
	CHECK(stream && pthread_create(&writer, NULL, say_hello, (void *)10L) == 0);
	CHECK(fputs("rest", stream) >= 0 && freopen(path, "re", stream) == stream && now_ms() - begin >= 9);
	CHECK(read(old[0], bytes, 8) == 4 && read(old[0], bytes, 8) == 0 && close(old[0]) == 0);
	CHECK(fcntl(fileno(stream), F_GETFD) == FD_CLOEXEC && !(fcntl(fileno(stream), F_GETFL) & O_NONBLOCK));
	CHECK(fread(bytes, 1, 8, stream) == 5 && memcmp(bytes, "hello", 5) == 0 && feof(stream));
	CHECK(pthread_join(writer, NULL) == 0);
	CHECK(!freopen(path, "wx", stream) && errno == EEXIST);
	stream = fopen("/dev/null", "r");
	CHECK(freopen("/proc/self/cmdline", "r", stream) == stream && fgetc(stream) != EOF && fclose(stream) == 0);
}

static int by_rules(const char *name, int flags, __u64 resolve)
{
	struct open_how how = { .flags = (__u64)flags, .resolve = resolve };

	return (int)syscall(SYS_openat2, AT_FDCWD, name, &how, sizeof(how));
}

/* Older kernels have no such call. */
static void by_rules_of_names(__u64 resolve)
{
	pthread_t writer;
	char bytes[8], link[80];
	int fd, other = by_rules("/dev/null", O_RDONLY, 0);

	if (other < 0) {
		CHECK(errno == ENOSYS);
		return;
	}
	snprintf(link, sizeof(link), "%s-link", path);
	CHECK(symlink(path, link) == 0 && pthread_create(&writer, NULL, say_hello, (void *)10L) == 0);
	CHECK(by_rules(link, O_RDONLY, RESOLVE_NO_SYMLINKS) == -1 && errno == ELOOP && unlink(link) == 0);
	fd = by_rules(path, O_RDONLY | O_CLOEXEC, resolve);
	CHECK(fd >= 0 && (!simulated() || fd == other + 1) && fcntl(fd, F_GETFD) == FD_CLOEXEC);
	CHECK(read(fd, bytes, 8) == 5 && close(fd) == 0 && close(other) == 0 && pthread_join(writer, NULL) == 0);
	CHECK(syscall(SYS_openat2, AT_FDCWD, path, NULL, sizeof(struct open_how)) == -1 && errno == EFAULT);
}

static void without_waiting(void)
{
	char c;
	int reader, writer;

	CHECK(open(path, O_WRONLY | O_NONBLOCK) == -1 && errno == ENXIO);
	CHECK((reader = opened(O_RDONLY | O_NONBLOCK)) == lowest);
	CHECK(read(reader, &c, 1) == 0);
	CHECK((writer = opened(O_WRONLY | O_NONBLOCK)) == lowest + 1);
	CHECK(read(reader, &c, 1) == -1 && errno == EAGAIN);
	CHECK(close(writer) == 0 && (writer = opened(O_WRONLY)) == lowest + 1);
	CHECK(close(reader) == 0 && (reader = opened(O_RDONLY)) == lowest);
	CHECK(close(reader) == 0 && close(writer) == 0);
	CHECK((reader = opened(O_RDWR)) == lowest && write(reader, "x", 1) == 1 && read(reader, &c, 1) == 1);
	CHECK(close(reader) == 0);
	CHECK(open(path, O_RDONLY | O_CREAT | O_EXCL, 0600) == -1 && errno == EEXIST);
	CHECK(open(path, O_RDONLY | O_DIRECTORY) == -1 && errno == ENOTDIR);
}

static void *open_and_close(void *flags)
{
	int fd = opened((int)(long)flags);

	CHECK(!simulated() || fd == lowest);
	CHECK(close(fd) == 0);
	return NULL;
}

static pthread_barrier_t both;

static void *stay_open(void *unused)
{
	int fd = opened(O_WRONLY);

	CHECK(!simulated() || fd == lowest);
	pthread_barrier_wait(&both);
	CHECK(close(fd) == 0);
	return unused;
}

/* Others see that a thread waits; and it goes on even if they are gone by then. */
static void what_others_see(void)
{
	pthread_t thread, second;
	char c;
	int fd, writer;

	CHECK(pthread_create(&thread, NULL, open_and_close, (void *)(long)O_RDONLY) == 0);
	for (wait_ms(5); (fd = open(path, O_WRONLY | O_NONBLOCK)) < 0; wait_ms(1))
		CHECK(!simulated() && errno == ENXIO);
	CHECK(close(fd) == 0 && pthread_join(thread, NULL) == 0);
	CHECK(pthread_barrier_init(&both, NULL, 2) == 0);
	CHECK(pthread_create(&thread, NULL, stay_open, NULL) == 0);
	wait_ms(5);
	fd = opened(O_RDONLY | O_NONBLOCK);
	for (; read(fd, &c, 1) == 0; wait_ms(1))
		CHECK(!simulated());
	CHECK(errno == EAGAIN && close(fd) == 0);
	pthread_barrier_wait(&both);
	CHECK(pthread_join(thread, NULL) == 0);
	/* Two that write. */
	CHECK(pthread_create(&thread, NULL, say_hello, (void *)0L) == 0);
	CHECK(pthread_create(&second, NULL, say_hello, (void *)2L) == 0);
	wait_ms(5);
	fd = opened(O_RDONLY);
	CHECK((writer = opened(O_WRONLY)) >= 0);
	for (int i = 0; i < 10; i++)
		CHECK(read(fd, &c, 1) == 1);
	CHECK(close(writer) == 0 && read(fd, &c, 1) == 0 && close(fd) == 0);
	CHECK(pthread_join(thread, NULL) == 0 && pthread_join(second, NULL) == 0);
	/* One that comes later than the other end. */
	CHECK(pthread_create(&thread, NULL, say_hello, (void *)9L) == 0);
	fd = opened(O_RDONLY);
	for (int i = 0; i < 5; i++)
		CHECK(read(fd, &c, 1) == 1 && c == "hello"[i]);
	CHECK(close(fd) == 0 && pthread_join(thread, NULL) == 0);
}

static void handle(int signal)
{
	(void)signal;
}

static int is_over;

static void *interrupt(void *thread)
{
	do {
		wait_ms(5);
		CHECK(pthread_kill(*(pthread_t *)thread, SIGUSR1) == 0);
	} while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE));
	return NULL;
}

static void *open_to_be_cancelled(void *unused)
{
	int fd = open(path, O_RDONLY);

	CHECK(fd < 0);
	return unused;
}

static void interrupted(void)
{
	struct sigaction action = { .sa_handler = handle };
	pthread_t me = pthread_self(), other, writer;
	char bytes[8];
	void *value;
	int fd;

	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
	CHECK(pthread_create(&other, NULL, interrupt, &me) == 0);
	CHECK(open(path, O_RDONLY) == -1 && errno == EINTR);
	__atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
	CHECK(pthread_join(other, NULL) == 0);
	CHECK(open(path, O_WRONLY | O_NONBLOCK) == -1 && errno == ENXIO);
	action.sa_flags = SA_RESTART;
	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
	CHECK(pthread_create(&other, NULL, interrupt, &me) == 0);
	CHECK(pthread_create(&writer, NULL, say_hello, (void *)20L) == 0);
	CHECK((fd = opened(O_RDONLY)) >= 0 && read(fd, bytes, 8) == 5 && close(fd) == 0);
	CHECK(pthread_join(other, NULL) == 0 && pthread_join(writer, NULL) == 0);
	CHECK(pthread_create(&other, NULL, open_to_be_cancelled, NULL) == 0);
	wait_ms(5);
	CHECK(pthread_cancel(other) == 0 && pthread_join(other, &value) == 0 && value == PTHREAD_CANCELED);
	CHECK(open(path, O_WRONLY | O_NONBLOCK) == -1 && errno == ENXIO);
}

/* One without a name is never waited for. */
static void unnamed(void)
{
	char name[32];
	int pair[2], again;

	CHECK(pipe(pair) == 0 && close(pair[0]) == 0);
	snprintf(name, sizeof(name), "/dev/fd/%d", pair[1]);
	CHECK((again = open(name, O_WRONLY)) >= 0 && !(fcntl(again, F_GETFL) & O_NONBLOCK));
	CHECK(write(again, "x", 1) == -1 && errno == EPIPE);
	CHECK(close(again) == 0 && close(pair[1]) == 0);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	CHECK(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/fifo", directory);
	CHECK(mkfifo(path, 0600) == 0);
	CHECK((lowest = dup(0)) >= 0 && close(lowest) == 0);
	hear_hello(0, 10);
	hear_hello(10, 0);
	more_than_it_holds();
	by_streams();
	by_another_file_of_a_stream();
	by_rules_of_names(0);
	by_rules_of_names(RESOLVE_NO_SYMLINKS);
	without_waiting();
	what_others_see();
	interrupted();
	unnamed();
	CHECK(unlink(path) == 0 && rmdir(directory) == 0);
	puts("FIFOs are right");
	return 0;
}
