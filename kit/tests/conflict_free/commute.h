// SPDX-License-Identifier: MIT OR Apache-2.0
// Whether two calls commute, by the reference model: in both orders each gives the same result, and they leave states that
// no later call can tell apart. New inodes have any number, and CF_O_ANYFD gives any descriptor.
#ifndef KIT_TESTS_CONFLICT_FREE_COMMUTE_H
#define KIT_TESTS_CONFLICT_FREE_COMMUTE_H

#include "plan.h"

// results: what the two calls return, when they commute.
bool commutes(const struct plan *plan, int64_t results[2]);

#endif
