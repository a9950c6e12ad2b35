// SPDX-License-Identifier: MIT OR Apache-2.0
// Every workload, in small, over every file system that is built in: it runs to its end, and leaves nothing behind.
#include "../harness.h"
#include "bench.h"

#include <dirent.h>
#include <sys/resource.h>

#ifdef CF_TEST_POINTS /* the library that is linked may have them */
void cf_test_point(const char *where)
{
	(void)where;
}
#endif

#if CF_BUILT_SANITISED
/* liburcu is not built with ThreadSanitizer; what it orders is told in cf_rcu.h. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "ignore_noninstrumented_modules=1";
}
#endif

#ifdef BENCH_VFS_KIT
static const struct fs_calls *const systems[] = { &fs_kernel, &fs_kit };
#else
static const struct fs_calls *const systems[] = { &fs_kernel };
#endif
#define FOR_EACH_SYSTEM(s) for (const struct fs_calls *const *s = systems; s < systems + sizeof systems / sizeof *systems; s++)

static char place[] = "/tmp/corefold-test-XXXXXX";

static const struct workload *named(const char *name)
{
	for (size_t i = 0; i < workload_count; i++)
		if (!strcmp(workloads[i].name, name))
			return &workloads[i];
	return NULL;
}

static struct settings small(void)
{
	return (struct settings){ .threads = 3, .operations = 70, .warm = 10, .batches = 7, .repetitions = 1, .connections = 20,
				  .messages = 2, .message = 64, .block = 512, .file = 4096, .files = 20, .depth = 12,
				  .where = place };
}

static int entries(const char *path)
{
	DIR *all = opendir(path);
	int count = -2; /* . and .. */
	while (all && readdir(all))
		count++;
	if (all)
		closedir(all);
	return count;
}

static bool runs(const struct fs_calls *calls, const char *workload, const struct settings *settings, struct outcome *outcome)
{
	if (bench_run(calls, named(workload), settings, outcome))
		return true;
	fprintf(stderr, "%s over %s: %s: %s\n", workload, calls->name, outcome->failed, strerror(outcome->error));
	return false;
}

TEST("every workload runs, and its files are gone afterwards")
{
	struct settings settings = small();
	FOR_EACH_SYSTEM(system)
		for (size_t i = 0; i < workload_count; i++) {
			struct outcome outcome = { 0 };
			bool replays = !strcmp(workloads[i].name, "replay");
			bool cannot_drop = workloads[i].cold && *system == &fs_kernel;
			if (replays || cannot_drop)
				continue;
			CHECK(runs(*system, workloads[i].name, &settings, &outcome));
			CHECK_EQUAL(outcome.count, 7);
			CHECK_EQUAL(outcome.operations, 3 * 70);
			CHECK(outcome.rate.mean > 0 && outcome.rate.low < outcome.rate.mean);
			outcome_free(&outcome);
		}
	CHECK_EQUAL(entries(place), 0);
}

TEST("names that cannot be forgotten are told, not measured warm")
{
	struct settings settings = small();
	struct outcome outcome;
	CHECK(!bench_run(&fs_kernel, named("lookup-cold"), &settings, &outcome));
	CHECK_EQUAL(outcome.error, EOPNOTSUPP);
	outcome_free(&outcome);
	CHECK_EQUAL(entries(place), 0);
}

TEST("repetitions give the interval instead of batches")
{
	struct settings settings = small();
	struct outcome outcome;
	settings.repetitions = 3;
	CHECK(runs(&fs_kernel, "open", &settings, &outcome));
	CHECK_EQUAL(outcome.count, 3);
	CHECK_EQUAL(outcome.operations, 3 * 3 * 70);
	outcome_free(&outcome);
}

TEST("too many connections for the descriptors are told, and nobody waits for ever")
{
	struct settings settings = small();
	struct rlimit limit, few = { 40, 0 };
	struct outcome outcome;
	settings.connections = 300;
	getrlimit(RLIMIT_NOFILE, &limit);
	few.rlim_max = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &few);
	CHECK(!bench_run(&fs_kernel, named("socket"), &settings, &outcome));
	setrlimit(RLIMIT_NOFILE, &limit);
	CHECK_EQUAL(outcome.error, EMFILE);
	CHECK(outcome.failed && !strcmp(outcome.failed, "socketpair"));
	outcome_free(&outcome);
	CHECK_EQUAL(entries(place), 0);
}

