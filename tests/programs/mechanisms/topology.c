// SPDX-License-Identifier: MIT OR Apache-2.0
// topology [CPU]: what the machine's files say, by each way of reading one.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void say(const char *name, const char *text, long bytes)
{
	while (bytes > 0 && (text[bytes - 1] == '\n' || text[bytes - 1] == ' '))
		bytes--;
	printf("%s %.*s\n", name, (int)(bytes > 0 ? bytes : 0), text);
}

static void stream(const char *name, const char *path)
{
	char text[4096];
	FILE *file = fopen(path, "r");

	say(name, text, file ? (long)fread(text, 1, sizeof text, file) : 0);
	if (file)
		fclose(file);
}

static void descriptor(const char *name, int fd)
{
	char text[4096];

	say(name, text, fd < 0 ? 0 : read(fd, text, sizeof text));
	close(fd);
}

static int entries(DIR *directory, const char *prefix)
{
	int count = 0;

	for (struct dirent *entry; (entry = readdir(directory));) {
		size_t length = strlen(prefix);

		count += !strncmp(entry->d_name, prefix, length) && entry->d_name[length] >= '0' && entry->d_name[length] <= '9';
	}
	closedir(directory);
	return count;
}

static void paths(void)
{
	char resolved[PATH_MAX] = "", text[64];
	glob_t found;
	struct dirent **all;

	if (!realpath("/sys/devices/system/node/../cpu/./cpu2/topology", resolved))
		resolved[0] = 0;
	printf("resolved %s\n", resolved);
	glob("/sys/devices/system/cpu/cpu[0-9]*", 0, NULL, &found);
	printf("globbed %zu %s\n", found.gl_pathc, found.gl_pathc ? found.gl_pathv[0] : "");
	globfree(&found);
	printf("scanned %d\n", scandir("/sys/devices/system/node/node1", &all, NULL, alphasort));
	snprintf(text, sizeof text, "%d", chdir("/sys/devices/system/cpu"));
	printf("there %s\n", text);
	stream("possible", "possible");
}

/* What libnuma asks the kernel. */
static void policies(void)
{
	static volatile char pages[2][4096] __attribute__((aligned(4096)));
	unsigned long nodes = 0, both = 3, three = 7;
	int mode = -1, status[2];
	volatile void *which[2] = { pages[0], pages[1] };

	syscall(SYS_get_mempolicy, NULL, &nodes, 65L, NULL, 4L);
	printf("allowed %lx\n", nodes);
	printf("set %ld\n", syscall(SYS_set_mempolicy, 3L, &both, 65L));
	printf("no_such_node %ld\n", syscall(SYS_set_mempolicy, 3L, &three, 65L));
	syscall(SYS_get_mempolicy, &mode, &nodes, 65L, NULL, 0L);
	printf("policy %d %lx\n", mode, nodes);
	printf("bound %ld\n", syscall(SYS_mbind, pages, sizeof pages, 2L, &both, 65L, 0L));
	pages[0][0] = 1;
	printf("moved %ld", syscall(SYS_move_pages, 0L, 2L, which, NULL, status, 0L));
	printf(" %d\n", status[0]);
}

static int lines(const char *path, const char *prefix)
{
	char line[8192];
	int count = 0;
	FILE *file = fopen(path, "r");

	while (file && fgets(line, sizeof line, file))
		count += !strncmp(line, prefix, strlen(prefix));
	if (file)
		fclose(file);
	return count;
}

int main(int argc, char **argv)
{
	const char *cpu = argc > 1 ? argv[1] : "0";
	char path[256];
	struct stat status;
	int root = open("/", O_RDONLY | O_DIRECTORY), cpus = open("/sys/devices/system/cpu", O_RDONLY | O_DIRECTORY);
	DIR *directory;

	stream("online", "/sys/devices/system/cpu/online");
	descriptor("possible", open("/sys/devices/system/cpu//possible", O_RDONLY));
	snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%s/topology/thread_siblings_list", cpu);
	stream("siblings", path);
	snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%s/topology/core_siblings_list", cpu);
	descriptor("package", openat(root, path, O_RDONLY));
	snprintf(path, sizeof path, "cpu%s/topology/physical_package_id", cpu);
	descriptor("socket", openat(cpus, path, O_RDONLY));
	snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%s/topology/core_id", cpu);
	descriptor("core", (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY));
	snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%s/cache/index2/shared_cpu_list", cpu);
	stream("last_level", path);
	stream("nodes", "/sys/devices/system/node/online");
	stream("of_node_0", "/sys/devices/system/node/node0/cpulist");
	stream("distance", "/sys/devices/system/node/node0/distance");
	directory = opendir("/sys/devices/system/cpu");
	printf("cpu_directories %d\n", entries(directory, "cpu"));
	directory = opendir("/sys/devices/system/node/");
	printf("node_directories %d\n", entries(directory, "node"));
	printf("cpuinfo %d\n", lines("/proc/cpuinfo", "processor"));
	printf("stat %d\n", lines("/proc/stat", "cpu"));
	printf("allowed %d\n", lines("/proc/self/status", "Cpus_allowed_list:\t0-79"));
	printf("memory %d\n", lines("/proc/meminfo", "MemTotal:        8388608 kB"));
	printf("there %d %d\n", stat("/sys/devices/system/cpu/cpu1/topology", &status), access("/sys/devices/system/cpu/cpu1", R_OK));
	int missing = stat("/sys/devices/system/cpu/cpu80", &status);

	printf("not_there %d %d\n", missing, errno == ENOENT);
	printf("other_files %d\n", access("/proc/self/maps", R_OK) || access("/sys/devices/system", R_OK));
	paths();
	policies();
	return 0;
}
