/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Many readers beside a writer on one LMDB environment, in a temporary directory of its own:
 *
 *   driver READERS [MODE [TRANSACTIONS [ENTRIES [COMMITS]]]]
 *
 * MODE says how a reader opens its transactions, as LMDB's users do:
 *   tls    mdb_txn_begin and mdb_txn_abort; the reader slot stays with the thread (LMDB's default)
 *   renew  MDB_NOTLS, one transaction for each reader, mdb_txn_reset and mdb_txn_renew; the slot stays
 *   begin  MDB_NOTLS, mdb_txn_begin and mdb_txn_abort; the slot is claimed anew each time
 *
 * A reader's transaction looks up a pair of keys, far apart in the tree, that the writer only ever
 * changes together: both must be of one version. The writer changes some pairs, commits, sleeps, and
 * so on. What is printed depends on the arguments alone.
 */
#include <corefold.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PAIRS_A_COMMIT 4
#define MOST_READERS 1024
#define PAUSE_NS 20000

struct value {
	uint32_t key;
	uint32_t version;
	uint64_t check;
	char payload[48];
};

static struct {
	int readers;
	unsigned flags;
	int renew;
	unsigned transactions;
	uint32_t entries;
	unsigned commits;
} options;

static MDB_env *env;
static MDB_dbi dbi;
static pthread_barrier_t ready;
static atomic_int reading;

static void must_(int code, const char *what, int line)
{
	if (code) {
		fprintf(stderr, "driver.c:%d: %s: %s\n", line, what, mdb_strerror(code));
		exit(1);
	}
}
#define must(call) must_(call, #call, __LINE__)

static void wrong(const char *what, uint32_t key)
{
	fprintf(stderr, "wrong: %s, key %u\n", what, key);
	exit(1);
}

static uint64_t mixed(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
	return mixed(*state += 0x9e3779b97f4a7c15);
}

static uint64_t check_of(uint32_t key, uint32_t version)
{
	return mixed((uint64_t)version << 32 | key);
}

/* user00001234; without snprintf, which would cost as much as the lookup. */
static MDB_val key_of(uint32_t key, char text[16])
{
	memcpy(text, "user", 4);
	for (int digit = 11; digit >= 4; digit--, key /= 10)
		text[digit] = (char)('0' + key % 10);
	return (MDB_val){ 12, text };
}

static void put(MDB_txn *txn, uint32_t key, uint32_t version)
{
	char text[16];
	MDB_val name = key_of(key, text);
	struct value value = { key, version, check_of(key, version), "" };
	MDB_val data = { sizeof(value), &value };

	memset(value.payload, 'a' + (int)(key % 26), sizeof(value.payload));
	must(mdb_put(txn, dbi, &name, &data, 0));
}

/* The version of a key in this snapshot. */
static uint32_t get(MDB_txn *txn, uint32_t key)
{
	char text[16];
	MDB_val name = key_of(key, text), data;
	struct value value;

	must(mdb_get(txn, dbi, &name, &data));
	if (data.mv_size != sizeof(value))
		wrong("size of a value", key);
	memcpy(&value, data.mv_data, sizeof(value));
	if (value.key != key || value.check != check_of(key, value.version))
		wrong("value", key);
	return value.version;
}

static void open_environment(const char *directory)
{
	MDB_txn *txn;

	must(mdb_env_create(&env));
	must(mdb_env_set_mapsize(env, (size_t)64 << 20));
	must(mdb_env_set_maxreaders(env, MOST_READERS));
	must(mdb_env_open(env, directory, MDB_NOSYNC | options.flags, 0600));
	must(mdb_txn_begin(env, NULL, 0, &txn));
	must(mdb_dbi_open(txn, NULL, 0, &dbi));
	for (uint32_t key = 0; key < options.entries; key++)
		put(txn, key, 0);
	must(mdb_txn_commit(txn));
}

static void look_up_pair(MDB_txn *txn, uint64_t *random)
{
	uint32_t half = options.entries / 2;
	uint32_t key = (uint32_t)(next_random(random) % half);

	if (get(txn, key) != get(txn, key + half))
		wrong("a pair of two versions", key);
}

static void *reader(void *number)
{
	uint64_t random = (uint64_t)(uintptr_t)number << 32;
	MDB_txn *txn = NULL;

	if (options.renew) {
		must(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn));
		mdb_txn_reset(txn);
	}
	pthread_barrier_wait(&ready); /* all are here */
	pthread_barrier_wait(&ready); /* and go */
	for (unsigned i = 0; i < options.transactions; i++) {
		if (options.renew)
			must(mdb_txn_renew(txn));
		else
			must(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn));
		look_up_pair(txn, &random);
		if (options.renew)
			mdb_txn_reset(txn);
		else
			mdb_txn_abort(txn);
		COREFOLD_PROGRESS("read");
	}
	if (atomic_fetch_sub(&reading, 1) == 1)
		COREFOLD_END();
	if (options.renew)
		mdb_txn_abort(txn);
	return NULL;
}

