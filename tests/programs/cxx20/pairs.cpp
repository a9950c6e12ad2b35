// SPDX-License-Identifier: MIT OR Apache-2.0
// 16 bytes at once, as lock-free stacks have a pointer and a tag.
#include "../pthread/check.h"
#include <atomic>
#include <thread>
#include <vector>

struct Node {
	Node *next;
	long value;
};

struct alignas(16) Head {
	Node *first = nullptr;
	long tag = 0;
};

class Stack {
	Head head_;

	static __int128 bits(Head head) { return __builtin_bit_cast(__int128, head); }
	bool exchange(Head &old, Head head) {
		__int128 expected = bits(old);
		bool done = __atomic_compare_exchange_n(reinterpret_cast<__int128 *>(&head_), &expected, bits(head), true,
												__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
		old = __builtin_bit_cast(Head, expected);
		return done;
	}
	Head head() {
		return __builtin_bit_cast(Head, __atomic_load_n(reinterpret_cast<__int128 *>(&head_), __ATOMIC_ACQUIRE));
	}

public:
	void push(Node *node) {
		Head old = head();
		do
			__atomic_store_n(&node->next, old.first, __ATOMIC_RELAXED);
		while (!exchange(old, {node, old.tag + 1}));
	}
	Node *pop() {
		Head old = head();
		while (old.first) {
			if (exchange(old, {__atomic_load_n(&old.first->next, __ATOMIC_RELAXED), old.tag + 1}))
				break;
		}
		return old.first;
	}
	long operations() { return head().tag; }
};

int main() {
	constexpr int THREADS = 6, ROUNDS = 100;
	Stack stack;
	Node nodes[THREADS];
	{
		std::vector<std::jthread> all;
		for (auto &node : nodes)
			all.emplace_back([&] {
				node.value = 0;
				stack.push(&node);
				for (int i = 0; i < ROUNDS; i++) {
					Node *mine = stack.pop();
					CHECK(mine);
					mine->value++;
					stack.push(mine);
				}
			});
	}
	long sum = 0;
	while (Node *node = stack.pop())
		sum += node->value;
	CHECK(sum == THREADS * ROUNDS);
	CHECK(stack.operations() == THREADS * (2 * ROUNDS + 2));
	printf("%ld\n", sum);
}
