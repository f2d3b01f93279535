// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rounds: which flows of a tier, or of a band, have a turn in this round, and in
 * which later one the others have theirs.
 *
 * A turn is one quantum of bytes. Who sends more in his turn than that (a GSO
 * packet of 44 segments, say) has used turns of later rounds. Asking such a flow
 * every round "can you pay yet?" would cost a loop over all flows that cannot, so
 * it is filed under the round in which it can: a wheel of one list a round, and a
 * bitmap to find the next round that has a flow at all. Every step is O(1).
 *
 * A flow that joins goes to the tail of its round's list: within a round flows
 * are served in the order in which they came to be filed under it.
 */
#include <linux/bitops.h>
#include <linux/prefetch.h>
#include "pfqd.h"

static u32 pfqd_ring_slot(u64 round)
{
	return round & (PFQD_RING_SLOTS - 1);
}

void pfqd_ring_init(struct pfqd_ring *ring)
{
	u32 i;

	BUILD_BUG_ON_NOT_POWER_OF_2(PFQD_RING_SLOTS);

	INIT_LIST_HEAD(&ring->now);
	for (i = 0; i < PFQD_RING_SLOTS; i++)
		INIT_LIST_HEAD(&ring->slot[i]);
	bitmap_zero(ring->used, PFQD_RING_SLOTS);
	ring->round = 0;
	ring->flows = 0;
}

/* The flow of that place has its next turn in that many rounds: 1 .. PFQD_TURNS_MAX. */
void pfqd_ring_add(struct pfqd_ring *ring, struct pfqd_place *place, u32 rounds)
{
	u32 slot;

	place->round = ring->round + rounds;
	slot = pfqd_ring_slot(place->round);
	list_add_tail(&place->link, &ring->slot[slot]);
	__set_bit(slot, ring->used);
	ring->flows++;
}

/* Its slot may be empty now and still be marked as used: see skip_rounds. */
void pfqd_ring_del(struct pfqd_ring *ring, struct pfqd_place *place)
{
	list_del_init(&place->link);
	ring->flows--;
}

/* The next place of this round, out of the ring; NULL when the round is over. */
struct pfqd_place *pfqd_ring_pop(struct pfqd_ring *ring)
{
	struct pfqd_place *place;

	place = list_first_entry_or_null(&ring->now, struct pfqd_place, link);
	if (place) {
		prefetch(place->link.next);	/* the next one to be popped */
		pfqd_ring_del(ring, place);
	}
	return place;
}

/* The next place of this round or of a later one; NULL when there is none. */
struct pfqd_place *pfqd_ring_peek(struct pfqd_ring *ring)
{
	struct pfqd_place *place;
	u32 i;

	place = list_first_entry_or_null(&ring->now, struct pfqd_place, link);
	for (i = 1; !place && ring->flows && i < PFQD_RING_SLOTS; i++)
		place = list_first_entry_or_null(&ring->slot[pfqd_ring_slot(ring->round + i)],
						 struct pfqd_place, link);
	return place;
}

/* Rounds until the place's turn, 0 for this one. */
u32 pfqd_ring_wait(const struct pfqd_ring *ring, const struct pfqd_place *place)
{
	return place->round > ring->round ? place->round - ring->round : 0;
}

void pfqd_ring_next_round(struct pfqd_ring *ring)
{
	u32 slot = pfqd_ring_slot(++ring->round);

	list_splice_tail_init(&ring->slot[slot], &ring->now);
	__clear_bit(slot, ring->used);
}

/* Nobody waits for a turn that is later than the next. The ring must be empty. */
void pfqd_ring_forgive(struct pfqd_ring *ring)
{
	ring->round += PFQD_RING_SLOTS;
}

/* On to the next round that has a flow. The ring must not be empty. */
void pfqd_ring_skip_rounds(struct pfqd_ring *ring)
{
	while (list_empty(&ring->now) && ring->flows) {
		u32 first = pfqd_ring_slot(ring->round + 1);
		u32 slot = find_next_bit(ring->used, PFQD_RING_SLOTS, first);

		if (slot >= PFQD_RING_SLOTS)
			slot = find_first_bit(ring->used, PFQD_RING_SLOTS);
		ring->round += pfqd_ring_slot(slot - first);
		pfqd_ring_next_round(ring);
	}
}
