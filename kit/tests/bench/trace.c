// SPDX-License-Identifier: MIT OR Apache-2.0
// Traces that others recorded: what is understood of them, what is told, and what no log may bring about.
#include "../harness.h"
#include "replay.h"
#include "trace.h"

#include <fcntl.h>

#ifdef CF_TEST_POINTS /* the library that is linked may have them */
void cf_test_point(const char *where)
{
	(void)where;
}
#endif

static struct trace trace;
static char why[256];

static bool reads(const char *log)
{
	trace_free(&trace);
	return trace_read(&trace, log, strlen(log), why, sizeof why);
}

/* Step `at` is this call on this path, or on this handle where there is no path. */
static bool step_is(size_t at, enum trace_call call, const char *path, int handle)
{
	const struct trace_step *s = at < trace.count ? &trace.steps[at] : NULL;
	if (s && s->call == call && s->handle == handle && !s->path == !path && (!path || !strcmp(s->path, path)))
		return true;
	fprintf(stderr, "step %zu of %zu is %s %s, handle %d\n", at, trace.count, s ? trace_call_names[s->call] : "-",
		s && s->path ? s->path : "-", s ? s->handle : -1);
	return false;
}

static size_t unknown(const char *name)
{
	for (size_t i = 0; i < trace.unknowns; i++)
		if (!strcmp(trace.unknown[i].name, name))
			return trace.unknown[i].count;
	return 0;
}

TEST("an iolog of version 2")
{
	CHECK(reads("fio version 2 iolog\n/d/a add\n/d/a open\n/d/a write 4096 512\n/d/a read 0 1024\n/d/a sync 0 0\n"
		    "/d/a trim 0 512\n/d/a close\n/d/a read 0 1\n/d/a dance 1 2\nnonsense\n\n"));
	CHECK_EQUAL(trace.count, 5);
	CHECK(step_is(0, TRACE_OPEN, "/d/a", 0));
	CHECK(step_is(1, TRACE_PWRITE, NULL, 0));
	CHECK_EQUAL(trace.steps[1].offset, 4096);
	CHECK_EQUAL(trace.steps[1].size, 512);
	CHECK(step_is(2, TRACE_PREAD, NULL, 0));
	CHECK(step_is(3, TRACE_FSYNC, NULL, 0));
	CHECK(step_is(4, TRACE_CLOSE, NULL, 0));
	CHECK_EQUAL(unknown("trim"), 1);
	CHECK_EQUAL(unknown("dance"), 1);
	CHECK_EQUAL(trace.foreign, 1);
	CHECK_EQUAL(trace.not_read, 1);
}

TEST("an iolog of version 3 has times in front, and other versions are refused")
{
	CHECK(reads("fio version 3 iolog\n12 /a add\n13 /a open\n13 /a write 0 512\r\n14 /a close"));
	CHECK_EQUAL(trace.count, 3);
	CHECK(!reads("fio version 4 iolog\n/a open\n"));
	CHECK(strstr(why, "version"));
	CHECK(!reads("fio version x"));
	CHECK(!reads("fio version 2 iolog"));
}

TEST("numbers of an iolog that cannot be are not believed")
{
	CHECK(reads("fio version 2 iolog\n/a open\n/a write 99999999999999999999 1\n/a write 0 9223372036854775807\n"
		    "/a write -1 4\n/a read 0 4k\n/a write 0\n/a read 0 1 2 3 4\n"));
	CHECK_EQUAL(trace.count, 1);
	CHECK_EQUAL(trace.not_read, 6);
}

