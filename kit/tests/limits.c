// SPDX-License-Identifier: MIT OR Apache-2.0
// What the headers say of hostile surroundings: no membarrier, no registration, a CPU without a slot, constructors that
// run first, memory of the wrong alignment, signal handlers, fork. Nothing hangs but what the header says hangs.
#include "hold.h"
#include <corefold/cf_counter.h>
#include <corefold/cf_lock.h>
#include <corefold/cf_space.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

static const struct cf_counter_options options = { .batch = 4, .cap_max = 32, .percpu_limit = 4, .many_cpus = 1 };
static struct cf_counter c;

// Before the kit's own constructor.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wprio-ctor-dtor"
#endif
static int64_t counted_early[CF_COUNTER_KINDS];
static int early_result[CF_COUNTER_KINDS];

__attribute__((constructor(100))) static void count_early(void)
{
	for (int kind = 0; kind < CF_COUNTER_KINDS; kind++) {
		early_result[kind] = cf_counter_init(&c, (enum cf_counter_kind)kind, 5, &options);
		if (early_result[kind])
			continue;
		for (int i = 0; i < 100; i++)
			(void)cf_counter_add(&c, 1);
		counted_early[kind] = cf_counter_sum(&c);
		cf_counter_destroy(&c);
	}
}

TEST("a constructor of any priority can count")
{
	for (int kind = 0; kind < CF_COUNTER_KINDS; kind++) {
		CHECK_EQUAL(early_result[kind], 0);
		CHECK_EQUAL(counted_early[kind], 105);
	}
}

TEST("memory of the wrong alignment is refused")
{
	char *memory = malloc(sizeof(struct cf_space) + 2 * CF_LINE);
	char *line = memory + CF_LINE - (uintptr_t)memory % CF_LINE;
	for (int off = 8; off < CF_LINE; off += 8) {
		struct cf_space_options space = { .kind = CF_COUNTER_GLOBAL, .blocks = 1 };
		void *here = line + off;
		for (int kind = 0; kind < CF_COUNTER_KINDS; kind++)
			CHECK_EQUAL(cf_counter_init(here, (enum cf_counter_kind)kind, 5, NULL), -EINVAL);
		CHECK_EQUAL(cf_global_counter_init(here, 5), -EINVAL);
		CHECK_EQUAL(cf_percpu_counter_init(here, 5), -EINVAL);
		CHECK_EQUAL(cf_adaptive_counter_init(here, 5, 0), -EINVAL);
		CHECK_EQUAL(cf_tree_counter_init(here, 5, 0), -EINVAL);
		CHECK_EQUAL(cf_space_init(here, &space), -EINVAL);
	}
	free(memory);
}

// In a child of its own: 0 if all its checks hold, or how it ended.
static int in_child(void (*run)(void))
{
	int status;
	pid_t pid;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		alarm(20);
		failures = 0;
		run();
		_exit(failures != 0);
	}
	waitpid(pid, &status, 0);
	return status;
}

// Takes to the last one, and gives back: exact, whatever slots this thread uses.
static void count_to_the_last(void)
{
	int64_t taken = 0, floor = 7;
	for (int i = 0; i < 500; i++) {
		CHECK_EQUAL(cf_counter_add(&c, 3), 0);
		CHECK_EQUAL(cf_counter_add(&c, -2), 0);
	}
	while (cf_counter_limited_add(&c, floor, -1) == 0)
		taken++;
	CHECK_EQUAL(taken, 1000 - floor + 500);
	CHECK_EQUAL(cf_counter_sum(&c), floor);
	CHECK_EQUAL(cf_counter_limited_add(&c, floor, -1), -ENOSPC);
	CHECK_EQUAL(cf_counter_compare(&c, floor), 0);
	for (int i = 0; i < 1000; i++)
		CHECK_EQUAL(cf_counter_add(&c, 1), 0);
	CHECK_EQUAL(cf_counter_sum(&c), floor + 1000);
}

static void each_kind(void (*run)(void))
{
	for (int kind = 0; kind < CF_COUNTER_KINDS; kind++) {
		CHECK_EQUAL(cf_counter_init(&c, (enum cf_counter_kind)kind, 1000, &options), 0);
		run();
		cf_counter_destroy(&c);
	}
}

