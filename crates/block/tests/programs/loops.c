/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Loops of different kinds, each run for a given number of rounds. Built twice: plain, and instrumented. */
#include "loops.h"

#define LOOP __attribute__((noinline, noclone, section("timed")))

LOOP void sum(struct data *data, u64 rounds)
{
	u64 *values = data->values, total = 0;
	for (u64 i = 0; i < rounds; i++)
		total += values[i] * 3;
	data->result = total;
}

LOOP void increment(struct data *data, u64 rounds)
{
	volatile u64 *value = data->values;
	for (u64 i = 0; i < rounds; i++)
		value[0]++;
}

LOOP void copy(struct data *data, u64 rounds)
{
	const u8 *from = data->bytes;
	u8 *to = data->copy;
	for (u64 i = 0; i < rounds; i++) {
		to[i] = from[i];
		__asm__ volatile("");
	}
}

LOOP void scan(struct data *data, u64 rounds)
{
	const u8 *text = data->bytes;
	u64 length = 0;
	while (length < rounds && text[length] && text[length] != 'x')
		length++;
	data->result = length;
}

LOOP void hash(struct data *data, u64 rounds)
{
	const u8 *text = data->bytes;
	u64 hash = 14695981039346656037ul;
	for (u64 i = 0; i < rounds; i++) {
		hash ^= text[i];
		hash *= 1099511628211ul;
	}
	data->result = hash;
}

LOOP void hash_lower_case(struct data *data, u64 rounds)
{
	const u8 *text = data->bytes;
	u64 hash = 5381;
	for (u64 i = 0; i < rounds; i++) {
		if (text[i] == '-')
			continue;
		hash = hash * 33 ^ text[i];
	}
	data->result = hash;
}

LOOP void walk(struct data *data, u64 rounds)
{
	u64 total = 0;
	(void)rounds;
	for (struct node *node = data->list; node; node = node->next)
		total += node->value;
	data->result = total;
}

LOOP void find(struct data *data, u64 rounds)
{
	u64 large = 0;
	(void)rounds;
	for (struct node *node = data->list; node; node = node->next) {
		if (node->value == rounds + 7)
			break;
		if (node->value & 1)
			large++;
	}
	data->result = large;
}

LOOP void polynomial(struct data *data, u64 rounds)
{
	double a = data->a, b = data->b, s = 1;
	for (u64 i = 0; i < rounds; i++)
		s = s * a + b;
	data->a = s;
}

LOOP void conditions(struct data *data, u64 rounds)
{
	const u32 *values = data->words;
	u64 a = 0, b = 0, c = 0;
	for (u64 i = 0; i < rounds; i++) {
		if (values[i] & 1) {
			if (values[i] & 2)
				a += values[i];
			else
				b ^= a;
		} else {
			c -= values[i];
		}
	}
	data->result = a + b * c;
}

LOOP void fields(struct data *data, u64 rounds)
{
	struct statistics *statistics = &data->statistics;
	for (u64 i = 0; i < rounds; i++) {
		statistics->hits++;
		statistics->bytes += i;
		statistics->last = (u32)i;
		__asm__ volatile("" ::: "memory");
	}
}

LOOP void histogram(struct data *data, u64 rounds)
{
	const u8 *text = data->bytes;
	u64 *counts = data->counts;
	for (u64 i = 0; i < rounds; i++)
		counts[text[i] & 63]++;
}

LOOP void atomic_add(struct data *data, u64 rounds)
{
	for (u64 i = 0; i < rounds; i++)
		__atomic_fetch_add(&data->result, 1, __ATOMIC_SEQ_CST);
}

LOOP void atomic_maximum(struct data *data, u64 rounds)
{
	const u64 *values = data->values;
	for (u64 i = 0; i < rounds; i++) {
		u64 old = __atomic_load_n(&data->result, __ATOMIC_RELAXED);
		__atomic_compare_exchange_n(&data->result, &old, old + values[i], 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
	}
}

LOOP void dot(struct data *data, u64 rounds)
{
	const double *row = data->row, *column = data->column;
	double total = 0;
	for (u64 i = 0; i < rounds; i++)
		total += row[i] * column[i * 8];
	data->a = total;
}

LOOP void scale(struct data *data, u64 rounds)
{
	const double *from = data->row;
	double *to = data->column, a = data->a;
	for (u64 i = 0; i < rounds; i++)
		to[i] = from[i] * a;
}

LOOP static u64 square(u64 x)
{
	return x * x + 1;
}

LOOP void call(struct data *data, u64 rounds)
{
	u64 total = 0;
	for (u64 i = 0; i < rounds; i++)
		total += square(i);
	data->result = total;
}

LOOP void divide(struct data *data, u64 rounds)
{
	const u32 *values = data->words;
	u64 total = 0;
	for (u64 i = 0; i < rounds; i++)
		total += values[i] / (u32)(i + 1);
	data->result = total;
}

LOOP void generator(struct data *data, u64 rounds)
{
	u64 x = data->values[1];
	for (u64 i = 0; i < rounds; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	data->result = x;
}

LOOP void switches(struct data *data, u64 rounds)
{
	const u8 *text = data->bytes;
	u64 a = 0, b = 1, c = 2;
	for (u64 i = 0; i < rounds; i++) {
		switch (text[i] & 7) {
		case 0: a += 3; break;
		case 1: b ^= a; break;
		case 2: c += b; break;
		case 3: a ^= i; break;
		case 4: b += c; break;
		case 5: c ^= 5; break;
		default: a--; break;
		}
	}
	data->result = a + b + c;
}

LOOP void matrix(struct data *data, u64 rounds)
{
	const double *rows = data->row, *columns = data->column;
	for (u64 i = 0; i < rounds / 100; i++) {
		double total = 0;
		for (u64 k = 0; k < 100; k++)
			total += rows[k] * columns[k * 16 + i % 16];
		data->copy_row[i % 16] = total;
	}
}

/* As short that several walks fit into what a core looks ahead. */
LOOP void lists(struct data *data, u64 rounds)
{
	struct node *next = data->nodes[15].next;
	data->nodes[15].next = 0;
#ifdef __clang__
#pragma clang loop unroll(disable) /* two inner loops in one round are not seen as one */
#endif
	for (u64 i = 0; i < rounds / 16; i++) {
		u64 total = 0;
		for (struct node *node = data->list; node; node = node->next)
			total += node->value;
		*(volatile u64 *)&data->result = total;
	}
	data->nodes[15].next = next;
}

const struct loop loops[] = {
	{ "lists", lists },
	{ "sum", sum }, { "increment", increment }, { "copy", copy }, { "scan", scan }, { "hash", hash },
	{ "hash_lower_case", hash_lower_case }, { "walk", walk }, { "find", find }, { "polynomial", polynomial },
	{ "conditions", conditions }, { "fields", fields }, { "histogram", histogram }, { "atomic_add", atomic_add },
	{ "atomic_maximum", atomic_maximum }, { "dot", dot }, { "scale", scale }, { "call", call },
	{ "divide", divide }, { "generator", generator }, { "switches", switches }, { "matrix", matrix }, { 0, 0 },
};