TEST("plain strace output")
{
	CHECK(reads("openat(AT_FDCWD, \"/etc/passwd\", O_RDONLY|O_CLOEXEC) = 3\n"
		    "newfstatat(3, \"\", {st_mode=S_IFREG|0644, st_size=1000, ...}, AT_EMPTY_PATH) = 0\n"
		    "read(3, \"root:x:0:0:root:/root:/bin/bash\\n\"..., 4096) = 1000\n"
		    "lseek(3, -10, SEEK_END)                 = 990\n"
		    "mmap(NULL, 8192, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f6c0dc4a000\n"
		    "close(3)                                = 0\n"
		    "access(\"/nothing\", R_OK)                = -1 ENOENT (No such file or directory)\n"
		    "read(0, \"x\", 1) = 1\n"
		    "--- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED} ---\n"
		    "exit_group(0)                           = ?\n+++ exited with 0 +++\n"));
	CHECK_EQUAL(trace.count, 6);
	CHECK(step_is(0, TRACE_OPEN, "/etc/passwd", 0));
	CHECK(step_is(1, TRACE_FSTAT, NULL, 0));
	CHECK(step_is(2, TRACE_READ, NULL, 0));
	CHECK_EQUAL(trace.steps[2].size, 4096);
	CHECK_EQUAL(trace.steps[2].result, 1000);
	CHECK(step_is(3, TRACE_LSEEK, NULL, 0));
	CHECK_EQUAL(trace.steps[3].offset, -10);
	CHECK_EQUAL(trace.steps[3].flags, SEEK_END);
	CHECK(step_is(5, TRACE_STAT, "/nothing", -1));
	CHECK_EQUAL(trace.steps[5].result, -ENOENT);
	CHECK_EQUAL(unknown("mmap"), 1);
	CHECK_EQUAL(unknown("exit_group"), 1);
	CHECK_EQUAL(trace.foreign, 1);
	CHECK_EQUAL(trace.not_read, 0);
}

TEST("strace -f -ttt -T -yy: processes, times, and what descriptors are")
{
	CHECK(reads("7 1795393781.528883 openat(AT_FDCWD</home/a>, \"x/../y\", O_WRONLY|O_CREAT, 0644) = 4</home/a/y> <0.000012>\n"
		    "7 1795393781.6 write(4</home/a/y>, \"a, b) = \\\"\", 8) = 8 <0.0001>\n"
		    "7 1795393781.7 sendto(5<TCP:[127.0.0.1:4->127.0.0.1:5]>, \"x, y\", 4, 0, NULL, 0) = 4 <0.1>\n"
		    "7 1795393781.8 unlinkat(6</home/b>, \"z\", AT_REMOVEDIR) = 0 <0.1>\n"));
	CHECK_EQUAL(trace.count, 4); /* and the close of what is open at the end */
	CHECK(step_is(0, TRACE_OPEN, "/home/a/y", 0));
	CHECK_EQUAL(trace.steps[0].flags, O_WRONLY | O_CREAT);
	CHECK(step_is(1, TRACE_WRITE, NULL, 0));
	CHECK_EQUAL(trace.steps[1].size, 8);
	CHECK(step_is(2, TRACE_RMDIR, "/home/b/z", -1));
	CHECK(step_is(3, TRACE_CLOSE, NULL, 0));
	CHECK_EQUAL(unknown("sendto"), 1);
	CHECK_EQUAL(trace.not_read, 0);
}

TEST("times of day, relative times, and [pid N]")
{
	CHECK(reads("[pid    12] 10:11:12 mkdir(\"/a\", 0777) = 0\n[pid 12] 10:11:12.123456 rmdir(\"/a\") = 0\n"
		    "     0.000123 unlink(\"/b\") = -1 EPERM (Operation not permitted)\nstrace: Process 13 attached\n"
		    "10:11:12 (+     0.000123) symlink(\"../t\", \"/a/b/l\") = 0\n"));
	CHECK_EQUAL(trace.count, 4);
	CHECK_EQUAL(trace.steps[2].result, -EPERM);
	CHECK(step_is(3, TRACE_SYMLINK, "/a/b/l", -1));
	CHECK(!strcmp(trace.steps[3].other, "/a/t"));
	CHECK_EQUAL(trace.not_read, 0);
}

