// SPDX-License-Identifier: MIT OR Apache-2.0
// Arguments of corefold-fs.
#include "front.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <sys/sysinfo.h>

static const char help[] =
	"Mounts corefold's file system: files in memory, or an existing directory through its caches.\n"
	"\n"
	"Usage: corefold-fs [OPTION...] MOUNTPOINT\n"
	"\n"
	"  --size BYTES         memory for contents, names and inodes, with k, m, g or t, or as a\n"
	"                       percentage of the machine's (50%)\n"
	"  --inodes N           number of files and directories, with k, m, g (the size in pages of 4 KiB)\n"
	"  --mode OCTAL         permissions of the root directory (755); it belongs to the caller\n"
	"  --passthrough DIR    the files are DIR's; nobody else may change DIR while it is mounted\n"
	"  --cache SECONDS      how long the kernel keeps names and attributes (1)\n"
	"  --threads N          maximum number of requests served at the same time (10)\n"
	"  -f, --foreground     do not go into the background\n"
	"  -o OPTION[,...]      options of mount(8) and libfuse: ro, noatime, allow_other, ...\n"
	"                       (root's mounts are for all users: allow_other)\n"
	"  -h, --help           this text\n"
	"\n"
	"Examples:\n"
	"  corefold-fs --size 1g --inodes 100k /mnt      a file system of 1 GiB\n"
	"  corefold-fs --passthrough /srv/data /mnt      /srv/data, with names and attributes cached\n"
	"  fusermount3 -u /mnt                           unmount; files in memory are gone\n"
	"\n"
	"Exit status: 0 once mounted (with -f: after unmounting), 1 with a message otherwise.\n"
	"docs/corefold-fs.md describes limits, permissions and caching.\n";

static void wrong(const char *what, const char *value)
{
	fprintf(stderr, "corefold-fs: %s: %s\nTry corefold-fs --help.\n", what, value);
	exit(1);
}

static int64_t percent_of_memory(double percent)
{
	struct sysinfo s;
	sysinfo(&s);
	return (int64_t)((double)s.totalram * s.mem_unit * percent / 100);
}

// A positive number with a suffix of `suffixes`, powers of `step`.
static int64_t number(const char *text, const char *suffixes, double step, const char *what)
{
	char *end;
	const char *suffix;
	double value = strtod(text, &end);
	if (end == text || !(value > 0) || !isfinite(value))
		wrong(what, text);
	if (*end == '%' && strchr(suffixes, '%') && !end[1]) {
		if (value > 100)
			wrong(what, text);
		return percent_of_memory(value);
	}
	suffix = *end ? strchr(suffixes, *end | 0x20) : NULL; // lower case
	if (*end && (!suffix || end[1]))
		wrong(what, text);
	if (suffix)
		value *= pow(step, (double)(suffix - suffixes + 1));
	if (value < 1 || value > 1e18 / 4)
		wrong(what, text);
	return (int64_t)value;
}

static uint32_t octal(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 8);
	if (end == text || *end || value > 07777)
		wrong("--mode is not an octal number up to 7777", text);
	return (uint32_t)value;
}

static double cache_seconds(const char *text)
{
	char *end;
	double value = strtod(text, &end);
	if (end == text || *end || !(value >= 0) || value > 1e9)
		wrong("--cache is not a number of seconds", text);
	return value;
}

enum { SIZE = 256, INODES, MODE, PASSTHROUGH, CACHE, THREADS };

static void store(struct options *o, int option, const char *value)
{
	switch (option) {
	case SIZE: o->size = number(value, "kmgt%", 1024, "--size is not a number of bytes"); break;
	case INODES: o->inodes = number(value, "kmg", 1000, "--inodes is not a number"); break;
	case MODE: o->mode = octal(value); break;
	case PASSTHROUGH: o->passthrough = value; break;
	case CACHE: o->cache = cache_seconds(value); break;
	case THREADS:
		if ((o->threads = (int)fmin(1000, (double)number(value, "", 1, "--threads is not a number"))) < 1)
			wrong("--threads is not a number", value);
		break;
	case 'f': o->foreground = 1; break;
	case 'o': o->extra = value; break;
	case 'h': fputs(help, stdout); exit(0);
	default: fputs("Try corefold-fs --help.\n", stderr); exit(1);
	}
}

static void check(const struct options *o)
{
	struct stat s;
	if (!o->mountpoint)
		wrong("a mount point is missing", "corefold-fs [OPTION...] MOUNTPOINT");
	if (o->passthrough && (o->size || o->inodes || o->mode))
		wrong("--size, --inodes and --mode cannot be used with --passthrough", "the limits are those of its file system");
	if (o->passthrough && stat(o->passthrough, &s))
		wrong(o->passthrough, strerror(errno));
	if (stat(o->mountpoint, &s))
		wrong(o->mountpoint, strerror(errno));
	if (!S_ISDIR(s.st_mode))
		wrong(o->mountpoint, "not a directory");
}

// The caches would wait for themselves.
static void check_apart(const struct options *o)
{
	char *inner = realpath(o->mountpoint, NULL), *outer = realpath(o->passthrough, NULL);
	size_t length = outer ? strlen(outer) : 0;
	if (!inner || !outer)
		wrong("cannot find", inner ? o->passthrough : o->mountpoint);
	if (!strncmp(inner, outer, length) && (inner[length] == '/' || !inner[length] || length == 1))
		wrong("the mount point lies in the directory of --passthrough", o->mountpoint);
	free(inner);
	free(outer);
}

void options_parse(struct options *o, int argc, char **argv)
{
	static const struct option options[] = {
		{ "size", required_argument, NULL, SIZE },       { "inodes", required_argument, NULL, INODES },
		{ "mode", required_argument, NULL, MODE },       { "passthrough", required_argument, NULL, PASSTHROUGH },
		{ "cache", required_argument, NULL, CACHE },     { "threads", required_argument, NULL, THREADS },
		{ "foreground", no_argument, NULL, 'f' },        { "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int option;
	*o = (struct options){ .cache = 1, .threads = 10 };
	while ((option = getopt_long(argc, argv, "fho:", options, NULL)) >= 0)
		store(o, option, optarg);
	if (optind < argc)
		o->mountpoint = argv[optind];
	if (optind + 1 < argc)
		wrong("unexpected argument", argv[optind + 1]);
	check(o);
	if (o->passthrough) {
		check_apart(o);
		return;
	}
	o->mode = o->mode ? o->mode : 0755;
	o->size = o->size ? o->size : percent_of_memory(50);
	o->inodes = o->inodes ? o->inodes : (o->size + CF_PAGE - 1) / CF_PAGE;
}
