// SPDX-License-Identifier: MIT OR Apache-2.0
#include <corefold/cf_space.h>

#include <errno.h>

static bool sensible(const struct cf_space_options *o)
{
	return o && o->blocks >= 0 && o->reserve >= 0 && o->reserve <= o->blocks && o->inodes >= 0 && o->inode_limit >= 0;
}

int cf_space_init(struct cf_space *space, const struct cf_space_options *o)
{
	int result;
	if (!space || !CF_IS_ALIGNED(space) || !sensible(o))
		return -EINVAL;
	space->reserve = o->reserve;
	space->reclaim = o->reclaim;
	space->context = o->context;
	space->inode_limit = o->inode_limit ? o->inode_limit : CF_VALUE_MAX;
	result = cf_counter_init(&space->free_blocks, o->kind, o->blocks, &o->block_counter);
	if (result)
		return result;
	result = cf_counter_init(&space->free_inodes, o->kind, o->inodes, &o->inode_counter);
	if (result == 0) {
		// As in the thread of 2016: inodes are made seldom, so this one stays a plain counter of its kind.
		enum cf_counter_kind plain = o->kind == CF_COUNTER_PERCPU_LIMIT ? CF_COUNTER_PERCPU : o->kind;
		result = cf_counter_init(&space->allocated_inodes, plain, o->inodes, &o->inode_counter);
		if (result)
			cf_counter_destroy(&space->free_inodes);
	}
	if (result)
		cf_counter_destroy(&space->free_blocks);
	return result;
}

void cf_space_destroy(struct cf_space *space)
{
	if (!space)
		return;
	cf_counter_destroy(&space->free_blocks);
	cf_counter_destroy(&space->free_inodes);
	cf_counter_destroy(&space->allocated_inodes);
}

// An amount that no account can hold is more than is free.
static int take(struct cf_counter *counter, int64_t floor, int64_t amount)
{
	int result;
	if (amount < 0)
		return -EINVAL;
	result = amount == 0 ? 0 : cf_counter_limited_add(counter, floor, -amount);
	return result == -ERANGE ? -ENOSPC : result;
}

static int give(struct cf_counter *counter, int64_t amount)
{
	return amount < 0 ? -EINVAL : cf_counter_add(counter, amount);
}

int cf_space_take_blocks(struct cf_space *space, int64_t blocks, unsigned flags)
{
	int64_t floor = flags & CF_SPACE_PRIVILEGED ? 0 : space->reserve;
	int result = take(&space->free_blocks, floor, blocks);
	bool more = space->reclaim && !(flags & CF_SPACE_NO_RECLAIM);
	while (CF_UNLIKELY(result == -ENOSPC) && more) {
		more = space->reclaim(space->context, blocks);
		result = take(&space->free_blocks, floor, blocks); // also after the last: others may have given back
	}
	return result;
}

int cf_space_return_blocks(struct cf_space *space, int64_t blocks)
{
	return give(&space->free_blocks, blocks);
}

int cf_space_take_inodes(struct cf_space *space, int64_t inodes)
{
	return take(&space->free_inodes, 0, inodes);
}

int cf_space_return_inodes(struct cf_space *space, int64_t inodes)
{
	return give(&space->free_inodes, inodes);
}

int cf_space_add_inodes(struct cf_space *space, int64_t inodes, int64_t blocks, unsigned flags)
{
	int result;
	if (inodes < 0)
		return -EINVAL;
	result = cf_space_take_blocks(space, blocks, flags);
	if (result)
		return result;
	result = cf_counter_limited_add(&space->allocated_inodes, space->inode_limit, inodes);
	if (result == 0) {
		result = give(&space->free_inodes, inodes);
		if (result)
			(void)cf_counter_add(&space->allocated_inodes, -inodes);
	}
	if (result)
		(void)give(&space->free_blocks, blocks);
	return result;
}

int cf_space_reserve(struct cf_space *space, struct cf_space_reservation *reservation, int64_t blocks, int64_t inodes,
		     unsigned flags)
{
	int result;
	*reservation = (struct cf_space_reservation){ NULL, 0, 0 };
	if (inodes < 0)
		return -EINVAL;
	result = cf_space_take_blocks(space, blocks, flags);
	if (result)
		return result;
	result = cf_space_take_inodes(space, inodes);
	if (result) {
		give(&space->free_blocks, blocks);
		return result;
	}
	*reservation = (struct cf_space_reservation){ space, blocks, inodes };
	return 0;
}

int cf_space_reservation_use(struct cf_space_reservation *r, int64_t blocks, int64_t inodes)
{
	if (blocks < 0 || inodes < 0)
		return -EINVAL;
	if (blocks > r->blocks || inodes > r->inodes)
		return -ENOSPC;
	r->blocks -= blocks;
	r->inodes -= inodes;
	return 0;
}

void cf_space_reservation_end(struct cf_space_reservation *r)
{
	if (!r->space)
		return;
	if (r->blocks)
		give(&r->space->free_blocks, r->blocks);
	if (r->inodes)
		give(&r->space->free_inodes, r->inodes);
	*r = (struct cf_space_reservation){ NULL, 0, 0 };
}

void cf_space_usage(struct cf_space *space, struct cf_space_usage *usage)
{
	usage->free_blocks = cf_counter_sum(&space->free_blocks);
	usage->free_inodes = cf_counter_sum(&space->free_inodes);
	usage->allocated_inodes = cf_counter_sum(&space->allocated_inodes);
}