TEST("an unfinished call is where it is resumed")
{
	CHECK(reads("1 openat(AT_FDCWD, \"/a\", O_RDONLY <unfinished ...>\n2 mkdir(\"/d\", 0755) = 0\n"
		    "1 <... openat resumed>) = 3\n1 read(3,  <unfinished ...>\n2 <... write resumed>) = 1\n"
		    "1 <... read resumed>\"abc\", 10) = 3\n1 fsync(3 <unfinished ...>\n2 close(9 <unfinished ...>\n"
		    "2 close(8) = 0\n1 +++ killed by SIGKILL +++\n"));
	CHECK(step_is(0, TRACE_MKDIR, "/d", -1));
	CHECK(step_is(1, TRACE_OPEN, "/a", 0));
	CHECK(step_is(2, TRACE_READ, NULL, 0));
	CHECK_EQUAL(trace.steps[2].size, 10);
	CHECK_EQUAL(trace.steps[2].result, 3);
	CHECK(step_is(3, TRACE_CLOSE, NULL, 0));
	CHECK_EQUAL(trace.count, 4);
	CHECK_EQUAL(trace.never_resumed, 2);
	CHECK_EQUAL(trace.not_read, 1);
}

TEST("copies of a descriptor are one handle, closed with the last")
{
	CHECK(reads("1 open(\"/a\", O_RDWR) = 3\n1 dup2(3, 7) = 7\n1 fcntl(3, F_DUPFD_CLOEXEC, 10) = 10\n1 close(3) = 0\n"
		    "1 clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLD <unfinished ...>\n"
		    "2 write(7, \"x\", 1) = 1\n1 <... clone resumed>) = 2\n1 close(7) = 0\n1 close(10) = 0\n"
		    "2 execve(\"/bin/true\", [\"true\"], 0x7ff /* 39 vars */) = 0\n2 write(7, \"x\", 1) = 1\n2 close(7) = 0\n"
		    "2 write(10, \"x\", 1) = 1\n"));
	CHECK(step_is(1, TRACE_WRITE, NULL, 0));
	CHECK(step_is(2, TRACE_WRITE, NULL, 0));
	CHECK(step_is(3, TRACE_CLOSE, NULL, 0));
	CHECK_EQUAL(trace.count, 4);
	CHECK_EQUAL(trace.foreign, 1); /* 10 was closed by execve */
}

TEST("threads share descriptors, children have copies")
{
	CHECK(reads("1 clone3({flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD, stack=0x7f}, 88) = 2\n"
		    "2 open(\"/a\", O_RDWR) = 3\n1 fsync(3) = 0\n1 fork() = 5\n5 close(3) = 0\n1 fsync(3) = 0\n"));
	CHECK(step_is(1, TRACE_FSYNC, NULL, 0));
	CHECK(step_is(2, TRACE_FSYNC, NULL, 0));
	CHECK(step_is(3, TRACE_CLOSE, NULL, 0));
	CHECK_EQUAL(trace.count, 4);
}

TEST("relative paths: working directory, open directories")
{
	CHECK(reads("1 chdir(\"/w\") = 0\n1 open(\"d\", O_RDONLY|O_DIRECTORY) = 3\n1 openat(3, \"f\", O_RDONLY) = 4\n"
		    "1 stat(\"g\", {st_mode=S_IFREG}) = 0\n1 fchdir(3) = 0\n1 lstat(\"h\", 0x1) = 0\n1 unlinkat(9, \"i\", 0) = 0\n"));
	CHECK(step_is(0, TRACE_OPEN, "/w/d", 0));
	CHECK(step_is(1, TRACE_OPEN, "/w/d/f", 1));
	CHECK(step_is(2, TRACE_STAT, "/w/g", -1));
	CHECK(step_is(3, TRACE_LSTAT, "/w/d/h", -1));
	CHECK_EQUAL(trace.not_read, 1); /* nobody knows what 9 is */
}

