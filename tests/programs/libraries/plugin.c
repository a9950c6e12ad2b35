/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Loaded while the program runs. Each thread has its own rate, all count together. */
#include "ledger.h"
#include <stdatomic.h>

static struct {
	atomic_long asked;
	long factor;
} rates = { .factor = 3 };

static _Thread_local long rate = 1;

long plugin_rate(long amount)
{
	atomic_fetch_add(&rates.asked, 1);
	rate = rate * rates.factor % 101;
	return ledger_booked() < 0 ? 0 : amount * rate;
}

long plugin_asked(void)
{
	return atomic_load(&rates.asked);
}
