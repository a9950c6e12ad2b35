// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Code that the program writes to memory makes a system call that blocks: `futex` waits for a thread that will never
 * run, `read` for a pipe that another thread would write to.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* mov rax, rdi; mov rdi, rsi; mov rsi, rdx; mov rdx, rcx; xor r10d, r10d; syscall; ret */
static const unsigned char code[] = {0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0x48, 0x89, 0xd6, 0x48,
				     0x89, 0xca, 0x45, 0x31, 0xd2, 0x0f, 0x05, 0xc3};
static int ends[2];

static void *writes(void *unused)
{
	if (write(ends[1], "x", 1) != 1)
		perror("write");
	return unused;
}

int main(int argc, char **argv)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long (*call)(long, long, long, long);
	pthread_t thread;
	int word = 0;
	char byte;

	memcpy(page, code, sizeof(code));
	call = (long (*)(long, long, long, long))page;
	if (pipe(ends) != 0)
		return 2;
	pthread_create(&thread, NULL, writes, NULL);
	if (argc > 1 && strcmp(argv[1], "futex") == 0)
		call(SYS_futex, (long)&word, 0, 0);
	else
		call(SYS_read, ends[0], (long)&byte, 1);
	pthread_join(thread, NULL);
	return 0;
}