TEST("no path leaves the root, whatever the log says")
{
	CHECK(reads("unlink(\"../../../etc/passwd\") = 0\nunlink(\"/a/../../../b/./c//d\") = 0\n"
		    "symlink(\"../../../../etc\", \"/a/l\") = 0\nunlink(\"\\57\\x2e\\x2e/e\") = 0\nstat(\"/\", 0x1) = 0\n"));
	CHECK(step_is(0, TRACE_UNLINK, "/etc/passwd", -1));
	CHECK(step_is(1, TRACE_UNLINK, "/b/c/d", -1));
	CHECK(step_is(2, TRACE_SYMLINK, "/a/l", -1));
	CHECK(!strcmp(trace.steps[2].other, "/etc"));
	CHECK(step_is(3, TRACE_UNLINK, "/e", -1));
	CHECK(step_is(4, TRACE_STAT, "/", -1));
}

TEST("lines that cannot be read are counted")
{
	static char longest[3 * 4096];
	const char *bad[] = { "open(\"/cut\"..., O_RDONLY) = 3", "open(\"/no end", "unlink(0x7fff) = 0", "open(", "a = b",
			      "unlink(\"/nul\\0here\") = 0", "<... read resumed>) = 1", "unlink(\"\") = 0", longest };
	char log[sizeof longest + 100];
	memset(longest, 'x', sizeof longest - 1);
	memcpy(longest, "unlink(\"/", 9);
	memcpy(longest + sizeof longest - 7, "\") = 0", 7);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		snprintf(log, sizeof log, "rmdir(\"/a\") = 0\n%s\n", bad[i]);
		CHECK(reads(log));
		CHECK_EQUAL(trace.count, 1);
		CHECK_EQUAL(trace.not_read, 1);
	}
	CHECK(!reads("this is no log\n"));
	CHECK(!reads(""));
}

TEST("many unknown calls are told apart up to a number")
{
	static char log[100 * 1024];
	size_t used = (size_t)snprintf(log, sizeof log, "rmdir(\"/a\") = 0\n");
	for (int i = 0; i < 1000; i++)
		used += (size_t)snprintf(log + used, sizeof log - used, "call%d() = 0\ncall_with_a_name_of_more_than_32_letters() = 0\n", i);
	CHECK(reads(log));
	CHECK(trace.unknowns <= 202);
	CHECK_EQUAL(unknown("call7"), 1);
	CHECK_EQUAL(unknown("call_with_a_name_of_more_than_3"), 1000);
	CHECK(unknown("others") > 700);
}

/* Whatever is in a log, a replay may rely on this. */
static void check_steps(void)
{
	for (size_t i = 0; i < trace.count; i++) {
		const struct trace_step *s = &trace.steps[i];
		CHECK(s->handle >= -1 && s->handle < trace.handles);
		CHECK(s->path || s->handle >= 0);
		CHECK(s->size >= 0 || s->call == TRACE_FTRUNCATE || s->result < 0 || s->call == TRACE_LSEEK);
		for (int other = 0; other < 2; other++) {
			const char *path = other ? s->other : s->path;
			CHECK(!path || (*path == '/' && !strstr(path, "/../") && !strstr(path, "//") && strlen(path) < 4096));
		}
	}
}

/* Bytes of a log that is right are changed, dropped and repeated. */
static void damage(char *log, size_t *length, uint64_t *random)
{
	static const char hostile[] = "\"\\<>()[]{},= \n\0019-.xp/";
	for (uint32_t n = random_below(random, 8) + 1; n; n--) {
		uint32_t at = random_below(random, (uint32_t)*length + 1), size = random_below(random, 20) + 1;
		if (at + size > *length)
			continue;
		if (random_below(random, 2)) {
			log[at] = hostile[random_below(random, sizeof hostile)];
		} else {
			*length -= size;
			memmove(log + at, log + at + size, *length - at);
		}
	}
}

