// SPDX-License-Identifier: MIT OR Apache-2.0
// Steps of locks whose order others rest on, held apart by test points: hand-offs, deadlines, wake-ups that come in
// between. Compiled with the kit's sources and CF_TEST_POINTS.
#include "hold.h"
#include "../src/waiters.h"
#include <corefold/cf_mcs.h>
#include <corefold/cf_mutex.h>
#include <corefold/cf_osq.h>
#include <corefold/cf_rwsem.h>

static struct cf_mutex mutex;
static struct cf_rwsem sem;
static struct cf_mcs mcs;
static struct cf_qspin qspin;
static struct timespec deadline;
static int result, second_result;
static long plain; // what locks guard: for ThreadSanitizer

static struct timespec in_ms(long milliseconds)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += milliseconds * 1000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

// Until it holds, or a second has passed.
#define EVENTUALLY(condition)                                                                                          \
	do {                                                                                                           \
		for (int i_ = 0; i_ < 10000 && !(condition); i_++)                                                     \
			usleep(100);                                                                                   \
		CHECK(condition);                                                                                      \
	} while (0)

// How many sleep for it, and whether the first does so for good.
static int sleepers(struct cf_qspin *lock, struct cf_wait_list *list)
{
	int count = 0;
	cf_qspin_lock(lock);
	for (struct cf_waiter *w = list->first; w; w = w->next)
		count += __atomic_load_n(&w->state, __ATOMIC_RELAXED) == WAITS;
	cf_qspin_unlock(lock);
	return count;
}
#define MUTEX_SLEEPERS() sleepers(&mutex.wait_lock, &mutex.waiters)
#define SEM_SLEEPERS() sleepers(&sem.wait_lock, &sem.waiters)

// ---- the mutex

static void lock_mutex(void)
{
	result = cf_mutex_lock(&mutex);
	if (!result)
		cf_mutex_unlock(&mutex);
}

static void lock_mutex_until(void)
{
	result = cf_mutex_timedlock(&mutex, &deadline);
	if (!result)
		cf_mutex_unlock(&mutex);
}

// Main holds the mutex; `a` was woken once in vain and sleeps again.
static void passed_once(struct actor *a)
{
	cf_mutex_init(&mutex);
	CHECK_EQUAL(cf_mutex_lock(&mutex), 0);
	actor_start(a);
	EVENTUALLY(MUTEX_SLEEPERS() == 1);
	cf_mutex_unlock(&mutex);
	CHECK(actor_wait_held(a));
	CHECK_EQUAL(cf_mutex_lock(&mutex), 0);
	sem_post(&a->go_on);
	EVENTUALLY(MUTEX_SLEEPERS() == 1);
}

TEST("mutex: the longest sleeper, once woken in vain, gets it from its holder")
{
	struct actor a = { .act = lock_mutex, .stop_at = "mutex: woken" };
	passed_once(&a);
	__atomic_store_n(&a.stop_at, "mutex: woken", __ATOMIC_RELAXED);
	cf_mutex_unlock(&mutex);
	CHECK(actor_wait_held(&a));
	CHECK_EQUAL(cf_mutex_trylock(&mutex), -EBUSY); // nobody runs who could hold it: it was given to the sleeper
	actor_end(&a);
	CHECK_EQUAL(result, 0);
	CHECK_EQUAL(mutex.owner, 0);
}

static void hold_at_release(void)
{
	second_result = cf_mutex_lock(&mutex);
	EVENTUALLY(__atomic_load_n(&mutex.owner, __ATOMIC_RELAXED) & 2); // the hand-off is asked for
	cf_mutex_unlock(&mutex);
}

TEST("mutex: who asked for the hand-off leaves")
{
	struct actor a = { .act = lock_mutex_until, .stop_at = "mutex: woken" };
	deadline = in_ms(100);
	passed_once(&a);
	actor_end(&a);
	CHECK_EQUAL(result, -ETIMEDOUT);
	CHECK_EQUAL(mutex.owner, cf_self());
	cf_mutex_unlock(&mutex);
	CHECK_EQUAL(mutex.owner, 0);
}

