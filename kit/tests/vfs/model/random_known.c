// SPDX-License-Identifier: MIT OR Apache-2.0
// What the model has, for calls that succeed: its open descriptors and its names.
#include "random_calls.h"

#include <string.h>
#include <sys/stat.h>

enum { DEEPEST = 4 };

int random_open_fd(struct random_calls *r, const struct model_task *task)
{
	int chosen = -1, met = 0;
	for (int fd = 0; fd < MODEL_FDS; fd++)
		if (task->fds[fd] && one_in(r, (uint32_t)++met))
			chosen = fd;
	return chosen;
}

bool random_has_many(const struct random_calls *r, const struct model_task *task)
{
	int open = 0;
	for (int fd = 0; fd < MODEL_FDS; fd++)
		open += task->fds[fd] != NULL;
	return open > r->fds;
}

const struct node *random_start(const struct model_task *task, int fd)
{
	if (fd == -100)
		return task->cwd;
	if (fd < 0 || fd >= MODEL_FDS || !task->fds[fd] || !S_ISDIR(task->fds[fd]->node->mode))
		return NULL;
	return task->fds[fd]->node;
}

static void add(char *path, const char *name)
{
	size_t length = strlen(path);
	if (length && path[length - 1] != '/')
		strcat(path, "/");
	strcat(path, name);
}

const struct node *random_known_path(struct random_calls *r, const struct node *start, char *path)
{
	const struct node *at = start;
	for (int depth = 0; depth < DEEPEST && S_ISDIR(at->mode) && at->entry_count && !(depth && one_in(r, 3)); depth++) {
		const struct entry *entry = &at->entries[below(r, (uint32_t)at->entry_count)];
		add(path, entry->name);
		at = entry->node;
	}
	return at;
}