TEST("no damage to a log does any harm")
{
	static const char *const right[] = {
		"7 1.5 openat(AT_FDCWD</h>, \"a/b\", O_RDWR|O_CREAT, 0644) = 4</h/a/b> <0.1>\n7 2.5 read(4</h/a/b>,  <unfinished ...>\n"
		"8 2.6 clone(flags=CLONE_FILES|SIGCHLD <unfinished ...>\n9 2.7 rename(\"/h/a\", \"/h/c\") = 0\n8 2.8 <... clone resumed>) = 9\n"
		"7 2.9 <... read resumed>\"xyz\"..., 100) = 3 <0.1>\n[pid 7] symlink(\"../x\", \"/h/y\") = 0\n7 dup2(4, 65000) = 65000\n"
		"7 lseek(4, 99, SEEK_CUR) = 102\n7 getdents64(4, 0x55 /* 3 entries */, 100) = 72\n7 +++ exited with 0 +++\n",
		"fio version 2 iolog\n/a add\n/a open\n/a write 4096 8192\n/a read 0 512\n/b open\n/b write 0 1\n/a close\n",
	};
	uint64_t random = 1;
	char log[2048];
	for (long i = 0; i < scaled(2000); i++) {
		const char *from = right[i % 2];
		size_t length = strlen(from);
		memcpy(log, from, length);
		damage(log, &length, &random);
		/* In memory of its own size: a byte behind it is seen by AddressSanitizer. */
		char *exact = malloc(length ? length : 1);
		memcpy(exact, log, length);
		trace_free(&trace);
		if (trace_read(&trace, exact, length, why, sizeof why)) {
			struct replay_files files;
			check_steps();
			CHECK(replay_files_of(&trace, &files));
			replay_files_free(&files);
		}
		free(exact);
	}
}

static const struct replay_file *file_at(const struct replay_files *files, const char *path)
{
	for (size_t i = 0; i < files->count; i++)
		if (files->all[i].length == strlen(path) && !memcmp(files->all[i].path, path, files->all[i].length))
			return &files->all[i];
	return NULL;
}

TEST("what a trace found when it began")
{
	struct replay_files files;
	CHECK(reads("open(\"/old/read\", O_RDONLY) = 3\nread(3, \"\", 4096) = 100\nread(3, \"\", 4096) = 50\n"
		    "mkdir(\"/new\", 0777) = 0\nopen(\"/new/file\", O_RDWR) = 4\nstat(\"/missing\", 0x1) = -1 ENOENT (No)\n"
		    "open(\"/missing\", O_WRONLY|O_CREAT, 0644) = 5\nstat(\"/folder\", 0x1) = 0\nstat(\"/folder/in\", 0x1) = 0\n"
		    "open(\"/listed\", O_RDONLY) = 6\ngetdents64(6, 0x1 /* 2 entries */, 100) = 48\n"
		    "mkdir(\"/there\", 0777) = -1 EEXIST (File exists)\nreadlink(\"/link\", \"x\", 10) = 1\n"
		    "rename(\"/from\", \"/to\") = 0\n"));
	CHECK(replay_files_of(&trace, &files));
	const struct {
		const char *path;
		enum replay_kind kind;
		int64_t size;
	} right[] = { { "/old", REPLAY_FOLDER, 0 },	{ "/old/read", REPLAY_FILE, 150 }, { "/new", REPLAY_ABSENT, 0 },
		      { "/new/file", REPLAY_ABSENT, 0 }, { "/missing", REPLAY_ABSENT, 0 },  { "/folder", REPLAY_FOLDER, 0 },
		      { "/folder/in", REPLAY_FILE, 0 },	{ "/listed", REPLAY_FOLDER, 0 },   { "/there", REPLAY_FOLDER, 0 },
		      { "/link", REPLAY_SYMLINK, 0 },	{ "/from", REPLAY_FILE, 0 },	   { "/to", REPLAY_ABSENT, 0 } };
	for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
		const struct replay_file *file = file_at(&files, right[i].path);
		CHECK(file);
		if (file && (file->kind != right[i].kind || file->size != right[i].size)) {
			fprintf(stderr, "%s: kind %d, size %lld\n", right[i].path, (int)file->kind, (long long)file->size);
			CHECK(false);
		}
	}
	replay_files_free(&files);
}

HARNESS_MAIN
