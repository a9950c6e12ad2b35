/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A thread's function that is named like a lock and stands in a header: nothing of the program calls it. */
static int word;

static void *lock_worker(void *argument)
{
	for (int i = 0; i < 20000; i++) {
		while (__atomic_exchange_n(&word, 1, __ATOMIC_ACQUIRE))
			while (__atomic_load_n(&word, __ATOMIC_RELAXED))
				__builtin_ia32_pause();
		__atomic_store_n(&word, 0, __ATOMIC_RELEASE);
	}
	return argument;
}
