/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a program can learn of its process and of the machine, and seed random numbers with. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

static void show(const char *path)
{
	char line[1024];
	FILE *file = fopen(path, "r");

	while (file && fgets(line, sizeof(line), file))
		printf("%s: %s", path, line);
	if (file)
		fclose(file);
}

/* All fields but those of memory, which are of the host. */
static void show_stat(void)
{
	char line[1024];
	FILE *file = fopen("/proc/self/stat", "r");

	if (!file || !fgets(line, sizeof(line), file))
		exit(2);
	fclose(file);
	line[strcspn(line, "\n")] = '\0';
	int at = 0;
	for (char *field = strtok(line, " "); field; field = strtok(NULL, " "))
		if (++at < 23 || at > 28)
			printf("%d: %s\n", at, field);
}

int main(void)
{
	char template[] = "/tmp/XXXXXX", name[L_tmpnam];
	double loads[3];
	struct sysinfo info;
	struct tms ran;

	printf("%d %d %d %d %d\n", getpid(), getppid(), getpgrp(), getsid(0), gettid());
	printf("%ld %ld\n", syscall(SYS_getpid), syscall(SYS_getppid));
	printf("%s %s %s\n", mktemp(template), tmpnam(name), tmpnam(NULL));
	printf("%s\n", tempnam("/tmp", "prefix"));
	if (getloadavg(loads, 3) != 3 || sysinfo(&info))
		return 1;
	printf("%.2f %.2f %.2f\n", loads[0], loads[1], loads[2]);
	printf("%ld %lu %lu %lu %lu %d\n", info.uptime, info.loads[0], info.totalram, info.freeram, info.bufferram,
	       info.procs);
	printf("%ld %ld\n", (long)times(&ran), (long)time(NULL));
	show("/proc/uptime");
	show("/proc/loadavg");
	show_stat();
	puts("end");
	return 0;
}
