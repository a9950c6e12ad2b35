/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Boost's spinlock_pool: the lock of an object is found by its address in an array of 4-byte spinlocks. Threads
 * take different locks, 16 of which lie on one cache line. The pool has 83 locks, where Boost's has 41, so that 80
 * threads have one each. Twin: each lock is padded to a line. spinlock_pool THREADS OPERATIONS
 */
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <sched.h>
#include <vector>

namespace detail {

#ifdef TWIN
struct alignas(64) spinlock {
#else
struct spinlock {
#endif
	int v_;

	void lock()
	{
		for (unsigned k = 0; __sync_lock_test_and_set(&v_, 1); ++k)
			if (k > 16)
				sched_yield();
	}
	void unlock() { __sync_lock_release(&v_); }
};

template<int M> class spinlock_pool {
	static spinlock pool_[83];

public:
	static spinlock &spinlock_for(const void *pv) { return pool_[reinterpret_cast<size_t>(pv) % 83]; }

	class scoped_lock {
		spinlock &sp_;

	public:
		explicit scoped_lock(const void *pv) : sp_(spinlock_for(pv)) { sp_.lock(); }
		~scoped_lock() { sp_.unlock(); }
	};
};

template<int M> spinlock spinlock_pool<M>::pool_[83];

} // namespace detail

/* A message and its reference count, 3 KB: objects side by side have adjacent locks. */
struct alignas(64) message {
	long use_count;
	unsigned char text[3072 - sizeof(long)];
};

struct worker {
	pthread_t thread;
	message *m;
	long operations;
	unsigned sum;
};

static __attribute__((noinline)) void add_ref(message *m, int n)
{
	detail::spinlock_pool<1>::scoped_lock lock(&m->use_count);
	m->use_count += n;
}

static unsigned parse(const message *m, long from)
{
	unsigned hash = 2166136261u;

	for (int i = 0; i < 24; i++)
		hash = (hash ^ m->text[(from + i) & 1023]) * 16777619u;
	return hash;
}

static void *work(void *arg)
{
	worker *w = static_cast<worker *>(arg);
	unsigned sum = 0;

	for (long i = 0; i < w->operations; i++) {
		add_ref(w->m, 2);
		sum += parse(w->m, i);
		add_ref(w->m, -1);
	}
	w->sum = sum;
	return nullptr;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2;
	long operations = argc > 2 ? atol(argv[2]) : 100000, count = 0;
	std::vector<worker> workers(threads);
	message *messages = static_cast<message *>(aligned_alloc(64, threads * sizeof(message)));

	for (int i = 0; i < threads; i++) {
		messages[i].use_count = 0;
		workers[i].m = &messages[i];
		workers[i].operations = operations * (i + 1) / threads - operations * i / threads;
	}
	for (worker &w : workers)
		pthread_create(&w.thread, nullptr, work, &w);
	for (worker &w : workers) {
		pthread_join(w.thread, nullptr);
		count += w.m->use_count;
	}
	printf("%ld references\n", count);
	free(messages);
	return count != operations;
}
