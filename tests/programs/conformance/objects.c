/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Objects beside their attributes, what a new thread begins with, and what named things leave. */
#define _GNU_SOURCE
#include "handlers.h"
#include <fcntl.h>
#include <xmmintrin.h>
#include <sched.h>
#include <semaphore.h>

static char room[1 << 20] __attribute__((aligned(4096)));
static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_key_t key, deleted;
static volatile int waiting, may_go, owned, codes, destroyed, empty_then, stop;

static void *nothing(void *argument) { return argument; }

static void *fill(void *unused)
{
	volatile char much[900 << 10];

	memset((void *)much, 1, sizeof much);
	return much[0] && much[sizeof much - 1] ? unused : NULL;
}

static void *until_stop(void *unused)
{
	while (!stop)
		usleep(1000);
	return unused;
}

static void *create_with(void *attr)
{
	pthread_t thread;

	return (void *)(intptr_t)(pthread_create(&thread, attr, nothing, NULL) || pthread_join(thread, NULL));
}

static void of_threads(void)
{
	pthread_attr_t attr;
	pthread_t thread, threads[4];
	void *value = NULL;
	int policies[] = {SCHED_FIFO, SCHED_RR, SCHED_OTHER}, policy = -1, same = 1, wrong = 0;

	pthread_attr_init(&attr);
	for (int i = 0; i < 3; i++)
		same = same && !pthread_attr_setschedpolicy(&attr, policies[i]) && !pthread_attr_getschedpolicy(&attr, &policy) && policy == policies[i];
	SAYS("pthread_attr_getschedpolicy 2", "knows three policies", same);
	struct sched_param param = {.sched_priority = 1000};
	pthread_attr_setschedpolicy(&attr, SCHED_RR);
	SAYS("pthread_attr_setschedparam 3", "refuses what is no priority", pthread_attr_setschedparam(&attr, &param) == EINVAL);
	SAYS("pthread_attr_setscope 4,6", "refuses what is no scope", pthread_attr_setscope(&attr, 99) == EINVAL);
	SAYS("pthread_attr_destroy 2", "it can be made again", !pthread_attr_destroy(&attr) && !pthread_attr_init(&attr));
	for (int i = 0; i < 4; i++)
		threads[i] = begin(create_with, &attr);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &value);
		wrong += value != NULL;
	}
	SAYS("pthread_attr_init 3", "several threads can use it at once", wrong == 0);
	pthread_attr_setstack(&attr, room, sizeof room);
	pthread_create(&thread, &attr, fill, &key);
	SAYS("pthread_attr_setstack 4 pthread_create 3", "can be used as a whole, whatever becomes of the attributes", !pthread_attr_destroy(&attr) && !pthread_join(thread, &value) && value == &key);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_create(&thread, &attr, until_stop, NULL);
	SAYS("pthread_attr_setdetachstate 2", "a thread made detached can be neither joined nor detached", pthread_join(thread, NULL) == EINVAL && pthread_detach(thread) == EINVAL);
	stop = 1;
	SAYS("pthread_create 2", "without attributes, makes one that can be joined", !pthread_create(&thread, NULL, nothing, &key) && !pthread_join(thread, &value) && value == &key);
}

static void *look_around(void *unused)
{
	struct timespec used;
	stack_t stack;
	sigset_t pending;

	codes = is_blocked(SIGUSR2) && !is_blocked(SIGUSR1);
	codes |= (!sigpending(&pending) && sigisemptyset(&pending)) << 1;
	codes |= (_MM_GET_ROUNDING_MODE() == _MM_ROUND_UP) << 2;
	codes |= (!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) && used.tv_sec == 0 && used.tv_nsec < 5000000) << 3;
	codes |= (!sigaltstack(NULL, &stack) && (stack.ss_flags & SS_DISABLE)) << 4;
	return unused;
}

static void begins_with(void)
{
	stack_t stack = {.ss_sp = room, .ss_size = sizeof room};

	handle(SIGUSR2, count, 0, 0);
	block(SIG_BLOCK, SIGUSR2, 0);
	raise(SIGUSR2);
	_MM_SET_ROUNDING_MODE(_MM_ROUND_UP);
	sigaltstack(&stack, NULL);
	elsewhere(look_around, NULL);
	_MM_SET_ROUNDING_MODE(_MM_ROUND_NEAREST);
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
	block(SIG_UNBLOCK, SIGUSR2, 0);
	SAYS("pthread_create 8", "the thread has its maker's mask", codes & 1);
	SAYS("pthread_create 8", "and nothing pending", codes & 2);
	SAYS("pthread_create 9", "and its maker's rounding", codes & 4);
	SAYS("pthread_create 11", "and a CPU clock that begins", codes & 8);
	SAYS("pthread_create 15", "and no alternate stack", codes & 16);
}

static void destroy(void *value)
{
	destroyed++;
	empty_then = pthread_getspecific(key) == NULL && value != NULL && pthread_key_delete(deleted) == 0;
}

static void *use_key(void *unused)
{
	pthread_setspecific(key, &key);
	pthread_setspecific(deleted, &deleted);
	return unused;
}

