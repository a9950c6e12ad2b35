/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Follows pointers through 128 KiB, which the second-level cache holds and the first does not.

enum { LINES = 2048, ROUNDS = 30 };

static struct line { _Alignas(64) struct line *next; } lines[LINES];

int main(void)
{
	for (int i = 0; i < LINES; i++)
		lines[i].next = &lines[(i * 5 + 1) % LINES];
	struct line *at = lines;
	for (int i = 0; i < ROUNDS * LINES; i++)
		at = at->next;
	return at == 0;
}
