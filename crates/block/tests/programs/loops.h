/* SPDX-License-Identifier: MIT OR Apache-2.0 */
typedef unsigned long u64;
typedef unsigned u32;
typedef unsigned char u8;

enum { ROUNDS = 800 };

struct node {
	struct node *next;
	u64 value;
};

struct statistics {
	u64 hits, bytes;
	u32 last;
};

struct data {
	u64 values[ROUNDS], counts[64], result;
	u8 bytes[ROUNDS], copy[ROUNDS];
	u32 words[ROUNDS];
	double row[ROUNDS], column[ROUNDS * 8], copy_row[16], a, b;
	struct statistics statistics;
	struct node *list, nodes[ROUNDS];
};

struct loop {
	const char *name;
	void (*run)(struct data *, u64 rounds);
};

extern const struct loop loops[];
