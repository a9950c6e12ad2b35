// SPDX-License-Identifier: MIT OR Apache-2.0
// Every kind of access that instrumentation has a hook for, in every size. Linked, never run.
#include <atomic>
#include <cstring>

template <class T> struct __attribute__((packed)) Packed {
	char before;
	T plain;
	volatile T watched;
};

template <class T> void plain(T *p, volatile T *q, Packed<T> *unaligned) {
	*p += 1;
	*q = *q + 1;
	unaligned->plain += *p;
	unaligned->watched = unaligned->watched + 1;
}

template <class T> T atomic(T *p, T v, T *expected) {
	T sum = __atomic_load_n(p, __ATOMIC_RELAXED) + __atomic_load_n(p, __ATOMIC_SEQ_CST);
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
	sum += __atomic_exchange_n(p, v, __ATOMIC_ACQ_REL) + __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);
	sum += __atomic_fetch_sub(p, v, __ATOMIC_RELAXED) + __atomic_fetch_and(p, v, __ATOMIC_ACQUIRE);
	sum += __atomic_fetch_or(p, v, __ATOMIC_RELEASE) + __atomic_fetch_xor(p, v, __ATOMIC_SEQ_CST);
	sum += __atomic_fetch_nand(p, v, __ATOMIC_SEQ_CST);
	sum += __atomic_compare_exchange_n(p, expected, v, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	return sum + __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

#define EVERY(T)                                                                                                       \
	template void plain<T>(T *, volatile T *, Packed<T> *);                                                            \
	template T atomic<T>(T *, T, T *);

EVERY(unsigned char)
EVERY(unsigned short)
EVERY(unsigned)
EVERY(unsigned long)
EVERY(__int128)

void fences() {
	std::atomic_thread_fence(std::memory_order_seq_cst);
	std::atomic_signal_fence(std::memory_order_acquire);
}

void vectors(float *to, const float *from, int count) {
	for (int i = 0; i < count; i++)
		to[i] += from[i];
}

struct Block {
	char bytes[100];
};

void copies(Block *to, Block *from, char *bytes, unsigned long size) {
	*to = *from;
	std::memmove(bytes, bytes + 1, size);
	std::memset(bytes, 0, size);
	std::memset(from, 1, sizeof *from);
}

struct Base {
	virtual ~Base();
	virtual int value();
	int member = 1;
};

struct Derived : Base {
	~Derived() override;
	int value() override;
};

Base::~Base() { member = 0; }
int Base::value() { return member; }
Derived::~Derived() { value(); }
int Derived::value() { return 2; }

int call(Base *base) {
	static Derived one;
	try {
		return base->value() + one.value();
	} catch (...) {
		return 0;
	}
}
