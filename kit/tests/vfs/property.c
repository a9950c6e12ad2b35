// SPDX-License-Identifier: MIT OR Apache-2.0
// cf_vfs against the model: the same random calls, the same results, errors, attributes, times and free space.
//   CF_TEST_SEED=N   one seed alone
#include "threads.h"
#include "model/ours.h"
#include "model/random_calls.h"

static const struct cred creds[MODEL_TASKS] = { { 0, 0, { 0 }, 0 }, { 1000, 1000, { 50 }, 1 }, { 1001, 1001, { 50 }, 1 } };

struct kind {
	const char *name;
	int64_t bytes, inodes, largest;
	int fds;
	bool looks;
};

static bool run(uint64_t seed, const struct kind *kind, long calls)
{
	static struct random_calls random;
	struct model_options options = { .bytes = kind->bytes, .inodes = kind->inodes, .fds = kind->fds, .root_mode = 0777 };
	struct lockstep lockstep = { .what = { .times = true, .space = true }, .looks = kind->looks,
				     .long_first = true };
	struct ours ours;
	bool same;
	memcpy(options.creds, creds, sizeof creds);
	random = (struct random_calls){ .state = seed, .fds = kind->fds < 30 ? kind->fds : 30, .largest = kind->largest,
					.rare_offsets = true, .rare_times = true };
	lockstep.model = model_new(&options);
	CHECK_EQUAL(ours_new(&ours, &options, &lockstep.model->now, NULL), 0);
	lockstep.other = (struct implementation){ "cf_vfs", &ours, ours_call };
	same = lockstep_run(&lockstep, &random, calls);
	if (!same)
		fprintf(stderr, "%s, seed %llu\n", kind->name, (unsigned long long)seed);
	for (int op = 0; getenv("CF_TEST_SHOW") && op < OPS; op++)
		fprintf(stderr, "op %d: %llu succeeded, %llu failed\n", op, (unsigned long long)lockstep.successes[op],
			(unsigned long long)lockstep.errors[op]);
	lockstep_free(&lockstep);
	ours_free(&ours);
	model_free(lockstep.model);
	return same;
}

static void run_seeds(const struct kind *kind, int seeds, long calls)
{
	const char *only = getenv("CF_TEST_SEED");
	if (only)
		CHECK(run((uint64_t)atoll(only), kind, calls));
	for (int seed = 1; !only && seed <= seeds; seed++)
		CHECK(run((uint64_t)seed, kind, calls));
}

TEST("results are the model's, with every file looked at after each call")
{
	run_seeds(&(struct kind){ "looked at", 0, 0, 20000, 40, true }, 4, scaled(5000));
}

TEST("results are the model's, when space, inodes and descriptors are short")
{
	run_seeds(&(struct kind){ "short of everything", 100000, 20, 20000, 6, false }, 10, scaled(6000));
}

TEST("results are the model's, with long runs")
{
	run_seeds(&(struct kind){ "long", 4000000, 200, 60000, 20, false }, 1, scaled(20000));
}

VFS_MAIN
