/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Litmus tests on two parts of one word, x, which are stored and loaded one by one or both at once. */

static void store_part(struct team *t, unsigned part, whole value, unsigned access)
{
	store_bytes(t, (char *)t->x + part * t->width, t->width, value, access);
}

static whole load_part(struct team *t, unsigned part, unsigned access)
{
	return get((char *)t->x + part * t->width, t->width, kind(t, access));
}

static whole parts(const struct team *t, whole first, whole second)
{
	return first | second << 8 * t->width;
}

static void store_parts(struct team *t, whole first, whole second, unsigned access)
{
	store_bytes(t, t->x, 2 * t->width, parts(t, first, second), access);
}

static whole load_parts(struct team *t, unsigned access)
{
	return get(t->x, t->span, kind(t, access));
}

static void parts_store_buffering(struct team *t, int me)
{
	store_part(t, me, 1, 2 * me);
	then(t, 2 * me);
	t->seen[me][0] = load_parts(t, 2 * me + 1);
}

static void parts_message_passing(struct team *t, int me)
{
	if (me == 0) {
		store_part(t, 0, 1, 0);
		then(t, 0);
		store_part(t, 1, 1, 1);
	} else {
		t->seen[1][0] = load_parts(t, 2);
		then(t, 2);
		t->seen[1][1] = load_parts(t, 3);
	}
}

static void parts_load_buffering(struct team *t, int me)
{
	t->seen[me][0] = load_parts(t, 2 * me);
	then(t, 2 * me);
	store_part(t, me, 1, 2 * me + 1);
}

static void parts_two_plus_two_writes(struct team *t, int me)
{
	if (me == 0) {
		store_parts(t, 1, 1, 0);
		then(t, 0);
		store(t, t->y, 2, 1);
	} else {
		store(t, t->y, 1, 2);
		then(t, 2);
		store_part(t, 1, 2, 3);
	}
}

static void parts_independent_reads(struct team *t, int me)
{
	if (me < 2) {
		store_part(t, me, 1, me);
	} else {
		t->seen[me][0] = load_parts(t, 2 * me - 2);
		then(t, me);
		t->seen[me][1] = load_parts(t, 2 * me - 1);
	}
}

static void parts_coherence(struct team *t, int me)
{
	if (me == 0) {
		store_parts(t, 1, 1, 0);
	} else {
		t->seen[1][0] = load_part(t, 0, 1);
		then(t, 1);
		t->seen[1][1] = load_part(t, 1, 2);
		then(t, 2);
		t->seen[1][2] = load_parts(t, 3);
	}
}

/* One part of a load is the thread's own, the other what memory has: before the other thread's store, or after it. */
static void parts_forwarding(struct team *t, int me)
{
	if (me == 0) {
		store_part(t, 0, 1, 0);
		then(t, 0);
		t->seen[0][0] = load_parts(t, 1);
	} else {
		store_parts(t, 2, 2, 2);
	}
}

static int only_own_parts(const struct team *t)
{
	return both(t, parts(t, 1, 0), parts(t, 0, 1));
}

static int own_part_unseen(const struct team *t)
{
	return !(t->seen[0][0] & parts(t, 1, 0)) || !(t->seen[1][0] & parts(t, 0, 1));
}

static int second_part_first(const struct team *t)
{
	whole second = parts(t, 0, 1);
	return t->seen[1][0] == second || t->seen[1][1] == second || backwards(t);
}

static int parts_of_the_future(const struct team *t)
{
	return (t->seen[0][0] & parts(t, 1, 0)) || (t->seen[1][0] & parts(t, 0, 1)) || both(t, parts(t, 0, 1), parts(t, 1, 0));
}

static int parts_crossed(const struct team *t)
{
	return *t->x == parts(t, 1, 1) && last(t, t->y) == 1;
}

static int opposite_parts(const struct team *t)
{
	whole first = parts(t, 1, 0), second = parts(t, 0, 1);
	int two = t->seen[2][0] == first || t->seen[2][1] == first;
	int three = t->seen[3][0] == second || t->seen[3][1] == second;
	return two && three;
}

static int in_parts(const struct team *t)
{
	const whole *seen = t->seen[1], all = parts(t, 1, 1);
	return seen[0] > seen[1] || (seen[1] && seen[2] != all) || (seen[2] != 0 && seen[2] != all);
}

static int mixed_up(const struct team *t)
{
	whole seen = t->seen[0][0], before = parts(t, 1, 0), after = parts(t, 1, 2), over = parts(t, 2, 2);
	return (seen != before && seen != after && seen != over) || (seen == over && *t->x != over);
}

static int forwarded_part(const struct team *t)
{
	return t->seen[0][0] == parts(t, 1, 0) && *t->x == parts(t, 1, 2);
}
