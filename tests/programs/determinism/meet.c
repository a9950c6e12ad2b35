// SPDX-License-Identifier: MIT OR Apache-2.0
// CPUS FIFO: opens the FIFO for writing on one CPU, for reading on more. Each waits until the other has opened it.
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	int is_first = argc > 2 && strcmp(argv[1], "1") == 0;
	if (argc < 3 || open(argv[2], is_first ? O_WRONLY : O_RDONLY) < 0) {
		perror("meet");
		return 1;
	}
	return 0;
}