TEST("each kind counts to the last one")
{
	each_kind(count_to_the_last);
}

#if CF_BUILT_RSEQ
static bool sequences(void)
{
	if (cf_cpu_state.mode == CF_CPU_RSEQ)
		return true;
	printf("       left out: no restartable sequences here\n");
	return false;
}

static void *unregistered_main(void *unused)
{
	enum { UNREGISTER = 1, SIGNATURE = 0x53053053 };
	char *area = (char *)__builtin_thread_pointer() + __rseq_offset;
	long result = -1;
	// The size that libc registered: 32 before it told, else what it tells, rounded.
	for (unsigned size = 32; result && size <= 512; size += 32)
		result = syscall(SYS_rseq, area, size, UNREGISTER, SIGNATURE);
	CHECK_EQUAL(result, 0);
	CHECK_EQUAL(cf_cpu_current(), cf_cpu_count()); // the last slot
	each_kind(count_to_the_last);
	return unused;
}

static void unregistered(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, unregistered_main, NULL);
	pthread_join(thread, NULL);
}

TEST("a thread without a registration counts by atomic operations")
{
	if (sequences())
		CHECK_EQUAL(in_child(unregistered), 0);
}

// Not the slot at the CPU's number, though one is there.
static void sequences_refuse(void)
{
	struct cf_slot *slots = cf_slots_new();
	cf_slot_permit_set(&slots[1], -1);
	CHECK_EQUAL(cf_slot_within_once(slots, 1, 32), CF_SLOT_MOVED);
	CHECK_EQUAL(cf_slot_quota_once(slots, 1, 32), CF_SLOT_MOVED);
	CHECK_EQUAL(cf_slot_uncarried_once(slots, 1, 32), CF_SLOT_MOVED);
	cf_slot_credit_max_set(&slots[1], 32);
	CHECK_EQUAL(cf_slot_credit_once(slots, 1), CF_SLOT_MOVED);
	cf_slots_free(slots);
}

static void on_the_second_cpu(void)
{
	cf_cpu_state.slots -= cf_cpu_state.cpus - 1;
	cf_cpu_state.cpus = 1; // of two
	pin(1);
	CHECK_EQUAL(cf_cpu_current(), 1);
	each_kind(count_to_the_last);
	sequences_refuse();
}

TEST("a CPU past the slots counts in the last one")
{
	if (sequences() && two_cpus())
		CHECK_EQUAL(in_child(on_the_second_cpu), 0);
}