static void write_pairs(unsigned commit)
{
	uint32_t half = options.entries / 2;
	uint64_t random = commit;
	MDB_txn *txn;

	must(mdb_txn_begin(env, NULL, 0, &txn));
	for (int i = 0; i < PAIRS_A_COMMIT; i++) {
		uint32_t key = (uint32_t)(next_random(&random) % half);
		put(txn, key, commit);
		put(txn, key + half, commit);
	}
	must(mdb_txn_commit(txn));
}

static void report(void)
{
	uint64_t found = 0, changed = 0, sum = 0;
	MDB_txn *txn;
	MDB_stat stat;

	must(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn));
	must(mdb_stat(txn, dbi, &stat));
	for (uint32_t key = 0; key < options.entries; key++, found++) {
		uint32_t version = get(txn, key);
		changed += version != 0;
		sum += check_of(key, version);
	}
	mdb_txn_abort(txn);
	printf("%d readers, %u transactions each; %u commits\n", options.readers, options.transactions, options.commits);
	printf("%zu entries, %llu found, %llu changed, depth %u, checksum %016llx\n", stat.ms_entries,
	       (unsigned long long)found, (unsigned long long)changed, stat.ms_depth, (unsigned long long)sum);
}

static void run(void)
{
	static pthread_t threads[MOST_READERS];
	struct timespec pause = { 0, PAUSE_NS };

	atomic_init(&reading, options.readers);
	pthread_barrier_init(&ready, NULL, (unsigned)options.readers + 1);
	/* The main thread writes, on CPU 0; the last reader shares it. */
	for (int i = 0; i < options.readers; i++)
		must(pthread_create(&threads[i], NULL, reader, (void *)(uintptr_t)(i + 1)));
	pthread_barrier_wait(&ready);
	COREFOLD_BEGIN();
	pthread_barrier_wait(&ready);
	for (unsigned commit = 1; commit <= options.commits; commit++) {
		write_pairs(commit);
		nanosleep(&pause, NULL);
	}
	for (int i = 0; i < options.readers; i++)
		must(pthread_join(threads[i], NULL));
	pthread_barrier_destroy(&ready);
}

static int parse(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[2] : "renew";

	options.readers = argc > 1 ? atoi(argv[1]) : 0;
	options.transactions = argc > 3 ? (unsigned)atoi(argv[3]) : 500;
	options.entries = argc > 4 ? (uint32_t)atoi(argv[4]) : 10000;
	options.commits = argc > 5 ? (unsigned)atoi(argv[5]) : 40;
	options.renew = !strcmp(mode, "renew");
	options.flags = strcmp(mode, "tls") ? MDB_NOTLS : 0;
	return options.readers >= 1 && options.readers <= MOST_READERS - 1 && options.entries >= 2 &&
	       (options.renew || !options.flags || !strcmp(mode, "begin"));
}

int main(int argc, char **argv)
{
	char directory[] = "/tmp/corefold-lmdb-XXXXXX", file[64];

	if (!parse(argc, argv)) {
		fputs("usage: driver READERS [tls|renew|begin [TRANSACTIONS [ENTRIES [COMMITS]]]]\n", stderr);
		return 2;
	}
	if (!mkdtemp(directory)) {
		perror(directory);
		return 1;
	}
	open_environment(directory);
	run();
	report();
	mdb_env_close(env);
	for (int i = 0; i < 2; i++) {
		snprintf(file, sizeof(file), "%s/%s", directory, i ? "lock.mdb" : "data.mdb");
		unlink(file);
	}
	rmdir(directory);
	return 0;
}
