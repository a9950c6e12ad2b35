/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The threads that run a litmus test together, its memory, and how accesses are made in the present round. */
#include "accesses.h"

enum { THREADS = 4, LINES = 128 / sizeof(whole) };
enum variant { ONE_SIZE, MIXED, FENCED, LOCKED, VARIANTS };

struct team {
	_Alignas(128) whole far_x[LINES];
	_Alignas(128) whole far_y[LINES];
	_Alignas(128) whole near[LINES];
	_Alignas(128) whole seen[THREADS][LINES];
	_Alignas(128) atomic_uint arrived;
	/* The round, on one line. */
	_Alignas(128) whole *x, *y;
	/* Two bits for each access: its kind, and the power of two that is its size. */
	unsigned kinds, sizes;
	unsigned char delays[THREADS][2];
	/* The byte of each word that has the value; the others are 0. */
	unsigned char at;
	/* Of a part of a word, and of a load of two parts. */
	unsigned char width, span;
	unsigned char is_fresh, variant;
	_Alignas(128) unsigned threads, fresh_lines;
	whole random;
};

static enum kind kind(const struct team *t, unsigned access)
{
	return t->kinds >> 2 * access & 3;
}

static unsigned size(const struct team *t, unsigned access)
{
	return 1 << (t->sizes >> 2 * access & 3);
}

static void store_bytes(struct team *t, void *at, unsigned size, whole value, unsigned access)
{
	(t->variant == LOCKED ? put_locked : put)(at, size, value, kind(t, access));
}

/* Stores and loads of a word, by as many of its bytes as were drawn. Accesses are numbered across threads. */
static void store(struct team *t, whole *place, whole value, unsigned access)
{
	unsigned bytes = size(t, access);
	store_bytes(t, (char *)place + (t->at & -bytes), bytes, value << 8 * (t->at % bytes), access);
}

static whole load(struct team *t, whole *place, unsigned access)
{
	unsigned bytes = size(t, access);
	return get((char *)place + (t->at & -bytes), bytes, kind(t, access)) >> 8 * (t->at % bytes);
}

/* Between accesses of one thread. */
static void then(struct team *t, unsigned access)
{
	if (t->variant == FENCED)
		fence(kind(t, access));
}
