/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * libcds's user-space RCU: a reader's lock and unlock only write the record of its own thread, but the records of
 * the threads, 24 bytes each, lie side by side in memory. Readers look keys up, nobody writes.
 * Twin: each record is padded to a line (the published fix). urcu_records THREADS LOOKUPS
 */
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace urcu {

const uint32_t c_nControlBit = 0x80000000;
const uint32_t c_nNestMask = c_nControlBit - 1;

struct
#ifdef TWIN
	alignas(64)
#endif
	thread_record {
	std::atomic<uint32_t> m_nAccessControl{0};
	thread_record *m_pNext = nullptr;
	unsigned long m_idOwner = 0;
};

thread_record *records;
std::atomic<uint32_t> m_nGlobalControl{1};

__attribute__((noinline)) void access_lock(thread_record *rec)
{
	uint32_t tmp = rec->m_nAccessControl.load(std::memory_order_relaxed);

	if ((tmp & c_nNestMask) == 0) {
		rec->m_nAccessControl.store(m_nGlobalControl.load(std::memory_order_relaxed), std::memory_order_relaxed);
		std::atomic_thread_fence(std::memory_order_seq_cst);
	} else {
		rec->m_nAccessControl.store(tmp + 1, std::memory_order_relaxed);
	}
}

__attribute__((noinline)) void access_unlock(thread_record *rec)
{
	uint32_t tmp = rec->m_nAccessControl.load(std::memory_order_relaxed);

	rec->m_nAccessControl.store(tmp - 1, std::memory_order_release);
}

} // namespace urcu

namespace {

const int BUCKETS = 512;

struct node {
	unsigned key, value;
	node *next;
};

node nodes[2 * BUCKETS];
node *buckets[BUCKETS];

/* Two nodes to a bucket. */
void fill()
{
	for (unsigned i = 0; i < 2 * BUCKETS; i++) {
		nodes[i] = {i, i + 1, buckets[i % BUCKETS]};
		buckets[i % BUCKETS] = &nodes[i];
	}
}

unsigned find(unsigned key)
{
	for (node *n = buckets[key % BUCKETS]; n; n = n->next)
		if (n->key == key)
			return n->value;
	return 0;
}

void reader(urcu::thread_record *rec, long lookups, long *found)
{
	unsigned long key = rec->m_idOwner;
	long right = 0;

	for (long i = 0; i < lookups; i++) {
		for (int k = 0; k < 8; k++) {
			key = key * 6364136223846793005UL + 1442695040888963407UL;
			key ^= key >> 31;
		}
		unsigned wanted = key % (2 * BUCKETS);

		urcu::access_lock(rec);
		right += find(wanted) == wanted + 1;
		urcu::access_unlock(rec);
	}
	*found = right;
}

} // namespace

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2;
	long lookups = argc > 2 ? atol(argv[2]) : 100000, sum = 0;
	std::vector<long> found(threads);
	std::vector<std::thread> running;

	fill();
	urcu::records = new urcu::thread_record[threads];
	for (int i = 0; i < threads; i++) {
		urcu::records[i].m_idOwner = static_cast<unsigned long>(i);
		running.emplace_back(reader, &urcu::records[i], lookups * (i + 1) / threads - lookups * i / threads, &found[i]);
	}
	for (int i = 0; i < threads; i++) {
		running[i].join();
		sum += found[i];
	}
	printf("%ld keys found\n", sum);
	delete[] urcu::records;
	return sum != lookups;
}
