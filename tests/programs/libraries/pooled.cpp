// SPDX-License-Identifier: MIT OR Apache-2.0
// Takes objects and arrays from the pool of pool.cpp.
#include <cstdio>

extern long objects;
long wrongly_deleted();

int main()
{
	long before = objects;
	int *one[10], *many[10];

	for (int i = 0; i < 10; i++) {
		one[i] = new int(i);
		many[i] = new int[i + 1]{};
	}
	long taken = objects - before;

	for (int i = 0; i < 10; i++) {
		delete one[i];
		delete[] many[i];
	}
	printf("%ld taken, %ld left, %ld wrong\n", taken, objects - before, wrongly_deleted());
}
