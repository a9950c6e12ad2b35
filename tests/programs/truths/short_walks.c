/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Walks a list of sixteen again and again: "chained" begins each walk where the sum of the one before says. */
#include <string.h>

enum { LENGTH = 16, WALKS = 20000 };
static struct element {
	_Alignas(64) struct element *next;
	long value;
} elements[LENGTH];
static struct element *volatile first = elements;
static volatile long found;

static void walk(long mask)
{
	long sum = 0;

	for (int i = 0; i < WALKS; i++) {
		struct element *e = first + (sum & mask);

		sum = 0;
		for (; e; e = e->next)
			sum += e->value;
		found = sum;
	}
}

int main(int argc, char **argv)
{
	for (int i = 0; i + 1 < LENGTH; i++)
		elements[i].next = &elements[i + 1];
	if (argc > 1 && strcmp(argv[1], "chained") == 0)
		walk(1);
	else
		for (int i = 0; i < WALKS; i++) {
			long sum = 0;

			for (struct element *e = first; e; e = e->next)
				sum += e->value;
			found = sum;
		}
	return 0;
}
