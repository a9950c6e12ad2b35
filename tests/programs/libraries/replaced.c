/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Loads one library after the other, each to where the last one was: the same code, with data elsewhere. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		void *library = dlopen(argv[i], RTLD_NOW);
		unsigned *data = library ? dlsym(library, "data") : NULL;
		unsigned long (*work)(unsigned long, int) = library ? dlsym(library, "work") : NULL;
		int changed = 0;

		if (!data || !work)
			return fprintf(stderr, "%s\n", dlerror()), 1;
		memset(data, 0x11, 1 << 16);
		work(i, 20000);
		for (int k = 0; k < 1 << 14; k++)
			changed += data[k] != 0x11111111;
		printf("%d changed\n", changed);
		dlclose(library);
	}
	return 0;
}
