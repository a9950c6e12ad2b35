/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef BENCH_VFS_OPTIONS_H
#define BENCH_VFS_OPTIONS_H

#include "workload.h"

#include <stdio.h>

struct options {
	struct settings settings;
	const struct fs_calls *calls;
	const struct workload *workload;
	const char *json;
	bool lists, helps, is_quiet;
};

/* False: what is wrong has been said. */
bool options_parse(struct options *options, int argc, char **argv, long cpus);
void options_list(FILE *to);
void options_help(FILE *to);

#endif
