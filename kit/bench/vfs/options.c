// SPDX-License-Identifier: MIT OR Apache-2.0
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
	"Usage: vfs-bench [OPTIONS] WORKLOAD\n"
	"\n"
	"Runs a workload on a file system, and prints operations per second with a 95 % confidence interval.\n"
	"\n"
	"Options:\n"
	"  --threads N        Threads [default: one per CPU]\n"
	"  --operations N     Operations of each thread; of replay: passes over the trace [default: 20000; replay: 20]\n"
	"  --warm N           Warm-up operations of each thread, not measured [default: a tenth; replay: 0]\n"
	"  --batches N        Parts of the run, over whose rates the interval is computed [default: 20]\n"
	"  --repetitions N    Runs, each in a new file system; if more than one, the interval is over their rates [default: 1]\n"
	"  --target RATE      Also print the result as a percentage of this number of operations per second\n"
	"  --work CYCLES      Average computation between operations [default: 0]\n"
	"  --seed N           Seed of the threads' random numbers [default: 0]\n"
	"  --connections N    Connections open at a time, over all threads [default: 16 per thread]\n"
	"  --messages N       Messages of a connection in each direction [default: 1]\n"
	"  --message BYTES    Size of a message [default: 64]\n"
	"  --block BYTES      Size of reads and writes [default: 4096]\n"
	"  --file BYTES       Size of a thread's file [default: 1048576]\n"
	"  --files N          Files per thread that are looked up or opened [default: 64]\n"
	"  --depth N          Components of a deep path [default: 12]\n"
	"  --trace FILE       Trace to replay: an iolog of fio, or the output of strace\n"
#ifdef BENCH_VFS_KIT
	"  --fs kernel|kit    The kernel's file system or the kit's [default: kit]\n"
#endif
	"  --in DIRECTORY     Where files are created and removed, for the kernel's file system [default: /dev/shm]\n"
	"  --json FILE|-      Also write the result as JSON; - means standard output, instead of the text\n"
	"  --quiet            Print no text\n"
	"  --list             List the workloads, and the options that each uses\n"
	"  --help             Print this\n"
	"\n"
	"Examples:\n"
	"  vfs-bench lookup                                  stat of each thread's own files, on every CPU\n"
	"  vfs-bench --connections 10000 --target 1e6 socket in percent of a million connections per second\n"
	"  vfs-bench --threads 4 --repetitions 10 storage    an interval over ten runs\n"
	"  strace -f -ttt -T -yy -o log tar xf linux.tar; vfs-bench --trace log replay\n"
	"\n"
	"Exit codes: 0 measured; 1 a call failed; 2 usage.\n";

void options_list(FILE *to)
{
	for (size_t i = 0; i < workload_count; i++)
		fprintf(to, "%-16s %s%s%s%s\n", workloads[i].name, workloads[i].about, workloads[i].options ? " (" : "",
			workloads[i].options ? workloads[i].options : "", workloads[i].options ? ")" : "");
}

static bool wrong(const char *what, const char *value)
{
	fprintf(stderr, "vfs-bench: %s%s; see --help\n", what, value);
	return false;
}

static bool parse_number(const char *text, long least, long most, long *to)
{
	char *end;
	errno = 0;
	long value = strtol(text, &end, 10);
	if (errno || *end || end == text || value < least || value > most)
		return false;
	*to = value;
	return true;
}

static bool parse_rate(const char *text, double *to)
{
	char *end;
	*to = strtod(text, &end);
	return end != text && !*end && *to > 0 && *to < 1e18;
}

enum { NUMBERS = 14, TARGET = NUMBERS, TRACE, FS, IN, JSON, QUIET, LIST, HELP };

