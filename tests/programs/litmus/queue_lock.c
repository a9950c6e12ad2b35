/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A queue lock (Mellor-Crummey and Scott 1991) whose accesses are inline assembly: queue_lock THREADS prints "passed".
   Nodes lie on stacks, or with -DHEAP on the heap; with -DBUILTIN_UNLOCK the compiler makes the store that hands over. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { TURNS = 300, MOST_THREADS = 128 };

struct node {
	unsigned waits;
	struct node *next;
};

static struct node *last;
static unsigned inside;

static inline void put(unsigned *word, unsigned value)
{
	__asm__ volatile("movl %1, %0" : "=m"(*word) : "ir"(value) : "memory");
}

static inline unsigned get(unsigned *word)
{
	unsigned value;
	__asm__ volatile("movl %1, %0" : "=r"(value) : "m"(*word) : "memory");
	return value;
}

static inline void put_node(struct node **word, struct node *value)
{
	__asm__ volatile("movq %1, %0" : "=m"(*word) : "r"(value) : "memory");
}

static inline struct node *get_node(struct node **word)
{
	struct node *value;
	__asm__ volatile("movq %1, %0" : "=r"(value) : "m"(*word) : "memory");
	return value;
}

static inline struct node *exchange(struct node **word, struct node *value)
{
	__asm__ volatile("xchgq %0, %1" : "+m"(*word), "+r"(value) : : "memory");
	return value;
}

static inline int replace(struct node **word, struct node *old, struct node *value)
{
	unsigned char done;
	__asm__ volatile("lock cmpxchgq %3, %0; sete %1"
			 : "+m"(*word), "=q"(done), "+a"(old) : "q"(value) : "memory", "cc");
	return done;
}

static void lock(struct node *me)
{
	struct node *before;

	me->waits = 1;
	me->next = NULL;
	before = exchange(&last, me);
	if (before) {
		put_node(&before->next, me);
		while (get(&me->waits))
			__asm__ volatile("pause" ::: "memory");
	}
}

static void unlock(struct node *me)
{
	struct node *next = get_node(&me->next);

	if (!next) {
		if (get_node(&last) == me && replace(&last, me, NULL))
			return;
		while (!(next = get_node(&me->next)))
			__asm__ volatile("pause" ::: "memory");
	}
#ifdef BUILTIN_UNLOCK
	__atomic_store_n(&next->waits, 0, __ATOMIC_RELEASE);
#else
	put(&next->waits, 0);
#endif
}

static void expect(unsigned number, const char *where)
{
	if (get(&inside) != number) {
		printf("%s: %u inside\n", where, get(&inside));
		exit(1);
	}
}

static void *run(void *unused)
{
#ifdef HEAP
	struct node *me = malloc(sizeof *me);
#else
	struct node on_stack, *me = &on_stack;
#endif
	for (int i = 0; i < TURNS; i++) {
		lock(me);
		put(&inside, inside + 1);
		expect(1, "locked");
		put(&inside, inside - 1);
		unlock(me);
		lock(me);
		expect(0, "locked again");
		unlock(me);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[MOST_THREADS];
	int n = argc == 2 ? atoi(argv[1]) : 0;

	if (n < 1 || n > MOST_THREADS)
		return 2;
	for (int i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return puts("passed"), 0;
}
