/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "served.h"

_Alignas(64) struct stats stats;

void stats_put(void)
{
	atomic_fetch_add(&stats.put, 1);
}

void stats_taken(void)
{
	atomic_fetch_add(&stats.taken, 1);
}
