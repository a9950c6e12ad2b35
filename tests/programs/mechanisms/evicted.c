/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Goes through 128 KiB, which the second-level cache holds and the first does not: follows pointers, or, with any argument,
// changes a word of each line.

enum { LINES = 2048, ROUNDS = 30 };

static struct line { _Alignas(64) struct line *next; volatile long count; } lines[LINES];

static void change(void)
{
	for (int i = 0; i < ROUNDS * LINES; i++)
		lines[i % LINES].count++;
}

int main(int argc, char **argv)
{
	(void)argv;
	for (int i = 0; i < LINES; i++)
		lines[i].next = &lines[(i * 5 + 1) % LINES];
	if (argc > 1) {
		change();
		return 0;
	}
	struct line *at = lines;
	for (int i = 0; i < ROUNDS * LINES; i++)
		at = at->next;
	return at == 0;
}