TEST("mutex: who asked for the hand-off leaves while it is being handed off")
{
	struct actor asks = { .act = lock_mutex_until, .stop_at = "mutex: woken" };
	struct actor holds = { .act = hold_at_release, .stop_at = "mutex: released" };
	cf_mutex_init(&mutex);
	CHECK_EQUAL(cf_mutex_lock(&mutex), 0);
	deadline = in_ms(200);
	actor_start(&asks);
	EVENTUALLY(MUTEX_SLEEPERS() == 1);
	cf_mutex_unlock(&mutex);
	CHECK(actor_wait_held(&asks));
	actor_start(&holds); // takes it, and is held as it has seen the flag
	EVENTUALLY(cf_mutex_is_locked(&mutex));
	sem_post(&asks.go_on);
	CHECK(actor_wait_held(&holds));
	actor_end(&asks);
	actor_end(&holds);
	CHECK(result == -ETIMEDOUT || result == 0);
	CHECK_EQUAL(mutex.owner, 0);
}

TEST("mutex: free when the deadline passes")
{
	struct actor a = { .act = lock_mutex_until, .stop_at = "mutex: woken" };
	cf_mutex_init(&mutex);
	CHECK_EQUAL(cf_mutex_lock(&mutex), 0);
	deadline = in_ms(20);
	actor_start(&a);
	CHECK(actor_wait_held(&a)); // by the deadline
	CHECK(cf_deadline_passed(&deadline));
	cf_mutex_unlock(&mutex);
	actor_end(&a);
	CHECK_EQUAL(result, 0);
	CHECK_EQUAL(mutex.owner, 0);
}

// ---- the reader-writer lock

static void read_sem(void)
{
	result = cf_rwsem_read_lock(&sem);
	if (!result)
		cf_rwsem_read_unlock(&sem);
}

static void read_sem_until(void)
{
	result = cf_rwsem_read_timedlock(&sem, &deadline);
	if (!result)
		cf_rwsem_read_unlock(&sem);
}

static void write_sem(void)
{
	second_result = cf_rwsem_write_lock(&sem);
	if (!second_result)
		cf_rwsem_write_unlock(&sem);
}

static void write_sem_until(void)
{
	second_result = cf_rwsem_write_timedlock(&sem, &deadline);
	if (!second_result)
		cf_rwsem_write_unlock(&sem);
}

static void begin_sem(void)
{
	cf_rwsem_init(&sem);
	result = second_result = 1;
}

TEST("rwsem: a downgrade lets sleeping readers in")
{
	struct actor reader = { .act = read_sem };
	begin_sem();
	CHECK_EQUAL(cf_rwsem_write_lock(&sem), 0);
	actor_start(&reader);
	EVENTUALLY(SEM_SLEEPERS() == 1);
	cf_rwsem_downgrade(&sem);
	CHECK(actor_finishes(&reader));
	cf_rwsem_read_unlock(&sem);
	actor_end(&reader);
	CHECK_EQUAL(sem.count, 0);
}

TEST("rwsem: a sleeping writer is not passed by readers")
{
	struct actor writer = { .act = write_sem };
	struct timespec soon;
	begin_sem();
	CHECK_EQUAL(cf_rwsem_read_lock(&sem), 0);
	actor_start(&writer);
	EVENTUALLY(SEM_SLEEPERS() == 1);
	CHECK_EQUAL(cf_rwsem_read_trylock(&sem), -EBUSY);
	soon = in_ms(10);
	CHECK_EQUAL(cf_rwsem_read_timedlock(&sem, &soon), -ETIMEDOUT);
	cf_rwsem_read_unlock(&sem);
	actor_end(&writer);
	CHECK_EQUAL(second_result, 0);
	CHECK_EQUAL(sem.count, 0);
}

TEST("rwsem: who leaves wakes those behind")
{
	struct actor writer = { .act = write_sem_until }, reader = { .act = read_sem };
	begin_sem();
	deadline = in_ms(100);
	CHECK_EQUAL(cf_rwsem_read_lock(&sem), 0);
	actor_start(&writer);
	EVENTUALLY(SEM_SLEEPERS() == 1);
	actor_start(&reader);
	EVENTUALLY(SEM_SLEEPERS() == 2);
	actor_end(&writer);
	CHECK_EQUAL(second_result, -ETIMEDOUT);
	CHECK(actor_finishes(&reader));
	cf_rwsem_read_unlock(&sem);
	actor_end(&reader);
	CHECK_EQUAL(sem.count, 0);
}

