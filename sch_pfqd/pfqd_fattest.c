// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who is the fattest? Every flow is ranked twice, by bytes and by memory, so
 * that a full qdisc finds its victim without looking at all flows.
 *
 * A rank is an array of lists: a flow lies in the list of its size class, and a
 * bitmap says which lists are in use. Up to 1 KB a class is 64 B wide, above that
 * an eighth of its octave. A flow changes its list only when its size changes
 * class: a bulk flow once in several packets.
 *
 * Flows that hold no more than one turn are not ranked at all: that saves the sparse
 * ones the lists, and when there are none but those, nobody is fat (pfqd_victim()).
 *
 * How exact is it? All operations are O(1). The flow found is of the largest
 * class in use, and the largest of the 8 flows that are in it longest. With up to 8
 * flows in that class it is the fattest; with more it may be smaller than the
 * fattest, by an eighth at most (below 1 KB: by 64 B). Among equals the one that
 * has been so fat for longest loses, not the one that has just come.
 */
#include <linux/bitops.h>
#include "pfqd.h"

#define PFQD_RANK_LOOK	8	/* flows of the top class that are compared */

/* 0 only for size 0; the classes below 16 are the sizes themselves, in units. */
static u32 pfqd_rank_class(u32 size)
{
	u32 units = (size >> PFQD_RANK_SHIFT) +
		    !!(size & ((1 << PFQD_RANK_SHIFT) - 1));
	u32 shift;

	if (units < 16)
		return units;
	shift = fls(units) - 4;		/* units >> shift is 8 .. 15 */
	return shift * 8 + (units >> shift);
}

void pfqd_rank_init(struct pfqd_rank *rank)
{
	u32 i;

	/* the class of the largest size, 2^32 - 1 rounded up to a unit */
	BUILD_BUG_ON((33 - PFQD_RANK_SHIFT - 4) * 8 + 8 >= PFQD_RANK_BUCKETS);

	for (i = 0; i < PFQD_RANK_BUCKETS; i++)
		INIT_LIST_HEAD(&rank->bucket[i]);
	bitmap_zero(rank->used, PFQD_RANK_BUCKETS);
}

static void pfqd_rank_unlink(struct pfqd_rank *rank, struct pfqd_rank_node *node)
{
	if (!node->bucket)
		return;
	list_del_init(&node->link);
	if (list_empty(&rank->bucket[node->bucket]))
		__clear_bit(node->bucket, rank->used);
}

/* Up to `slim` it is not ranked. */
void pfqd_rank_set(struct pfqd_rank *rank, struct pfqd_rank_node *node, u32 size,
		   u32 slim)
{
	u32 bucket = size > slim ? pfqd_rank_class(size) : 0;

	node->size = size;
	if (bucket == node->bucket)
		return;
	pfqd_rank_unlink(rank, node);
	node->bucket = bucket;
	if (!bucket)
		return;
	list_add_tail(&node->link, &rank->bucket[bucket]);
	__set_bit(bucket, rank->used);
}

/* NULL when no flow is ranked. */
struct pfqd_rank_node *pfqd_rank_top(struct pfqd_rank *rank)
{
	u32 bucket = find_last_bit(rank->used, PFQD_RANK_BUCKETS);
	struct pfqd_rank_node *top = NULL, *node;
	u32 look = PFQD_RANK_LOOK;

	if (bucket >= PFQD_RANK_BUCKETS)
		return NULL;
	list_for_each_entry(node, &rank->bucket[bucket], link) {
		if (!top || node->size > top->size)
			top = node;
		if (!--look)
			break;
	}
	return top;
}
