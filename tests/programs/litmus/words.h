/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Litmus tests on words: what thread `me` does in each, and outcomes. A word has its value in one byte, and each access is
   of this byte, alone or with others. */

static void store_buffering(struct team *t, int me)
{
	store(t, me ? t->y : t->x, 1, 2 * me);
	then(t, 2 * me);
	t->seen[me][0] = load(t, me ? t->x : t->y, 2 * me + 1);
}

static void message_passing(struct team *t, int me)
{
	if (me == 0) {
		store(t, t->x, 1, 0);
		then(t, 0);
		store(t, t->y, 1, 1);
	} else {
		t->seen[1][0] = load(t, t->y, 2);
		then(t, 2);
		t->seen[1][1] = load(t, t->x, 3);
	}
}

/* The lock word and then the data of a sequence count: a reader that sees one value of it saw no write in between. */
static void sequence_count(struct team *t, int me)
{
	if (me == 0) {
		store(t, t->x, 1, 0);
		then(t, 0);
		store(t, t->y, 1, 1);
		store(t, t->y + 1, 1, 2);
		then(t, 2);
		store(t, t->x, 2, 3);
	} else {
		whole before = load(t, t->x, 4);
		whole a = load(t, t->y, 5), b = load(t, t->y + 1, 6);
		whole after = load(t, t->x, 7);
		t->seen[1][0] = before == after && before % 2 == 0 && a != b;
	}
}

static void load_buffering(struct team *t, int me)
{
	t->seen[me][0] = load(t, me ? t->y : t->x, 2 * me);
	then(t, 2 * me);
	store(t, me ? t->x : t->y, 1, 2 * me + 1);
}

static void two_plus_two_writes(struct team *t, int me)
{
	store(t, me ? t->y : t->x, 1, 2 * me);
	then(t, 2 * me);
	store(t, me ? t->x : t->y, 2, 2 * me + 1);
}

static void store_then_load(struct team *t, int me)
{
	if (me == 0) {
		store(t, t->x, 1, 0);
		then(t, 0);
		store(t, t->y, 1, 1);
	} else {
		store(t, t->y, 2, 2);
		then(t, 2);
		t->seen[1][0] = load(t, t->x, 3);
	}
}

static void write_after_read(struct team *t, int me)
{
	if (me == 0) {
		store(t, t->x, 2, 0);
		then(t, 0);
		store(t, t->y, 1, 1);
	} else {
		t->seen[1][0] = load(t, t->y, 2);
		then(t, 2);
		store(t, t->x, 1, 3);
	}
}

static void independent_reads(struct team *t, int me)
{
	if (me < 2) {
		store(t, me ? t->y : t->x, 1, me);
	} else {
		t->seen[me][0] = load(t, me == 2 ? t->x : t->y, 2 * me - 2);
		then(t, me);
		t->seen[me][1] = load(t, me == 2 ? t->y : t->x, 2 * me - 1);
	}
}

static void coherence(struct team *t, int me)
{
	if (me == 0) {
		store(t, t->x, 1, 0);
		then(t, 0);
		store(t, t->x, 2, 1);
	} else {
		t->seen[1][0] = load(t, t->x, 2);
		then(t, 2);
		t->seen[1][1] = load(t, t->x, 3);
	}
}

/* A thread sees what it has stored itself, before others do. */
static void forwarding(struct team *t, int me)
{
	store(t, me ? t->y : t->x, 1, 2 * me);
	then(t, 2 * me);
	t->seen[me][1] = load(t, me ? t->y : t->x, 2 * me + 1);
	t->seen[me][0] = load(t, me ? t->x : t->y, 2 * me + 1);
}

static int both(const struct team *t, whole a, whole b)
{
	return t->seen[0][0] == a && t->seen[1][0] == b;
}

/* What a word has in the end. */
static whole last(const struct team *t, const whole *place)
{
	return *place >> 8 * t->at;
}

static int zeroes(const struct team *t)
{
	return both(t, 0, 0);
}

static int ones(const struct team *t)
{
	return both(t, 1, 1);
}

static int flag_without_data(const struct team *t)
{
	return t->seen[1][0] == 1 && t->seen[1][1] == 0;
}

static int torn(const struct team *t)
{
	return t->seen[1][0] != 0;
}

static int crossed(const struct team *t)
{
	return last(t, t->x) == 1 && last(t, t->y) == 1;
}

static int passed(const struct team *t)
{
	return last(t, t->y) == 2 && t->seen[1][0] == 0;
}

static int overtaken(const struct team *t)
{
	return t->seen[1][0] == 1 && last(t, t->x) == 2;
}

static int opposite_orders(const struct team *t)
{
	return t->seen[2][0] == 1 && t->seen[2][1] == 0 && t->seen[3][0] == 1 && t->seen[3][1] == 0;
}

static int backwards(const struct team *t)
{
	return t->seen[1][0] > t->seen[1][1];
}

static int own_unseen(const struct team *t)
{
	return t->seen[0][1] != 1 || t->seen[1][1] != 1;
}