static void *set_and_delete(void *unused)
{
	pthread_setspecific(key, &key);
	codes = pthread_key_delete(key);
	return unused;
}

static void keys(void)
{
	pthread_key_create(&key, destroy);
	pthread_key_create(&deleted, NULL);
	elsewhere(use_key, NULL);
	SAYS("pthread_getspecific 2", "gives nothing to the destructor", destroyed == 1 && empty_then);
	SAYS("pthread_key_delete 2", "a destructor may delete a key", empty_then);
	elsewhere(set_and_delete, NULL);
	SAYS("pthread_key_delete 1,2", "of one with values calls no destructor, then or later", codes == 0 && destroyed == 1);
}

static void *wait_and_own(void *unused)
{
	pthread_mutex_lock(&mutex);
	waiting++;
	while (!may_go)
		if (pthread_cond_wait(&cond, &mutex) != 0)
			codes = 1;
	owned += pthread_mutex_trylock(&mutex) == EBUSY;
	pthread_mutex_unlock(&mutex);
	return unused;
}

/* Whoever is woken waits for the mutex that the waker has. */
static void wakes(int (*wake)(pthread_cond_t *), int how_many, const char *interface)
{
	pthread_t threads[3];

	waiting = may_go = owned = codes = 0;
	for (int i = 0; i < how_many; i++)
		threads[i] = begin(wait_and_own, NULL);
	for (int all = 0; !all; usleep(1000)) {
		pthread_mutex_lock(&mutex);
		all = waiting == how_many;
		pthread_mutex_unlock(&mutex);
	}
	pthread_mutex_lock(&mutex);
	may_go = 1;
	wake(&cond);
	settle();
	int none = owned == 0;
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < how_many; i++)
		pthread_join(threads[i], NULL);
	SAYS(interface, "who is woken has the mutex, each in turn", none && owned == how_many && !codes);
}

static void *relock(void *normal)
{
	struct timespec until = from_now(CLOCK_REALTIME, 5);

	pthread_mutex_lock(normal);
	return (void *)(intptr_t)pthread_mutex_timedlock(normal, &until);
}

static void of_objects(void)
{
	pthread_barrierattr_t barriers;
	pthread_condattr_t conds;
	pthread_mutexattr_t mutexes;
	pthread_rwlockattr_t locks;
	pthread_mutex_t normal;
	pthread_spinlock_t spin;
	struct timespec past = {1, 0};

	pthread_barrierattr_init(&barriers);
	pthread_barrier_init(&barrier, &barriers, 1);
	SAYS("pthread_barrierattr_init 2", "a barrier outlives its attributes", !pthread_barrierattr_destroy(&barriers) && pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD);
	SAYS("pthread_barrierattr_destroy 1", "they can be made again", pthread_barrierattr_init(&barriers) == 0);
	wakes(pthread_cond_signal, 1, "pthread_cond_signal 2 pthread_cond_wait 2,3");
	wakes(pthread_cond_broadcast, 3, "pthread_cond_broadcast 2");
	pthread_condattr_init(&conds);
	SAYS("pthread_condattr_destroy 2", "they can be made again", !pthread_condattr_destroy(&conds) && !pthread_condattr_init(&conds));
	pthread_mutexattr_init(&mutexes);
	SAYS("pthread_mutexattr_destroy 2", "they can be made again", !pthread_mutexattr_destroy(&mutexes) && !pthread_mutexattr_init(&mutexes));
	SAYS("pthread_mutexattr_setprotocol 3", "refuses what is none", pthread_mutexattr_setprotocol(&mutexes, 99) == EINVAL);
	SAYS("pthread_mutexattr_setprioceiling 3", "refuses what is no priority", pthread_mutexattr_setprioceiling(&mutexes, 1000) == EINVAL);
	pthread_mutexattr_settype(&mutexes, PTHREAD_MUTEX_NORMAL);
	pthread_mutex_init(&normal, &mutexes);
	SAYS("pthread_mutexattr_settype 2", "who has a normal mutex waits for itself", elsewhere(relock, &normal) == ETIMEDOUT);
	SAYS("pthread_rwlock_timedrdlock 5", "a free one is had whatever the time", !pthread_rwlock_timedrdlock(&lock, &past) && !pthread_rwlock_unlock(&lock));
	SAYS("pthread_rwlock_timedwrlock 5", "a free one is had whatever the time", !pthread_rwlock_timedwrlock(&lock, &past) && !pthread_rwlock_unlock(&lock));
	pthread_rwlock_rdlock(&lock);
	SAYS("pthread_rwlock_timedwrlock 2", "a time that has passed ends the wait at once", pthread_rwlock_timedwrlock(&lock, &past) == ETIMEDOUT);
	pthread_rwlock_unlock(&lock);
	pthread_rwlock_wrlock(&lock);
	SAYS("pthread_rwlock_timedrdlock 2", "the writer itself is told of its wait", pthread_rwlock_timedrdlock(&lock, &past) == EDEADLK);
	pthread_rwlock_unlock(&lock);
	pthread_rwlockattr_init(&locks);
	pthread_rwlock_init(&lock, &locks);
	SAYS("pthread_rwlockattr_init 2", "a lock outlives its attributes", !pthread_rwlockattr_destroy(&locks) && !pthread_rwlock_wrlock(&lock) && !pthread_rwlock_unlock(&lock));
	SAYS("pthread_rwlockattr_destroy 2", "they can be made again", pthread_rwlockattr_init(&locks) == 0);
	SAYS("pthread_spin_init 1", "can be made again after its end", !pthread_spin_init(&spin, PTHREAD_PROCESS_SHARED) && !pthread_spin_destroy(&spin) && !pthread_spin_init(&spin, 0) && !pthread_spin_lock(&spin));
}