static void forbid_membarrier(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof filter / sizeof *filter, filter };
	CHECK_EQUAL(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_EQUAL(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

// What needs no fence goes on; what does says so, changes nothing, and does not hold the lock.
static void without_membarrier(void)
{
	struct cf_percpu_counter p;
	struct cf_adaptive_counter a;
	const struct cf_percpu_options small = { 4, 0, CF_LOCK_QUEUED };
	CHECK_EQUAL(cf_percpu_counter_init_with(&p, 1000, &small), 0);
	CHECK_EQUAL(cf_adaptive_counter_init(&a, 1000, 0), 0);
	pin(1);
	for (int i = 0; i < 200; i++) { // quotas and credit are out
		CHECK_EQUAL(cf_percpu_counter_limited_add(&p, 0, -1), 0);
		CHECK_EQUAL(cf_percpu_counter_add(&p, 1), 0);
		CHECK_EQUAL(cf_adaptive_counter_limited_add(&a, 0, -1), 0);
		CHECK_EQUAL(cf_adaptive_counter_add(&a, 1), 0);
	}
	CHECK_EQUAL(p.quota, 1);
	CHECK(cf_adaptive_counter_holders(&a) > 0);
	pin(0); // where no credit is
	forbid_membarrier();
	CHECK_EQUAL(cf_cpu_fence(-1), -EPERM);
	CHECK_EQUAL(cf_cpu_fence(0), -EPERM);
	for (int i = 0; i < 2; i++) {
		CHECK_EQUAL(cf_percpu_counter_limited_add(&p, 0, -1000), -EPERM);
		CHECK_EQUAL(cf_percpu_counter_set(&p, 5), -EPERM);
		CHECK_EQUAL(cf_adaptive_counter_limited_add(&a, 0, -1000), -EPERM);
		CHECK_EQUAL(cf_adaptive_counter_set(&a, 5), -EPERM);
		(void)cf_adaptive_counter_settle(&a);
		CHECK_EQUAL(cf_adaptive_counter_settle(&a), -EPERM);
		CHECK_EQUAL(cf_percpu_counter_sum(&p), 1000);
		CHECK_EQUAL(cf_adaptive_counter_sum(&a), 1000);
	}
	CHECK_EQUAL(cf_percpu_counter_limited_add(&p, 0, -5000), -ENOSPC);
	CHECK_EQUAL(cf_percpu_counter_add(&p, -990), 0);
	CHECK_EQUAL(cf_adaptive_counter_add(&a, -990), 0); // below the credit that is out: it serves no limit from now on
	CHECK_EQUAL(cf_adaptive_counter_limited_add(&a, 0, -11), -EPERM);
	CHECK_EQUAL(cf_adaptive_counter_limited_add(&a, 0, -100000), -ENOSPC);
	CHECK_EQUAL(cf_percpu_counter_sum(&p), 10);
	CHECK_EQUAL(cf_adaptive_counter_sum(&a), 10);
}

TEST("where the kernel refuses membarrier, what needs it fails, and nothing hangs")
{
	if (sequences() && two_cpus())
		CHECK_EQUAL(in_child(without_membarrier), 0);
}
#endif

static int kind_to_step;

// From the first stop on its sequences are interrupted at every instruction.
static void count_in_steps(void)
{
	const struct cf_counter_options small = { .batch = 2, .cap_max = 8 };
	CHECK_EQUAL(cf_counter_init(&c, (enum cf_counter_kind)kind_to_step, 1000, &small), 0);
	for (int i = 0; i < 400; i++)
		CHECK_EQUAL(cf_counter_add(&c, 1), 0);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(2);
	raise(SIGSTOP);
	for (int i = 0; i < 2; i++)
		CHECK_EQUAL(cf_counter_add(&c, 1), 0);
	CHECK_EQUAL(cf_counter_limited_add(&c, 0, -2), 0);
	CHECK_EQUAL(cf_counter_sum(&c), 1400);
	_exit(failures != 0);
}

// Whether it ends well; so many steps are seconds.
static bool ends_in_steps(void)
{
	int status = 0;
	pid_t pid = fork();
	if (pid == 0)
		count_in_steps();
	waitpid(pid, &status, 0);
	for (long steps = 0; WIFSTOPPED(status) && steps < 1000000; steps++)
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) || waitpid(pid, &status, 0) != pid)
			break;
	if (WIFSTOPPED(status)) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
		printf("       left out: no ptrace here\n");
	return WIFEXITED(status) && WEXITSTATUS(status) != 1;
}

TEST("a thread that a debugger steps through counts in the last slot")
{
	if (CF_BUILT_SANITISED) {
		printf("       left out: no sequences here, and long steps\n");
		return;
	}
	fflush(NULL);
	for (kind_to_step = 0; kind_to_step < CF_COUNTER_TREE; kind_to_step++) // the tree tries a hundred times as often
		CHECK(ends_in_steps());
}

static struct cf_percpu_counter percpu;
static struct cf_adaptive_counter adaptive;
static int handler_results[4];
static int64_t handler_sum;

static void handler(int signal)
{
	int saved = errno;
	// A change too large for a slot, so that it needs the lock.
	const int results[4] = {
		cf_percpu_counter_add(&percpu, 1000),
		cf_percpu_counter_limited_add(&percpu, 0, -1000),
		cf_adaptive_counter_add(&adaptive, 1 << 20),
		cf_adaptive_counter_limited_add(&adaptive, 0, -(1 << 20)),
	};
	(void)signal;
	for (int i = 0; i < 4; i++)
		__atomic_store_n(&handler_results[i], results[i], __ATOMIC_RELAXED);
	__atomic_store_n(&handler_sum, cf_percpu_counter_sum(&percpu) + cf_adaptive_counter_sum(&adaptive), __ATOMIC_RELEASE);
	errno = saved;
}

