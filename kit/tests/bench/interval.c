// SPDX-License-Identifier: MIT OR Apache-2.0
// The 95 % interval: against tables, and against what it promises.
#include "../harness.h"
#include "interval.h"

#ifdef CF_TEST_POINTS /* the library that is linked may have them */
void cf_test_point(const char *where)
{
	(void)where;
}
#endif

static bool close_to(double a, double b, double room)
{
	return fabs(a - b) <= room;
}

TEST("Student's t is that of the tables")
{
	static const struct {
		size_t degrees;
		double point;
	} table[] = { { 1, 12.706 }, { 2, 4.303 }, { 5, 2.571 }, { 10, 2.228 }, { 11, 2.201 }, { 12, 2.179 }, { 15, 2.131 },
		      { 19, 2.093 }, { 20, 2.086 }, { 30, 2.042 }, { 60, 2.000 }, { 120, 1.980 }, { 100000, 1.960 } };
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		CHECK(close_to(interval_student(table[i].degrees), table[i].point, 0.0006));
	CHECK(isinf(interval_student(0)));
}

TEST("an interval by hand")
{
	/* Standard deviation 2, so 2 / sqrt(4) * 3.1824. */
	static const double figures[] = { 8, 10, 10, 12 };
	struct interval got = interval_of(figures, 4);
	CHECK(close_to(got.mean, 10, 1e-12));
	CHECK(close_to(got.high, 10 + 1.6329932 / 2 * 3.1824, 1e-4));
	CHECK(close_to(got.low, 20 - got.high, 1e-12));
	CHECK(isinf(interval_of(figures, 1).high));
	CHECK(isnan(interval_of(figures, 0).mean));
}

TEST("equal amounts of work at several rates: all work over all time")
{
	static const double rates[] = { 1, 4, 2, 4 }, same[] = { 3, 3 };
	struct interval got = interval_of_rates(rates, 4); /* times 1, 1/4, 1/2, 1/4: mean 1/2, standard deviation sqrt(1/8) */
	CHECK(close_to(got.mean, 2, 1e-12));
	CHECK(close_to(got.high, 2 + 4 * sqrt(1 / 8.0) / 2 * 3.1824, 1e-4));
	CHECK(close_to(got.low, 4 - got.high, 1e-12));
	CHECK(close_to(interval_of_rates(same, 2).high, 3, 1e-12));
	CHECK(isinf(interval_of_rates(rates, 1).high));
}

/* Roughly normal: the sum of twelve uniform figures. */
static double draw(uint64_t *random)
{
	double sum = 0;
	for (int i = 0; i < 12; i++)
		sum += random_below(random, 1000000) / 1e6;
	return sum - 6;
}

TEST("the interval has the true mean in it 95 times in 100")
{
	enum { INTERVALS = 20000, FIGURES = 6 };
	uint64_t random = 1;
	long inside = 0;
	for (int i = 0; i < INTERVALS; i++) {
		double figures[FIGURES];
		for (int j = 0; j < FIGURES; j++)
			figures[j] = 100 + draw(&random);
		struct interval got = interval_of(figures, FIGURES);
		inside += got.low <= 100 && 100 <= got.high;
	}
	CHECK(inside > INTERVALS * 0.943 && inside < INTERVALS * 0.957);
}

TEST("figures that resemble the one before are told from those that do not")
{
	enum { FIGURES = 400 };
	double alone[FIGURES], drifting[FIGURES];
	uint64_t random = 2;
	for (int i = 0; i < FIGURES; i++) {
		alone[i] = draw(&random);
		drifting[i] = 0.9 * (i ? drifting[i - 1] : 0) + draw(&random);
	}
	CHECK(fabs(interval_autocorrelation(alone, FIGURES)) < 0.15);
	CHECK(interval_autocorrelation(drifting, FIGURES) > 0.7);
}

HARNESS_MAIN