static void semaphores(void)
{
	char name[64], longer[255];
	struct timespec past = {1, 0};
	int value = -1;

	snprintf(name, sizeof name, "/conformance-objects-%d", (int)getpid());
	memset(longer, 'x', sizeof longer - 1);
	longer[0] = '/', longer[sizeof longer - 1] = 0;
	sem_t *sem = sem_open(name, O_CREAT, 0600, 2);
	SAYS("sem_getvalue 1,4,5", "gives the value, and leaves it", !sem_getvalue(sem, &value) && value == 2 && !sem_getvalue(sem, &value) && value == 2);
	SAYS("sem_timedwait 11", "one that can be had is had whatever the time", sem_timedwait(sem, &past) == 0);
	SAYS("sem_close 3 sem_open 10", "leaves its value to who opens it again, made or not", !sem_close(sem) && (sem = sem_open(name, O_CREAT, 0600, 7)) != SEM_FAILED && !sem_getvalue(sem, &value) && value == 1);
	sem_unlink(name);
	sem_t *other = sem_open(name, O_CREAT | O_EXCL, 0600, 5);
	SAYS("sem_unlink 6", "then the name is of another", other != SEM_FAILED && other != sem && !sem_getvalue(other, &value) && value == 5 && !sem_getvalue(sem, &value) && value == 1);
	SAYS("sem_unlink 5", "refuses too long a name", sem_unlink(longer) == -1 && errno == ENAMETOOLONG);
	sem_unlink(name);
	SAYS("sem_open 7", "refuses too long a name", sem_open(longer, O_CREAT, 0600, 1) == SEM_FAILED && errno == ENAMETOOLONG);
}

static void scheduling(void)
{
	struct sched_param param = {0}, wrong = {.sched_priority = 1000};
	struct timespec slice;
	const pid_t nobody = 0x7ffffff0;
	int policy = -1;

	SAYS("sched_getparam 1", "takes the own process's number", !sched_getparam(getpid(), &param) && param.sched_priority == 0);
	SAYS("sched_getparam 4,5", "finds no such process", FAILS(ESRCH, sched_getparam(nobody, &param)));
	SAYS("sched_getparam 7", "refuses nowhere", FAILS(EINVAL, sched_getparam(0, NULL)));
	SAYS("sched_getscheduler 5,6", "finds no such process", FAILS(ESRCH, sched_getscheduler(nobody)));
	SAYS("sched_setscheduler 1,3", "takes the own process's number", sched_setscheduler(getpid(), SCHED_OTHER, &param) == 0);
	SAYS("sched_setscheduler 18,21", "finds no such process", FAILS(ESRCH, sched_setscheduler(nobody, SCHED_OTHER, &param)));
	SAYS("sched_setscheduler 17", "that fails changes nothing", FAILS(EINVAL, sched_setscheduler(0, SCHED_RR, &wrong)) && sched_getscheduler(0) == SCHED_OTHER);
	SAYS("sched_setparam 1,4,5,22", "takes the ordinary policy's", !sched_setparam(0, &param) && !sched_setparam(getpid(), &param));
	SAYS("sched_setparam 23,24,25", "refuses others, and changes nothing", FAILS(EINVAL, sched_setparam(0, &wrong)) && !sched_getparam(0, &param) && param.sched_priority == 0);
	SAYS("sched_setparam 27", "finds no such process", FAILS(ESRCH, sched_setparam(nobody, &param)));
	SAYS("sched_rr_get_interval 1,2", "succeeds", sched_rr_get_interval(0, &slice) == 0);
	SAYS("sched_rr_get_interval 5", "refuses nowhere", FAILS(EFAULT, sched_rr_get_interval(0, NULL)));
	SAYS("sched_rr_get_interval 3,4", "finds no such process", FAILS(ESRCH, sched_rr_get_interval(nobody, &slice)));
	SAYS("pthread_setschedparam 4", "that fails changes nothing", pthread_setschedparam(pthread_self(), SCHED_RR, &wrong) == EINVAL && !pthread_getschedparam(pthread_self(), &policy, &param) && policy == SCHED_OTHER);
	SAYS("pthread_setschedprio 2", "that fails changes nothing", pthread_setschedprio(pthread_self(), 1000) == EINVAL && !pthread_getschedparam(pthread_self(), &policy, &param) && param.sched_priority == 0);
}

int main(void)
{
	of_threads();
	begins_with();
	keys();
	of_objects();
	semaphores();
	scheduling();
	return 0;
}
