// SPDX-License-Identifier: MIT OR Apache-2.0
#include "strace_tasks.h"

#include <stdlib.h>
#include <string.h>

static void drop(struct strace_tasks *tasks, int handle)
{
	struct trace_step *step;
	if (handle < 0 || --tasks->handles[handle].users)
		return;
	step = trace_add(tasks->trace, TRACE_CLOSE);
	if (!step) {
		tasks->no_memory = true;
		return;
	}
	step->handle = handle;
	step->result = 0;
}

int strace_new_handle(struct strace_tasks *tasks, const char *path)
{
	struct trace *trace = tasks->trace;
	/* Room is doubled at powers of two. */
	if (!(trace->handles & (trace->handles - 1))) {
		size_t room = trace->handles ? 2 * (size_t)trace->handles : 1;
		struct strace_handle *grown = realloc(tasks->handles, room * sizeof *grown);
		if (!grown) {
			tasks->no_memory = true;
			return -1;
		}
		tasks->handles = grown;
	}
	tasks->handles[trace->handles] = (struct strace_handle){ 0, path };
	return trace->handles++;
}

int strace_handle(struct strace_task *task, int64_t fd)
{
	return fd >= 0 && fd < task->fds->count ? task->fds->all[fd].handle : -1;
}

void strace_set(struct strace_tasks *tasks, struct strace_task *task, int64_t fd, int handle, bool closes_on_exec)
{
	struct strace_fds *fds = task->fds;
	if (fd < 0 || fd >= STRACE_MOST_FDS)
		return;
	if (fd >= fds->count) {
		int count = (int)fd + 16;
		struct strace_fd *grown = handle < 0 ? NULL : realloc(fds->all, (size_t)count * sizeof *grown);
		if (!grown) {
			tasks->no_memory |= handle >= 0;
			return;
		}
		fds->all = grown;
		while (fds->count < count)
			grown[fds->count++] = (struct strace_fd){ -1, false };
	}
	int old = fds->all[fd].handle;
	if (handle >= 0)
		tasks->handles[handle].users++;
	fds->all[fd] = (struct strace_fd){ handle, closes_on_exec };
	drop(tasks, old);
}

static struct strace_fds *copy(struct strace_tasks *tasks, const struct strace_fds *from)
{
	struct strace_fds *fds = calloc(1, sizeof *fds);
	if (!fds)
		return NULL;
	fds->users = 1;
	if (!from || !from->count)
		return fds;
	fds->all = malloc((size_t)from->count * sizeof *fds->all);
	if (!fds->all) {
		free(fds);
		return NULL;
	}
	memcpy(fds->all, from->all, (size_t)from->count * sizeof *fds->all);
	fds->count = from->count;
	for (int i = 0; i < fds->count; i++)
		if (fds->all[i].handle >= 0)
			tasks->handles[fds->all[i].handle].users++;
	return fds;
}

static void release(struct strace_tasks *tasks, struct strace_fds *fds)
{
	if (--fds->users)
		return;
	for (int i = 0; i < fds->count; i++)
		drop(tasks, fds->all[i].handle);
	free(fds->all);
	free(fds);
}

static struct strace_task *find(struct strace_tasks *tasks, int64_t pid)
{
	for (size_t i = 0; i < tasks->count; i++)
		if (tasks->all[i].pid == pid)
			return &tasks->all[i];
	return NULL;
}

static struct strace_task *add(struct strace_tasks *tasks, int64_t pid, const struct strace_task *parent, bool shares)
{
	/* Before the tasks move. */
	struct strace_fds *fds = parent && shares ? parent->fds : copy(tasks, parent ? parent->fds : NULL);
	const char *cwd = parent ? parent->cwd : "/";
	struct strace_task *grown =
		tasks->count < STRACE_MOST_TASKS ? realloc(tasks->all, (tasks->count + 1) * sizeof *grown) : NULL;
	if (grown)
		tasks->all = grown;
	if (!grown || !fds) {
		if (fds && !(parent && shares))
			release(tasks, fds);
		tasks->no_memory = true;
		return NULL;
	}
	fds->users += parent && shares;
	grown[tasks->count] = (struct strace_task){ .pid = pid, .fds = fds, .cwd = cwd };
	return &grown[tasks->count++];
}

static bool starts(const struct strace_task *task, const char *word)
{
	return task->unfinished_length >= strlen(word) && !memcmp(task->unfinished, word, strlen(word));
}

struct strace_task *strace_task(struct strace_tasks *tasks, int64_t pid)
{
	struct strace_task *task = find(tasks, pid), *parent = NULL;
	if (task)
		return task;
	for (size_t i = 0; i < tasks->count; i++) {
		task = &tasks->all[i];
		if ((starts(task, "clone") || starts(task, "fork") || starts(task, "vfork")) &&
		    (!parent || task->began > parent->began))
			parent = task;
	}
	bool shares = parent && strace_has((struct strace_span){ parent->unfinished, parent->unfinished_length },
					   "CLONE_FILES");
	return add(tasks, pid, parent, shares);
}

void strace_child(struct strace_tasks *tasks, int64_t parent, int64_t pid, bool shares)
{
	struct strace_task *from = find(tasks, parent);
	if (from && !find(tasks, pid))
		add(tasks, pid, from, shares);
}

void strace_ended(struct strace_tasks *tasks, struct strace_task *task)
{
	tasks->trace->never_resumed += task->unfinished != NULL;
	free(task->unfinished);
	release(tasks, task->fds);
	*task = tasks->all[--tasks->count];
}

void strace_executed(struct strace_tasks *tasks, struct strace_task *task)
{
	for (int fd = 0; fd < task->fds->count; fd++)
		if (task->fds->all[fd].closes_on_exec)
			strace_set(tasks, task, fd, -1, false);
}

void strace_tasks_free(struct strace_tasks *tasks)
{
	while (tasks->count)
		strace_ended(tasks, &tasks->all[tasks->count - 1]);
	free(tasks->all);
	free(tasks->handles);
}
