// SPDX-License-Identifier: MIT OR Apache-2.0
// Writers of a big-reader lock, and readers that found one.
#include <corefold/cf_brlock.h>

int cf_brlock_init(struct cf_brlock *l)
{
	l->slots = cf_slots_new();
	l->count = cf_slot_count();
	cf_qspin_init(&l->writers);
	return l->slots ? 0 : -ENOMEM;
}

void cf_brlock_destroy(struct cf_brlock *l)
{
	cf_slots_free(l->slots);
	l->slots = NULL;
}

int cf_brlock_read_lock_slow(struct cf_brlock *l, int slot)
{
	// Relaxed: nothing was read in between.
	__atomic_fetch_sub(&l->slots[slot].u.word, CF_BRLOCK_READER, __ATOMIC_RELAXED);
	CF_TEST_POINT("brlock: reader found a writer");
	// In line with the writers; while it is this reader's turn there is none inside.
	cf_qspin_lock(&l->writers);
	// Relaxed: the lock has acquired what the last writer released.
	__atomic_fetch_add(&l->slots[slot].u.word, CF_BRLOCK_READER, __ATOMIC_RELAXED);
	cf_qspin_unlock(&l->writers);
	return slot;
}

void cf_brlock_write_lock(struct cf_brlock *l)
{
	cf_qspin_lock(&l->writers);
	for (uint32_t i = 0; i < l->count; i++) // relaxed: the loads below acquire
		__atomic_fetch_or(&l->slots[i].u.word, CF_BRLOCK_WRITER, __ATOMIC_RELAXED);
	CF_TEST_POINT("brlock: writer waits");
	for (uint32_t i = 0; i < l->count; i++) // acquire: after the release of the slot's last reader
		CF_LOCK_WAIT_UNTIL(__atomic_load_n(&l->slots[i].u.word, __ATOMIC_ACQUIRE) == CF_BRLOCK_WRITER);
}

void cf_brlock_write_unlock(struct cf_brlock *l)
{
	for (uint32_t i = 0; i < l->count; i++) // release: this section before the readers' acquire
		__atomic_fetch_and(&l->slots[i].u.word, ~CF_BRLOCK_WRITER, __ATOMIC_RELEASE);
	cf_qspin_unlock(&l->writers);
}
