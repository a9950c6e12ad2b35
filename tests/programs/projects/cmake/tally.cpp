// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tally.h"

void Tally::up() { ups_.fetch_add(1, std::memory_order_relaxed); }
void Tally::down() { downs_.fetch_add(1, std::memory_order_relaxed); }
