// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Which commuting calls share no cache line: `run` in this folder says how it is used.
 *   corefold run --cpus 4 -- conflict_free FILE [show]     tests what candidates.c has found to commute: any of its lines
 * Prints a line for each pair (the conflicting tests, and all), and one for each source of conflicts (tests, and two places
 * in this program, relative to its start); with `show` each test that conflicts, too.
 */
#include "run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

extern char __executable_start;

enum { SOURCES = 4096 };

struct source {
	uint64_t pcs[2];
	long tests;
};

struct tally {
	FILE *file;
	struct runner *runner;
	bool shows;
	long tests, conflicts;
	struct source sources[SOURCES];
	int source_count;
};

static bool parts_of(const char *word, int64_t expected[2])
{
	return sscanf(word, "%" SCNd64 ":%" SCNd64, &expected[0], &expected[1]) == 2;
}

static void count_source(struct tally *t, const struct conflict *c)
{
	struct source *s = t->sources;
	while (s < t->sources + t->source_count && memcmp(s->pcs, c->pcs, sizeof s->pcs))
		s++;
	if (s == t->sources + SOURCES)
		return; // the rarest come last
	if (s == t->sources + t->source_count) {
		t->source_count++;
		memcpy(s->pcs, c->pcs, sizeof s->pcs);
	}
	s->tests++;
}

static bool is_first(const struct conflict *all, int which)
{
	for (int i = 0; i < which; i++)
		if (!memcmp(all[i].pcs, all[which].pcs, sizeof all[i].pcs))
			return false;
	return true;
}

// The state, the two calls, and where they conflict.
static void show(const struct plan *p, const struct conflict *conflicts, int count)
{
	uint64_t start = (uint64_t)&__executable_start;
	for (int i = 0; i < p->setups; i++)
		call_print(stdout, &p->setup[i], NULL);
	for (int i = 0; i < 2; i++) {
		printf("%s ", i ? "B" : "A");
		call_print(stdout, &p->calls[i], NULL);
	}
	for (int i = 0; i < count; i++)
		printf("at\t0x%" PRIx64 "\t0x%" PRIx64 "\n", conflicts[i].pcs[0] - start - 1, conflicts[i].pcs[1] - start - 1);
}

static void test(const struct plan *p, void *argument)
{
	struct tally *t = argument;
	struct conflict conflicts[CONFLICTS_MOST];
	int64_t expected[2];
	char word[64];
	int count;
	if (fscanf(t->file, "%63s", word) != 1)
		abort();
	if (!parts_of(word, expected))
		return;
	count = runner_run(t->runner, p, expected, conflicts);
	t->tests++;
	t->conflicts += count > 0;
	if (t->shows && count)
		show(p, conflicts, count);
	for (int i = 0; i < count; i++)
		if (is_first(conflicts, i))
			count_source(t, &conflicts[i]);
}

// The next pair of the file; false: there is none.
static bool run_pair(struct tally *t)
{
	int a, b;
	if (fscanf(t->file, "%d %d", &a, &b) != 2)
		return false;
	if (a < 0 || a > b || b >= ROWS)
		abort();
	t->tests = t->conflicts = 0;
	plan_pair((enum row)a, (enum row)b, test, t);
	printf("pair\t%s\t%s\t%ld\t%ld\n", row_names[a], row_names[b], t->conflicts, t->tests);
	return true;
}

static void print_sources(const struct tally *t)
{
	uint64_t start = (uint64_t)&__executable_start;
	for (const struct source *s = t->sources; s < t->sources + t->source_count; s++)
		printf("source\t%ld\t0x%" PRIx64 "\t0x%" PRIx64 "\n", s->tests, s->pcs[0] - start - 1, s->pcs[1] - start - 1);
}

int main(int argc, char **argv)
{
	static struct tally tally;
	if (argc < 2 || !(tally.file = fopen(argv[1], "r"))) {
		fprintf(stderr, "usage: conflict_free FILE [show]\n");
		return 2;
	}
	tally.shows = argc > 2;
	tally.runner = runner_new();
	while (run_pair(&tally))
		;
	print_sources(&tally);
	runner_free(tally.runner);
	fclose(tally.file);
	return 0;
}
