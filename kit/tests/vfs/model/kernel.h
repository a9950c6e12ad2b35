// SPDX-License-Identifier: MIT OR Apache-2.0
// The real kernel as an implementation: calls in a tmpfs of its own, with the file-system credentials of each task.
#ifndef KIT_TESTS_VFS_KERNEL_H
#define KIT_TESTS_VFS_KERNEL_H

#include "call.h"

struct kernel;
// Mounts a tmpfs in a name space of its own, and makes it this process's root: there is no way back. Null and why if it may not.
struct kernel *kernel_new(const struct cred creds[MODEL_TASKS], uint32_t root_mode, int fds, const char **why);
void kernel_call(void *kernel, const struct call *call, struct result *result);

#endif
