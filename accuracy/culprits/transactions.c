/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Timestamp allocation of a database: each transaction takes its timestamp from one counter with an atomic addition.
// Yu et al. ("Staring into the Abyss", VLDB 2014) show it as the limit of timestamp ordering on many cores.
// The twin allocates batches, as the paper proposes: a thread takes 1,000 timestamps at a time.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define BATCH 1000
#define ROWS 64

struct row {
	uint64_t written_at, balance;
};

struct txn_man {
	_Alignas(128) struct row rows[ROWS];
	pthread_t id;
	long transactions;
	uint64_t next, end, total;
};

struct manager {
	_Alignas(128) _Atomic uint64_t timestamp;
};

static struct manager *glob_manager;
static pthread_barrier_t start;

static uint64_t get_ts(struct txn_man *txn)
{
#ifdef TWIN
	if (txn->next == txn->end) {
		txn->next = atomic_fetch_add(&glob_manager->timestamp, BATCH);
		txn->end = txn->next + BATCH;
	}
	return txn->next++;
#else
	(void)txn;
	return atomic_fetch_add(&glob_manager->timestamp, 1);
#endif
}

// Moves 1 to each of 16 rows of this thread's partition; a row keeps the timestamp of its last write.
__attribute__((noinline)) static void run_txn(struct txn_man *txn, uint64_t key)
{
	uint64_t ts = get_ts(txn);

	for (int i = 0; i < 16; i++) {
		struct row *row = &txn->rows[key % ROWS];

		if (row->written_at < ts) {
			row->written_at = ts;
			row->balance++;
		}
		key = key * 6364136223846793005u + 1442695040888963407u;
		key ^= key >> 29;
	}
}

static void *worker(void *argument)
{
	struct txn_man *txn = argument;

	pthread_barrier_wait(&start);
	for (long i = 0; i < txn->transactions; i++)
		run_txn(txn, (uint64_t)i);
	for (int i = 0; i < ROWS; i++)
		txn->total += txn->rows[i].balance;
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2;
	long work = argc > 2 ? atol(argv[2]) : 100000;
	struct txn_man **txns = malloc((size_t)threads * sizeof *txns);
	uint64_t total = 0;

	glob_manager = aligned_alloc(128, sizeof *glob_manager);
	atomic_init(&glob_manager->timestamp, 1);
	pthread_barrier_init(&start, NULL, (unsigned)threads);
	for (int t = 0; t < threads; t++) {
		txns[t] = aligned_alloc(128, sizeof **txns);
		*txns[t] = (struct txn_man) { .transactions = work * (t + 1) / threads - work * t / threads };
		pthread_create(&txns[t]->id, NULL, worker, txns[t]);
	}
	for (int t = 0; t < threads; t++) {
		pthread_join(txns[t]->id, NULL);
		total += txns[t]->total;
	}
	uint64_t given = atomic_load(&glob_manager->timestamp) - 1;
	printf("%llu timestamps given, %llu rows written\n", (unsigned long long)given, (unsigned long long)total);
	return given < (uint64_t)work || total < (uint64_t)work || total > 16 * (uint64_t)work;
}
