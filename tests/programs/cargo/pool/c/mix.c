// SPDX-License-Identifier: MIT OR Apache-2.0
static long mixed;

long mix(long by)
{
	return __atomic_add_fetch(&mixed, by, __ATOMIC_RELAXED);
}
