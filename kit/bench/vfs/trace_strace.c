// SPDX-License-Identifier: MIT OR Apache-2.0
// What strace prints, as steps. A call is where it ended: a resumed line has its result.
#include "strace_calls.h"

#include <stdlib.h>
#include <string.h>

static bool hold(struct strace_task *task, struct strace_span text, size_t line, struct trace *trace)
{
	trace->never_resumed += task->unfinished != NULL;
	free(task->unfinished);
	task->unfinished_length = text.length;
	task->began = line;
	task->unfinished = malloc(text.length + 1);
	if (task->unfinished)
		memcpy(task->unfinished, text.text, text.length);
	return task->unfinished;
}

/* The two halves of a call as one; false: nothing waits to be resumed, or something else. */
static bool resume(struct strace_reader *r, const struct strace_line *line)
{
	struct strace_task *task = r->task;
	size_t first = task->unfinished_length, second = line->rest.length;
	if (!task->unfinished || first < line->name.length + 1 || task->unfinished[line->name.length] != '(' ||
	    memcmp(task->unfinished, line->name.text, line->name.length))
		return false;
	char *whole = realloc(task->unfinished, first + second + 1);
	if (!whole) {
		r->tasks.no_memory = true;
		return true;
	}
	memcpy(whole + first, line->rest.text, second);
	task->unfinished = NULL;
	task->unfinished_length = 0;
	bool fine = strace_read_call(r, (struct strace_span){ whole, first + second });
	free(whole);
	return fine;
}

static bool one_line(struct strace_reader *r, const char *from, const char *end)
{
	struct strace_line line = strace_line(from, end);
	if (line.kind == STRACE_NOTHING || line.kind == STRACE_SIGNAL)
		return true;
	if (line.kind == STRACE_OTHER)
		return false;
	r->task = strace_task(&r->tasks, line.pid);
	if (!r->task)
		return true;
	switch (line.kind) {
	case STRACE_EXIT: strace_ended(&r->tasks, r->task); return true;
	case STRACE_CALL: return strace_read_call(r, line.rest);
	case STRACE_UNFINISHED:
		r->tasks.no_memory |= !hold(r->task, line.rest, r->tasks.trace->lines, r->tasks.trace);
		return true;
	default: return resume(r, &line);
	}
}

bool trace_read_strace(struct trace *trace, const char *log, size_t length, char *why, size_t size)
{
	struct strace_reader r = { .tasks = { .trace = trace } };
	const char *end = log + length, *stop;
	for (const char *at = log; at < end && !r.tasks.no_memory; at = stop + 1) {
		stop = trace_line_end(at, end);
		trace->lines++;
		trace->not_read += !one_line(&r, at, stop);
	}
	bool fine = !r.tasks.no_memory;
	strace_tasks_free(&r.tasks);
	if (!fine)
		snprintf(why, size, "no memory for its steps, or more than %d processes", STRACE_MOST_TASKS);
	return fine;
}