TEST("rwsem: granted as the deadline passes")
{
	struct actor reader = { .act = read_sem_until, .stop_at = "rwsem: reader's deadline" };
	begin_sem();
	deadline = in_ms(10);
	CHECK_EQUAL(cf_rwsem_write_lock(&sem), 0);
	actor_start(&reader);
	CHECK(actor_wait_held(&reader));
	cf_rwsem_write_unlock(&sem);
	actor_end(&reader);
	CHECK_EQUAL(result, 0);
	CHECK_EQUAL(sem.count, 0);
}

TEST("rwsem: nobody passes the first once it has asked for the hand-off")
{
	struct actor writer = { .act = write_sem, .stop_at = "rwsem: woken" };
	struct timespec soon;
	begin_sem();
	CHECK_EQUAL(cf_rwsem_read_lock(&sem), 0);
	actor_start(&writer);
	EVENTUALLY(SEM_SLEEPERS() == 1);
	usleep(CF_RWSEM_HAND_OFF_NS / 1000 + 1000);
	cf_rwsem_read_unlock(&sem);
	CHECK(actor_wait_held(&writer));
	CHECK_EQUAL(cf_rwsem_write_lock(&sem), 0); // passes it, for the last time
	__atomic_store_n(&writer.stop_at, "rwsem: woken", __ATOMIC_RELAXED);
	sem_post(&writer.go_on);
	EVENTUALLY(__atomic_load_n(&sem.count, __ATOMIC_RELAXED) & CF_RWSEM_HAND_OFF);
	EVENTUALLY(SEM_SLEEPERS() == 1);
	cf_rwsem_write_unlock(&sem);
	CHECK(actor_wait_held(&writer)); // it is free now
	soon = in_ms(5);
	CHECK_EQUAL(cf_rwsem_write_timedlock(&sem, &soon), -ETIMEDOUT);
	soon = in_ms(5);
	CHECK_EQUAL(cf_rwsem_read_timedlock(&sem, &soon), -ETIMEDOUT);
	actor_end(&writer);
	CHECK_EQUAL(second_result, 0);
	CHECK_EQUAL(sem.count, 0);
}

TEST("rwsem: nor does a writer pass a reader that has slept for so long")
{
	struct actor reader = { .act = read_sem };
	begin_sem();
	CHECK_EQUAL(cf_rwsem_write_lock(&sem), 0);
	actor_start(&reader);
	EVENTUALLY(SEM_SLEEPERS() == 1);
	usleep(CF_RWSEM_HAND_OFF_NS / 1000 + 1000);
	__atomic_store_n(&sem.owner, 0, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&sem.count, CF_RWSEM_WRITER, __ATOMIC_RELEASE); // an unlock whose wake-up is late
	CHECK_EQUAL(cf_rwsem_write_lock(&sem), 0);
	cf_rwsem_wake(&sem);
	CHECK(__atomic_load_n(&sem.count, __ATOMIC_RELAXED) & CF_RWSEM_HAND_OFF);
	cf_rwsem_write_unlock(&sem);
	actor_end(&reader);
	CHECK_EQUAL(result, 0);
	CHECK_EQUAL(sem.count, 0); // the hand-off was for the reader
}

static void read_plain(void)
{
	result = cf_rwsem_read_lock(&sem);
	CHECK_EQUAL(plain, 17);
	cf_rwsem_read_unlock(&sem);
}

// The reader's first look finds the writer, and its second that it has gone. Nothing but the lock orders the two.
TEST("rwsem: a writer leaves while a reader is on its way to sleep")
{
	struct actor reader = { .act = read_plain, .stop_at = "rwsem: reader will wait", .quietly = true };
	begin_sem();
	CHECK_EQUAL(cf_rwsem_write_lock(&sem), 0);
	actor_start(&reader);
	EVENTUALLY(__atomic_load_n(&reader.is_held, __ATOMIC_RELAXED));
	plain = 17;
	cf_rwsem_write_unlock(&sem);
	__atomic_store_n(&reader.may_go, 1, __ATOMIC_RELAXED);
	actor_end(&reader);
	CHECK_EQUAL(result, 0);
	CHECK_EQUAL(sem.count, 0);
}

