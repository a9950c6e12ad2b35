/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Two threads, two fields of one heap object, allocated in the way that is asked for: heap HOW */
#include <corefold.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 3000

struct mailbox {
	char name[16];
	atomic_long sent, received;
};

struct server {
	long id;
	struct mailbox boxes[3];
};

static atomic_long *mine[2];

static void *hammer(void *counter)
{
	for (int i = 0; i < ROUNDS; i++)
		atomic_fetch_add_explicit((atomic_long *)counter, 1, memory_order_relaxed);
	return NULL;
}

static __attribute__((noinline)) void *allocate_or_die(size_t size)
{
	void *memory = malloc(size);

	if (!memory)
		abort();
	return memset(memory, 0, size);
}

static struct mailbox *one(const char *how)
{
	struct mailbox *box = NULL;

	if (!strcmp(how, "malloc"))
		box = malloc(sizeof *box);
	if (!strcmp(how, "calloc"))
		box = calloc(1, sizeof(struct mailbox));
	if (!strcmp(how, "wrapper"))
		box = allocate_or_die(sizeof *box);
	if (!strcmp(how, "aligned"))
		box = aligned_alloc(64, 64);
	if (!strcmp(how, "label")) {
		box = malloc(400);
		COREFOLD_LABEL(box, 400, "the arena");
	}
	return box;
}

int main(int argc, char **argv)
{
	const char *how = argc == 2 ? argv[1] : "";
	struct server *server = calloc(4, sizeof *server);
	struct mailbox *box = one(how);
	pthread_t other;

	if (!strcmp(how, "nested"))
		box = &server[1].boxes[2];
	if (!box)
		return 3;
	mine[0] = &box->sent;
	mine[1] = &box->received;
	pthread_create(&other, NULL, hammer, mine[1]);
	hammer(mine[0]);
	pthread_join(other, NULL);
	return 0;
}