static const char log_of_all[] =
	"openat(AT_FDCWD, \"/old\", O_RDONLY) = 3\nread(3, \"\", 4096) = 100\nread(3, \"\", 4096) = 0\nlseek(3, 10, SEEK_SET) = 10\n"
	"fstat(3, 0x1) = 0\nclose(3) = 0\nmkdir(\"/d\", 0777) = 0\nopen(\"/d/f\", O_RDWR|O_CREAT|O_EXCL, 0600) = 3\n"
	"write(3, \"x\", 1) = 1\npwrite64(3, \"\"..., 2000000, 5) = 2000000\npread64(3, \"\"..., 3000000, 5) = 2000000\n"
	"fsync(3) = 0\nftruncate(3, 5) = 0\nlink(\"/d/f\", \"/d/g\") = 0\nrename(\"/d/g\", \"/d/h\") = 0\n"
	"symlink(\"../../../../../old\", \"/d/s\") = 0\nreadlink(\"/d/s\", \"x\", 99) = 20\nstat(\"/d/s\", 0x1) = 0\n"
	"lstat(\"/d/s\", 0x1) = 0\nopen(\"/d\", O_RDONLY|O_DIRECTORY) = 4\ngetdents64(4, 0x1 /* 5 entries */, 999) = 120\n"
	"unlink(\"/d/h\") = 0\nunlink(\"/d/f\") = 0\nrmdir(\"/d\") = -1 ENOTEMPTY (Directory not empty)\nunlink(\"/d/s\") = 0\n"
	"rmdir(\"/d\") = 0\nstat(\"/d\", 0x1) = -1 ENOENT (No such file or directory)\n";

TEST("a trace of every call has the recorded results")
{
	struct settings settings = small();
	char why[100];
	CHECK(trace_read(&settings.trace, log_of_all, strlen(log_of_all), why, sizeof why));
	settings.operations = 3;
	settings.warm = 1;
	FOR_EACH_SYSTEM(system) {
		struct outcome outcome;
		CHECK(runs(*system, "replay", &settings, &outcome));
		CHECK_EQUAL(outcome.differs, 0);
		CHECK_EQUAL(outcome.operations, 3 * 3 * (long)settings.trace.count);
		outcome_free(&outcome);
	}
	trace_free(&settings.trace);
	CHECK_EQUAL(entries(place), 0);
}

TEST("results that are not the recorded ones are counted")
{
	static const char log[] = "open(\"/a\", O_RDONLY) = 3\nread(3, \"\", 10) = 10\nread(3, \"\", 10) = 0\nunlink(\"/b\") = -1 EPERM (No)\n";
	struct settings settings = small();
	struct outcome outcome;
	char why[100];
	CHECK(trace_read(&settings.trace, log, strlen(log), why, sizeof why));
	settings.operations = 2;
	settings.warm = 0;
	CHECK(runs(&fs_kernel, "replay", &settings, &outcome));
	CHECK_EQUAL(outcome.differs, 3 * 2); /* unlink: there is no /b, and nothing said that there was */
	outcome_free(&outcome);
	trace_free(&settings.trace);
}

TEST("a replay's symbolic link does not lead out of its directory")
{
	static const char log[] = "symlink(\"/../../../../../tmp\", \"/out\") = 0\nmkdir(\"/out/corefold-escaped\", 0777) = 0\n";
	struct settings settings = small();
	struct outcome outcome;
	char why[100];
	CHECK(trace_read(&settings.trace, log, strlen(log), why, sizeof why));
	settings.operations = 1;
	settings.warm = 0;
	CHECK(runs(&fs_kernel, "replay", &settings, &outcome));
	CHECK(access("/tmp/corefold-escaped", F_OK) != 0);
	outcome_free(&outcome);
	trace_free(&settings.trace);
	CHECK_EQUAL(entries(place), 0);
}

int main(void)
{
	if (!mkdtemp(place)) {
		perror(place);
		return 2;
	}
	int failed = run_tests();
	return rmdir(place) ? 1 : failed;
}
