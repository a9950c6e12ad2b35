/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads that book entries through two libraries and one that is loaded late. */
#include "ledger.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 8, ENTRIES = 500 };

static long (*plugin_rate)(long), (*plugin_asked)(void);

static void *function(void *library, const char *name)
{
	void *found = library ? dlsym(library, name) : NULL;
	if (!found) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return found;
}

static void *clerk(void *thread)
{
	for (long i = 0; i < ENTRIES; i++) {
		struct entry entry = { (long)thread, plugin_rate(i % 10), i };
		ledger_book(&entry);
		audit_note(&entry);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	void *plugin = dlopen("./plugin.so", RTLD_NOW);

	plugin_rate = (long (*)(long))function(plugin, "plugin_rate");
	plugin_asked = (long (*)(void))function(plugin, "plugin_asked");
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, clerk, (void *)i);
	for (long i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%ld booked, %ld audited, %ld rated\n", ledger_booked(), audit_noted(), plugin_asked());
	return dlclose(plugin);
}
