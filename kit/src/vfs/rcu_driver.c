// SPDX-License-Identifier: MIT OR Apache-2.0
// One thread drives grace periods: at once where somebody is in haste, else a millisecond after they are wanted.
#include "rcu.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

enum { PAUSE_NS = 1000000 };
enum { AWAKE, PAUSES, SLEEPS };

struct cf_rcu_periods cf_rcu_periods;
// What others ask for, on a line of its own.
static struct {
	uint64_t wanted;
	uint32_t urgent, driver; // `driver`: whether it sleeps
	sem_t wake;
	void (*sweep)(void);
} asked CF_LINE_ALIGNED;

// Sequentially consistent, as all that follows: see cf_rcu_ask.
// x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can.
static bool is_wanted(void)
{
	return __atomic_load_n(&asked.wanted, __ATOMIC_SEQ_CST) > __atomic_load_n(&cf_rcu_periods.ended, __ATOMIC_RELAXED);
}

static bool is_urgent(void)
{
	return __atomic_load_n(&asked.urgent, __ATOMIC_SEQ_CST);
}

// Sequentially consistent: who asks stores, then looks whether the driver sleeps; the driver says so, then looks. Exchanges: in
// the lab a store is seen late. At most one post for each sleep.
// x86 cannot tell, a locked instruction is a full barrier; aarch64 and POWER can.
void cf_rcu_ask(uint64_t number, bool urgent)
{
	uint64_t wanted = __atomic_load_n(&asked.wanted, __ATOMIC_SEQ_CST);
	uint32_t driver;
	while (wanted < number &&
	       !__atomic_compare_exchange_n(&asked.wanted, &wanted, number, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
	if (urgent && !is_urgent())
		__atomic_exchange_n(&asked.urgent, 1, __ATOMIC_SEQ_CST);
	driver = __atomic_load_n(&asked.driver, __ATOMIC_SEQ_CST);
	if ((driver == SLEEPS || (driver == PAUSES && urgent)) && __atomic_exchange_n(&asked.driver, AWAKE, __ATOMIC_SEQ_CST) != AWAKE)
		sem_post(&asked.wake);
}

static void sleep_for(int64_t nanoseconds)
{
	struct timespec until;
	if (!nanoseconds) {
		while (sem_wait(&asked.wake))
			;
		return;
	}
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += nanoseconds;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	// x86 cannot tell, a locked instruction is a full barrier; aarch64 and POWER can.
	if (sem_timedwait(&asked.wake, &until) && __atomic_exchange_n(&asked.driver, AWAKE, __ATOMIC_SEQ_CST) == AWAKE)
		sleep_for(0); // somebody has posted meanwhile
}

static void rest(uint32_t how)
{
	__atomic_exchange_n(&asked.driver, how, __ATOMIC_SEQ_CST);
	if (!(how == SLEEPS ? is_wanted() : is_urgent()))
		sleep_for(how == SLEEPS ? 0 : PAUSE_NS);
	else if (__atomic_exchange_n(&asked.driver, AWAKE, __ATOMIC_SEQ_CST) == AWAKE)
		sleep_for(0); // as above
}

static void grace_period(void)
{
	// Before the grace period, in which readers are looked at.
	// x86 cannot tell, a locked instruction is a full barrier; aarch64 and POWER can.
	__atomic_fetch_add(&cf_rcu_periods.begun, 1, __ATOMIC_SEQ_CST);
	CF_RCU_FLAVOUR(synchronize_rcu)();
	SANITISED_ACQUIRE(&cf_rcu_ended_sections);
	// Release: the sections that it waited for. x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can.
	__atomic_store_n(&cf_rcu_periods.ended, cf_rcu_periods.begun, __ATOMIC_RELEASE);
}

// CPUs that go on free their own; when nothing is urgent the driver frees what is left.
static void *drive(void *unused)
{
	bool unswept = false, urgent;
	cf_rcu_register_thread();
	for (;;) {
		if (!unswept)
			rest(SLEEPS);
		rest(PAUSES);
		// Before the look at what is wanted.
		// x86 cannot tell, a locked instruction is a full barrier; aarch64 and POWER can.
		urgent = __atomic_exchange_n(&asked.urgent, 0, __ATOMIC_SEQ_CST);
		if (is_wanted())
			grace_period();
		if (!urgent)
			asked.sweep();
		unswept = urgent;
	}
	return unused;
}

// Without a driver whoever calls cf_rcu_relax waits for grace periods itself.
void cf_rcu_start_driver(void (*sweep)(void))
{
	sigset_t every, old;
	pthread_attr_t attributes;
	pthread_t thread;
	asked.sweep = sweep;
	sem_init(&asked.wake, 0, 0);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &old);
	(void)pthread_create(&thread, &attributes, drive, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attributes);
}