static const struct number {
	const char *name;
	size_t at;
	long least, most;
} numbers[NUMBERS] = {
#define NUMBER(name, field, least, most) { name, offsetof(struct settings, field), least, most }
	NUMBER("threads", threads, 1, 4096),	     NUMBER("operations", operations, 1, 1L << 40),
	NUMBER("warm", warm, 0, 1L << 40),	     NUMBER("batches", batches, 1, 1 << 20),
	NUMBER("repetitions", repetitions, 1, 1 << 20), NUMBER("work", work, 0, 1L << 30),
	NUMBER("connections", connections, 1, 1 << 24), NUMBER("messages", messages, 0, 1 << 20),
	NUMBER("message", message, 1, 1 << 16),	     NUMBER("block", block, 1, BUFFER_BYTES),
	NUMBER("file", file, 1, 1L << 40),	     NUMBER("files", files, 1, 1 << 20),
	NUMBER("depth", depth, 2, 64),		     NUMBER("seed", seed, 0, 1L << 30),
};

static bool set(struct options *options, int option, const char *value)
{
	if (option < NUMBERS) {
		const struct number *n = &numbers[option];
		long *to = (long *)((char *)&options->settings + n->at);
		return parse_number(value, n->least, n->most, to) || wrong("invalid or out-of-range number: ", value);
	}
	switch (option) {
	case TARGET: return parse_rate(value, &options->settings.target) || wrong("not a rate: ", value);
	case TRACE: options->settings.trace_file = value; return true;
	case IN: options->settings.where = value; return true;
	case JSON: options->json = value; return true;
	case QUIET: options->is_quiet = true; return true;
	case LIST: options->lists = true; return true;
	case HELP: options->helps = true; return true;
	default: break;
	}
#ifdef BENCH_VFS_KIT
	options->calls = strcmp(value, "kit") ? &fs_kernel : &fs_kit;
#endif
	return !strcmp(value, options->calls->name) || wrong("no such file system: ", value);
}

static void defaults(struct options *options, long cpus)
{
	struct settings *s = &options->settings;
	bool replays = !strcmp(options->workload->name, "replay");
	s->threads = s->threads ? s->threads : cpus;
	s->operations = s->operations ? s->operations : replays ? 20 : 20000;
	s->warm = s->warm >= 0 ? s->warm : replays ? 0 : s->operations / 10;
	s->connections = s->connections ? s->connections : 16 * s->threads;
}

static bool fit(const struct settings *s, const struct workload *workload)
{
	bool replays = !strcmp(workload->name, "replay");
	if (s->file < s->block)
		return wrong("--file is smaller than --block", "");
	if (replays != (s->trace_file != NULL))
		return wrong(replays ? "replay needs --trace" : "--trace is for replay only", "");
	return true;
}

bool options_parse(struct options *options, int argc, char **argv, long cpus)
{
	struct option all[NUMBERS + 8] = {
		[TARGET] = { "target", required_argument, NULL, 0 }, [TRACE] = { "trace", required_argument, NULL, 0 },
		[FS] = { "fs", required_argument, NULL, 0 },	     [IN] = { "in", required_argument, NULL, 0 },
		[JSON] = { "json", required_argument, NULL, 0 },     [LIST] = { "list", no_argument, NULL, 0 },
		[QUIET] = { "quiet", no_argument, NULL, 0 },
		[HELP] = { "help", no_argument, NULL, 0 },
	};
	int at, c;
	*options = (struct options){ .settings = { .warm = -1, .batches = 20, .repetitions = 1, .messages = 1, .message = 64,
						   .block = 4096, .file = 1 << 20, .files = 64, .depth = 12 } };
#ifdef BENCH_VFS_KIT
	options->calls = &fs_kit;
#else
	options->calls = &fs_kernel;
#endif
	for (int i = 0; i < NUMBERS; i++)
		all[i] = (struct option){ numbers[i].name, required_argument, NULL, 0 };
	while ((c = getopt_long(argc, argv, "", all, &at)) != -1)
		if (c == '?' || !set(options, at, optarg))
			return false;
	if (options->helps || options->lists)
		return true;
	if (optind + 1 != argc)
		return wrong(optind == argc ? "a workload is missing" : "more than one workload", "");
	for (size_t i = 0; i < workload_count; i++)
		options->workload = strcmp(argv[optind], workloads[i].name) ? options->workload : &workloads[i];
	if (!options->workload)
		return wrong("no such workload: ", argv[optind]);
	defaults(options, cpus);
	return fit(&options->settings, options->workload);
}

void options_help(FILE *to)
{
	fputs(usage, to);
}
