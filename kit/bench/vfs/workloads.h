/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * workloads.h: between the table of workloads and those on names (workload_names.c). Files of a thread are in /tN, those of
 * all threads in /all.
 */
#ifndef BENCH_VFS_WORKLOADS_H
#define BENCH_VFS_WORKLOADS_H

#include "workload.h"

enum { NAME_BYTES = 512 };

bool make_file(struct worker *w, const char *path, int64_t size);
/* It may be there already. */
bool make_folder(struct worker *w, const char *path);
bool own_folder(struct worker *w);

bool folders_before(struct worker *w);
bool hot_before(struct worker *w);

bool cold_prepare(struct worker *w);
bool deep_prepare(struct worker *w);
bool hot_prepare(struct worker *w);
bool lookup_prepare(struct worker *w);
bool negative_prepare(struct worker *w);
bool rename_prepare(struct worker *w);

bool create_many_operation(struct worker *w, long at);
bool create_one_operation(struct worker *w, long at);
bool lookup_operation(struct worker *w, long at);
bool negative_operation(struct worker *w, long at);
bool open_operation(struct worker *w, long at);
bool rename_across_operation(struct worker *w, long at);
bool rename_one_operation(struct worker *w, long at);
bool rename_trees_operation(struct worker *w, long at);

void names_after(struct worker *w);

#endif