static uint32_t downgraded, has_read;

static void read_beside_downgraded(void)
{
	while (!__atomic_load_n(&downgraded, __ATOMIC_RELAXED))
		sched_yield();
	read_plain();
	__atomic_store_n(&has_read, 1, __ATOMIC_RELAXED);
}

TEST("rwsem: what a writer did before its downgrade, readers beside it see")
{
	struct actor reader = { .act = read_beside_downgraded };
	begin_sem();
	downgraded = has_read = 0;
	actor_start(&reader);
	CHECK_EQUAL(cf_rwsem_write_lock(&sem), 0);
	plain = 17;
	cf_rwsem_downgrade(&sem);
	__atomic_store_n(&downgraded, 1, __ATOMIC_RELAXED);
	EVENTUALLY(__atomic_load_n(&has_read, __ATOMIC_RELAXED));
	cf_rwsem_read_unlock(&sem);
	actor_end(&reader);
	CHECK_EQUAL(sem.count, 0);
}

TEST("rwsem: writers do not spin before readers for long")
{
	struct actor writer = { .act = write_sem_until };
	begin_sem();
	deadline = in_ms(20);
	CHECK_EQUAL(cf_rwsem_read_lock(&sem), 0);
	actor_start(&writer);
	EVENTUALLY(__atomic_load_n(&sem.owner, __ATOMIC_RELAXED) & CF_RWSEM_NONSPINNABLE);
	actor_end(&writer);
	cf_rwsem_read_unlock(&sem);
	CHECK_EQUAL(cf_rwsem_write_lock(&sem), 0);
	CHECK(!(sem.owner & CF_RWSEM_NONSPINNABLE));
	cf_rwsem_write_unlock(&sem);
}

// ---- how waiters sleep

static void take_mcs(void)
{
	struct cf_mcs_node node;
	cf_mcs_lock(&mcs, &node);
	plain++;
	cf_mcs_unlock(&mcs, &node);
}

TEST("a spurious wake-up lets nobody in")
{
	struct actor reader = { .act = read_sem }, taker = { .act = take_mcs };
	struct cf_mcs_node node;
	begin_sem();
	CHECK_EQUAL(cf_rwsem_write_lock(&sem), 0);
	actor_start(&reader);
	EVENTUALLY(SEM_SLEEPERS() == 1);
	for (int i = 0; i < 20; i++, usleep(500))
		cf_wake(&sem.waiters.first->state);
	CHECK(!__atomic_load_n(&reader.done, __ATOMIC_ACQUIRE));
	cf_rwsem_write_unlock(&sem);
	actor_end(&reader);
	CHECK_EQUAL(sem.count, 0);

	cf_mcs_lock(&mcs, &node);
	actor_start(&taker);
	EVENTUALLY(__atomic_load_n(&mcs.tail, __ATOMIC_ACQUIRE) != &node);
	EVENTUALLY(__atomic_load_n(&mcs.tail->waiting, __ATOMIC_RELAXED) == 2);
	for (int i = 0; i < 20; i++, usleep(500))
		cf_wake(&mcs.tail->waiting);
	CHECK(!__atomic_load_n(&taker.done, __ATOMIC_ACQUIRE));
	plain++;
	cf_mcs_unlock(&mcs, &node);
	actor_end(&taker);
}

// ---- the spinners' queue

static struct cf_osq osq;
static int left; // how many have left it

static void join_osq(void)
{
	bool first = cf_osq_lock(&osq, NULL, NULL);
	__atomic_fetch_add(&left, !first, __ATOMIC_RELAXED);
	if (!first)
		return;
	plain++;
	cf_osq_unlock(&osq);
}

TEST("osq: handed over to one that is about to leave")
{
	struct actor a = { .act = join_osq, .stop_at = "osq: leaving", .quietly = true };
	left = 0;
	CHECK(cf_osq_lock(&osq, NULL, NULL));
	actor_start(&a);
	EVENTUALLY(__atomic_load_n(&a.is_held, __ATOMIC_RELAXED));
	plain++;
	cf_osq_unlock(&osq);
	__atomic_store_n(&a.may_go, 1, __ATOMIC_RELAXED);
	actor_end(&a);
	CHECK_EQUAL(left, 0);
	CHECK(!cf_osq_is_locked(&osq));
}

