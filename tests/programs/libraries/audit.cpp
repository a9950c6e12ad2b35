// SPDX-License-Identifier: MIT OR Apache-2.0
#include "ledger.h"
#include <atomic>
#include <mutex>
#include <stdexcept>

static struct {
	std::mutex lock;
	std::atomic<long> noted;
	long sum;
} journal;

// Errors of one library are caught in it, or in another.
static void look(const entry &entry) {
	if (entry.amount == 0)
		throw std::invalid_argument("nothing to book");
	std::lock_guard guard(journal.lock);
	journal.sum += entry.amount;
}

void audit_note(const entry *entry) {
	try {
		look(*entry);
	} catch (const std::invalid_argument &) {
	}
	journal.noted.fetch_add(1, std::memory_order_relaxed);
}

long audit_noted() { return journal.noted; }
