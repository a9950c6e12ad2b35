// SPDX-License-Identifier: MIT OR Apache-2.0
// vfs-bench: file-system workloads, over the kernel's file system or the kit's. --help says how.
#include "bench.h"
#include "options.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Every connection takes two. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int complain(const char *about, const char *why)
{
	fprintf(stderr, "vfs-bench: %s: %s\n", about, why);
	return 1;
}

static int print(const struct options *options, const struct outcome *outcome)
{
	bool to_stdout = options->json && !strcmp(options->json, "-");
	FILE *json = to_stdout ? stdout : options->json ? fopen(options->json, "we") : NULL;
	if (options->json && !json)
		return complain(options->json, strerror(errno));
	if (!to_stdout && !options->is_quiet)
		report_text(stdout, options->calls, options->workload, &options->settings, outcome);
	if (json)
		report_json(json, options->calls, options->workload, &options->settings, outcome);
	bool written = json ? fflush(json) == 0 && !ferror(json) : true;
	if (json && !to_stdout)
		fclose(json);
	return written && fflush(stdout) == 0 ? 0 : complain("writing the result", strerror(errno));
}

int main(int argc, char **argv)
{
	struct options options;
	struct outcome outcome = { 0 };
	char why[256];
	if (!options_parse(&options, argc, argv, sysconf(_SC_NPROCESSORS_ONLN)))
		return 2;
	if (options.helps || options.lists) {
		(options.helps ? options_help : options_list)(stdout);
		return 0;
	}
	raise_descriptor_limit();
	struct settings *settings = &options.settings;
	if (settings->trace_file && !trace_load(&settings->trace, settings->trace_file, why, sizeof why))
		return complain(settings->trace_file, why);
	int result = bench_run(options.calls, options.workload, settings, &outcome) ?
			     print(&options, &outcome) : complain(outcome.failed, strerror(outcome.error));
	outcome_free(&outcome);
	trace_free(&settings->trace);
	return result;
}