static void take_all(void)
{
	CHECK_EQUAL(cf_percpu_counter_limited_add(&percpu, 0, -100), 0);
}

// A thread that holds the lock of `percpu`, about to decide.
static void begin_holding(struct actor *holder)
{
	CHECK_EQUAL(cf_percpu_counter_init(&percpu, 100), 0);
	*holder = (struct actor){ .act = take_all, .cpu = 0, .stop_at = "percpu: decided" };
	actor_start(holder);
	CHECK(actor_wait_held(holder));
}

static void end_holding(struct actor *holder)
{
	actor_end(holder);
	CHECK_EQUAL(cf_percpu_counter_sum(&percpu), 0);
	cf_percpu_counter_destroy(&percpu);
}

TEST("a signal handler that interrupted a slow path of its own thread gets -EDEADLK")
{
	struct actor holder;
	struct sigaction action = { .sa_handler = handler };
	CHECK_EQUAL(cf_adaptive_counter_init(&adaptive, 50, 0), 0);
	sigaction(SIGUSR1, &action, NULL);
	begin_holding(&holder);
	__atomic_store_n(&handler_sum, -1, __ATOMIC_RELAXED);
	for (int i = 0; i < 10000 && __atomic_load_n(&handler_sum, __ATOMIC_ACQUIRE) == -1; i++) {
		// ThreadSanitizer puts one off that comes before the thread has gone to sleep.
		if (i % 100 == 0)
			pthread_kill(holder.thread, SIGUSR1);
		usleep(1000);
	}
	for (int i = 0; i < 4; i++)
		CHECK_EQUAL(__atomic_load_n(&handler_results[i], __ATOMIC_RELAXED), -EDEADLK);
	CHECK_EQUAL(__atomic_load_n(&handler_sum, __ATOMIC_RELAXED), 150);
	end_holding(&holder);
	cf_adaptive_counter_destroy(&adaptive);
}

// Long enough for what does not wait to end.
enum { WAITED_US = 200000 };

static void sum_in_child(void)
{
	ualarm(WAITED_US, 0);
	(void)cf_percpu_counter_sum(&percpu);
}

TEST("the child of a fork waits for ever for a lock that another thread held")
{
	struct actor holder;
	int status;
	if (CF_BUILT_SANITISED) {
		printf("       left out: ThreadSanitizer's own fork waits for its threads\n");
		return;
	}
	begin_holding(&holder);
	status = in_child(sum_in_child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
	end_holding(&holder);
}

static struct cf_lock lock;
static struct cf_lock_node outer;

static void lock_again(int signal)
{
	struct cf_lock_node node;
	(void)signal;
	ualarm(WAITED_US, 0);
	cf_lock_take(&lock, &node);
}

static void lock_in_handler(void)
{
	signal(SIGUSR1, lock_again);
	cf_lock_init(&lock, CF_LOCK_QUEUED);
	cf_lock_take(&lock, &outer);
	raise(SIGUSR1);
}

TEST("a signal handler that takes a lock of its own thread waits for ever")
{
	int status;
	if (CF_BUILT_SANITISED) {
		printf("       left out: ThreadSanitizer puts signals off\n");
		return;
	}
	status = in_child(lock_in_handler);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
}

TEST("inodes that cannot be counted cost no blocks")
{
	for (int kind = 0; kind < CF_COUNTER_KINDS; kind++) {
		struct cf_space s;
		struct cf_space_usage u;
		struct cf_space_options o = { .kind = (enum cf_counter_kind)kind, .blocks = 100, .inodes = 10 };
		CHECK_EQUAL(cf_space_init(&s, &o), 0);
		CHECK_EQUAL(cf_space_return_inodes(&s, CF_VALUE_MAX - 20), 0); // more than were taken
		CHECK_EQUAL(cf_space_add_inodes(&s, 1000, 8, 0), -ERANGE);
		cf_space_usage(&s, &u);
		CHECK_EQUAL(u.free_blocks, 100);
		CHECK_EQUAL(u.allocated_inodes, 10);
		CHECK_EQUAL(u.free_inodes, CF_VALUE_MAX - 10);
		cf_space_destroy(&s);
	}
}

HARNESS_MAIN