TEST("osq: the one in the middle leaves, held at each step")
{
	const char *const steps[] = { "osq: unlinked from ahead", "osq: unlinked from behind" };
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		struct actor leaver = { .act = join_osq, .stop_at = "osq: leaving" };
		struct actor last = { .act = join_osq, .stop_at = "osq: leaving" };
		left = 0;
		CHECK(cf_osq_lock(&osq, NULL, NULL));
		actor_start(&leaver);
		CHECK(actor_wait_held(&leaver));
		actor_start(&last);
		CHECK(actor_wait_held(&last));
		leaver.stop_at = steps[i]; // with somebody behind
		sem_post(&leaver.go_on);
		CHECK(actor_wait_held(&leaver));
		sem_post(&last.go_on); // wants to leave, too
		usleep(1000);
		actor_end(&leaver);
		CHECK(actor_finishes(&last));
		CHECK_EQUAL(__atomic_load_n(&left, __ATOMIC_RELAXED), 2);
		cf_osq_unlock(&osq);
		actor_end(&last);
		CHECK(!cf_osq_is_locked(&osq));
	}
}

// ---- nodes of threads

static struct cf_qspin other_lock;
static pthread_key_t later;

static void lock_late(void *unused)
{
	(void)unused;
	cf_qspin_lock(&qspin);
	cf_qspin_unlock(&qspin);
}

static void *end_late(void *unused)
{
	cf_qspin_lock(&other_lock); // waits: from now on it has nodes
	cf_qspin_unlock(&other_lock);
	pthread_setspecific(later, &later);
	return unused;
}

static void *lock_now(void *unused)
{
	lock_late(unused);
	return unused;
}

static uint32_t last_in_line(struct cf_qspin *lock)
{
	return __atomic_load_n(&lock->u.word, __ATOMIC_RELAXED) >> 8;
}

TEST("a thread that ends gives its nodes away, and takes others if it waits again")
{
	pthread_t ending, starting;
	uint32_t first;
	cf_qspin_lock(&other_lock);
	cf_qspin_lock(&qspin);
	pthread_create(&ending, NULL, end_late, NULL);
	EVENTUALLY(last_in_line(&other_lock));
	pthread_key_create(&later, lock_late); // after the kit's own: its destructor runs after the kit's
	cf_qspin_unlock(&other_lock);
	EVENTUALLY(last_in_line(&qspin));
	first = last_in_line(&qspin);
	pthread_create(&starting, NULL, lock_now, NULL);
	EVENTUALLY(last_in_line(&qspin) != first);
	if (last_in_line(&qspin) == first)
		exit(1); // two threads wait with one node
	cf_qspin_unlock(&qspin);
	pthread_join(ending, NULL);
	pthread_join(starting, NULL);
	pthread_key_delete(later);
}

static uint32_t main_locked, passed_through;

static void wait_often(void)
{
	for (uint32_t i = 1; i <= 20; i++) {
		EVENTUALLY(__atomic_load_n(&main_locked, __ATOMIC_ACQUIRE) == i);
		lock_late(NULL);
		__atomic_store_n(&passed_through, i, __ATOMIC_RELEASE);
		join_osq(); // leaves
	}
}

TEST("a thread has a node for each wait")
{
	struct actor a = { .act = wait_often };
	main_locked = passed_through = 0;
	CHECK(cf_osq_lock(&osq, NULL, NULL));
	actor_start(&a);
	for (uint32_t i = 1; i <= 20; i++) {
		cf_qspin_lock(&qspin);
		__atomic_store_n(&main_locked, i, __ATOMIC_RELEASE);
		EVENTUALLY(last_in_line(&qspin)); // it stands in line, and does not poll
		cf_qspin_unlock(&qspin);
		EVENTUALLY(__atomic_load_n(&passed_through, __ATOMIC_ACQUIRE) == i);
	}
	actor_end(&a); // first, or the last of its waits may get the queue: who waits behind it leaves in vain
	cf_osq_unlock(&osq);
	for (int i = 0; i < 20; i++) { // this thread's own
		CHECK(cf_osq_lock(&osq, NULL, NULL));
		cf_osq_unlock(&osq);
	}
}

HARNESS_MAIN
