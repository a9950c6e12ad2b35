// SPDX-License-Identifier: MIT OR Apache-2.0
// cf_vfs as an implementation of the calls.
#ifndef KIT_TESTS_VFS_OURS_H
#define KIT_TESTS_VFS_OURS_H

#include "model.h"
#include <corefold/cf_backend.h>
#include <corefold/cf_vfs.h>

struct ours {
	struct cf_vfs *vfs;
	struct cf_task *tasks[MODEL_TASKS];
	const struct cf_time *now; // the model's clock
	bool any_fd;               // descriptors by CF_O_ANYFD
};

// With the model's limits; `directory` not null: passed through to it. 0 or -errno.
int ours_new(struct ours *ours, const struct model_options *options, const struct cf_time *now, char *directory);
void ours_free(struct ours *ours);
void ours_call(void *ours, const struct call *call, struct result *result);

#endif
