/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Branches that nobody can guess. */
static unsigned long sums[64];

static __attribute__((noinline)) unsigned long next(unsigned long x)
{
	return x * 2862933555777941757UL + 3037000493UL;
}

unsigned long work(unsigned long x, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		x = next(x);
		if (x >> 40 & 1) {
			sums[3] += x;
			x = next(x);
		} else {
			sums[5] ^= x;
			sums[9] += next(x);
		}
		if (x >> 44 & 1) {
			sums[13] += x;
			x = next(next(x));
		} else {
			sums[15] ^= x;
			sums[19] += next(x);
		}
	}
	return x + sums[3];
}
