/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * interval.h: the mean of some figures and its 95 % confidence interval, by Student's t.
 *
 * The figures must be independent and of one distribution: repetitions of a whole run, or the rates of consecutive batches
 * of one run (the method of batch means), where batches are long enough that one says little about the next.
 * `interval_autocorrelation` says how much it does; beyond about 0.3 the interval is too narrow.
 */
#ifndef BENCH_VFS_INTERVAL_H
#define BENCH_VFS_INTERVAL_H

#include <math.h>
#include <stddef.h>

struct interval {
	double mean, low, high;
	size_t figures;
};

/* The 97.5 % point of Student's t: with so many degrees of freedom, 95 % of all lie within plus and minus it. */
static inline double interval_student(size_t degrees)
{
	static const double exact[] = { 12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281 };
	const double z = 1.959964, v = (double)degrees, z2 = z * z;
	if (degrees == 0)
		return INFINITY;
	if (degrees <= sizeof exact / sizeof *exact)
		return exact[degrees - 1];
	/* Abramowitz and Stegun 26.7.5: below 0.0001 off from 10 degrees on. */
	return z + z * (z2 + 1) / 4 / v + z * ((5 * z2 + 16) * z2 + 3) / 96 / (v * v) +
	       z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384 / (v * v * v);
}

/* Of one figure nothing is known but itself: low and high are infinite. */
static inline struct interval interval_of(const double *figures, size_t count)
{
	double sum = 0, squares = 0, half;
	for (size_t i = 0; i < count; i++)
		sum += figures[i];
	double mean = count ? sum / (double)count : NAN;
	for (size_t i = 0; i < count; i++)
		squares += (figures[i] - mean) * (figures[i] - mean);
	half = count > 1 ? interval_student(count - 1) * sqrt(squares / (double)(count - 1) / (double)count) : INFINITY;
	return (struct interval){ mean, mean - half, mean + half, count };
}

/*
 * Of rates at which equal amounts of work were done, one after another: all work over all time, so the harmonic mean. Its
 * interval is that of the times, relative to their mean.
 */
static inline struct interval interval_of_rates(const double *rates, size_t count)
{
	double sum = 0, squares = 0, half;
	for (size_t i = 0; i < count; i++)
		sum += 1 / rates[i];
	double time = count ? sum / (double)count : NAN;
	for (size_t i = 0; i < count; i++)
		squares += (1 / rates[i] - time) * (1 / rates[i] - time);
	half = count > 1 ? interval_student(count - 1) * sqrt(squares / (double)(count - 1) / (double)count) : INFINITY;
	half /= time * time;
	return (struct interval){ 1 / time, 1 / time - half, 1 / time + half, count };
}

/* Between each figure and the next, -1 to 1. */
static inline double interval_autocorrelation(const double *figures, size_t count)
{
	double mean = interval_of(figures, count).mean, squares = 0, products = 0;
	for (size_t i = 0; i < count; i++) {
		squares += (figures[i] - mean) * (figures[i] - mean);
		products += i ? (figures[i] - mean) * (figures[i - 1] - mean) : 0;
	}
	return squares > 0 ? products / squares : 0;
}

#endif
