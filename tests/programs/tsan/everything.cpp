/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What a build with -fsanitize=thread makes calls of: accesses of every size, aligned and not, whole objects,
 * virtual tables, exceptions, atomic operations up to 16 bytes, fences, and TSan's own interface.
 * With "fiber" or "java" it uses parts of that which cannot be simulated.
 */
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#define CHECK(what) ((what) ? (void)0 : (std::printf("%s:%d: %s\n", "everything.cpp", __LINE__, #what), std::exit(1)))

#ifdef __SANITIZE_THREAD__
extern "C" {
void AnnotateHappensBefore(const char *file, int line, const volatile void *address);
void AnnotateHappensAfter(const char *file, int line, const volatile void *address);
void __tsan_acquire(void *address);
void __tsan_release(void *address);
void __tsan_mutex_create(void *address, unsigned flags);
void __tsan_mutex_pre_lock(void *address, unsigned flags);
void __tsan_mutex_post_lock(void *address, unsigned flags, int recursion);
int __tsan_mutex_pre_unlock(void *address, unsigned flags);
void __tsan_mutex_post_unlock(void *address, unsigned flags);
void __tsan_mutex_destroy(void *address, unsigned flags);
void *__tsan_create_fiber(unsigned flags);
void __tsan_java_init(unsigned long begin, unsigned long bytes);
void __sanitizer_set_report_fd(void *fd);
void __sanitizer_print_stack_trace(void);
int __sanitizer_get_ownership(const volatile void *address);
unsigned long __sanitizer_get_allocated_size(const volatile void *address);
uint16_t __sanitizer_unaligned_load16(const void *);
void __sanitizer_unaligned_store64(void *, uint64_t);
const char *__tsan_default_options() { return "halt_on_error=1"; }
}

static void tsans_own_interface(const char *way)
{
	static char word[16];
	std::unique_ptr<long> object(new long(7));
	int a_lock = 0;

	if (!std::strcmp(way, "fiber"))
		__tsan_create_fiber(0);
	if (!std::strcmp(way, "java"))
		__tsan_java_init(0, 0);
	AnnotateHappensBefore(__FILE__, __LINE__, word);
	AnnotateHappensAfter(__FILE__, __LINE__, word);
	__tsan_release(word);
	__tsan_acquire(word);
	__tsan_mutex_create(&a_lock, 0);
	__tsan_mutex_pre_lock(&a_lock, 0);
	__tsan_mutex_post_lock(&a_lock, 0, 0);
	CHECK(__tsan_mutex_pre_unlock(&a_lock, 0) == 0);
	__tsan_mutex_post_unlock(&a_lock, 0);
	__tsan_mutex_destroy(&a_lock, 0);
	__sanitizer_set_report_fd((void *)2);
	__sanitizer_unaligned_store64(word + 1, 0x1122334455667788);
	CHECK(__sanitizer_unaligned_load16(word + 3) == 0x5566);
	CHECK(__sanitizer_get_ownership(object.get()) && __sanitizer_get_allocated_size(object.get()) == sizeof(long));
	CHECK(!__sanitizer_get_ownership(word));
	if (!std::strcmp(way, "trace"))
		__sanitizer_print_stack_trace();
}
#else
static void tsans_own_interface(const char *) {}
#endif

struct __attribute__((packed)) Packed {
	char first;
	uint16_t two;
	uint32_t four;
	uint64_t eight;
};

template <class T> static void atomics()
{
	std::atomic<T> value{1};
	T expected = 5;

	CHECK(value.fetch_add(4) == 1 && value.load(std::memory_order_acquire) == 5);
	CHECK(value.compare_exchange_strong(expected, 12) && value.fetch_sub(2) == 12);
	CHECK(!value.compare_exchange_weak(expected, 1) && expected == 10);
	CHECK(value.fetch_or(5) == 10 && value.fetch_and(7) == 15 && value.fetch_xor(2) == 7);
	value.store(9, std::memory_order_release);
	CHECK(value.exchange(3) == 9 && value == 3);
	CHECK(__atomic_fetch_nand((T *)&value, 1, __ATOMIC_SEQ_CST) == 3 && value == (T)~1);
}

#ifdef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_16
static void wide_atomics()
{
	alignas(16) static unsigned __int128 value = 1;
	unsigned __int128 big = (unsigned __int128)1 << 64;

	CHECK(__sync_fetch_and_add(&value, big) == 1);
	CHECK(__sync_val_compare_and_swap(&value, big + 1, big) == big + 1);
	CHECK(__sync_bool_compare_and_swap(&value, big, 3) && __sync_fetch_and_or(&value, big) == 3);
	CHECK(value == big + 3);
}
#else
static void wide_atomics() {}
#endif

struct Shape {
	virtual ~Shape() = default;
	virtual long area() const = 0;
};

struct Square : Shape {
	long side;
	explicit Square(long side) : side(side) {}
	long area() const override { return side * side; }
};

__attribute__((noinline)) static long deep(int depth, const std::vector<std::unique_ptr<Shape>> &shapes)
{
	if (depth == 0)
		throw std::runtime_error(std::to_string(shapes.back()->area()));
	return deep(depth - 1, shapes) + 1;
}

static long caught()
{
	std::vector<std::unique_ptr<Shape>> shapes;

	for (long i = 1; i < 9; i++)
		shapes.emplace_back(new Square(i));
	try {
		return deep(20, shapes);
	} catch (const std::runtime_error &e) {
		return std::stol(e.what());
	}
}

struct Record {
	long fields[40];
};

int main(int argc, char **argv)
{
	static Packed packed;
	static Record from, to;
	static std::atomic<long> total;
	std::vector<std::thread> threads;

	tsans_own_interface(argc > 1 ? argv[1] : "");
	packed.two = 2, packed.four = 4, packed.eight = 8;
	CHECK(packed.two + packed.four + packed.eight == 14);
	for (int i = 0; i < 40; i++)
		from.fields[i] = i;
	to = from;
	CHECK(std::memcmp(&to, &from, sizeof to) == 0);
	atomics<uint8_t>(), atomics<uint16_t>(), atomics<uint32_t>(), atomics<uint64_t>();
	wide_atomics();
	std::atomic_thread_fence(std::memory_order_seq_cst);
	std::atomic_signal_fence(std::memory_order_seq_cst);
	for (int i = 0; i < 4; i++)
		threads.emplace_back([] {
			for (int n = 0; n < 10; n++)
				total += caught();
		});
	for (auto &thread : threads)
		thread.join();
	std::printf("total %ld\n", total.load());
	return 0;
}
