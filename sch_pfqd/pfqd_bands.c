// SPDX-License-Identifier: GPL-2.0-only
/*
 * The bands of the completion tier: which flows are closest to being done?
 *
 * A flow whose head packet has a band is in that band's ring, beside its place in
 * its tier. When its head changes, its band may: it then goes to the other ring,
 * and takes with it what it still owes of turns. The head decides, so packets of a
 * flow never overtake each other, and a large transfer that is nearly done is as
 * good as a small message.
 *
 * The rings are the same as the tiers' (pfqd_ring.c), so within a band a flow whose
 * GSO packets are many turns long does not get more than another one.
 */
#include <linux/bitops.h>
#include "pfqd.h"

struct pfqd_bands *pfqd_bands_alloc(void)
{
	return kvmalloc(sizeof(struct pfqd_bands), GFP_KERNEL);
}

/* Also for reset. */
void pfqd_bands_init(struct pfqd_qdisc *q)
{
	u8 band;

	if (!q->bands)
		return;
	for (band = 0; band < PFQD_BANDS; band++)
		pfqd_ring_init(&q->bands->ring[band]);
	q->sched.bands = 0;
}

/* The queue is empty, and so are all rings: nobody owes turns. */
void pfqd_bands_forgive(struct pfqd_qdisc *q)
{
	u8 band;

	for (band = 0; band < PFQD_BANDS; band++)
		pfqd_ring_forgive(&q->bands->ring[band]);
}

/* The flow, in no band's ring, has its next banded turn in that many rounds. */
void pfqd_bands_file(struct pfqd_qdisc *q, struct pfqd_flow *flow, u32 rounds)
{
	pfqd_ring_add(&q->bands->ring[flow->band], &flow->banded, rounds);
	flow->banded_in = flow->band;
	q->sched.bands |= BIT(flow->band);
}

static void pfqd_bands_take(struct pfqd_qdisc *q, struct pfqd_flow *flow)
{
	struct pfqd_ring *ring = &q->bands->ring[flow->band];

	pfqd_ring_del(ring, &flow->banded);
	if (!ring->flows)
		q->sched.bands &= ~BIT(flow->band);
}

/* Whether this turn is the flow's, and for its band. */
static bool pfqd_bands_turn(const struct pfqd_qdisc *q, const struct pfqd_flow *flow)
{
	return q->sched.turn == flow && q->sched.turn_band != PFQD_BAND_NONE;
}

/* The flow's head is another one, or gone: its band is that one's. */
void pfqd_bands_follow(struct pfqd_qdisc *q, struct pfqd_flow *flow)
{
	u8 band = flow->head ? pfqd_cb(flow->head)->band : PFQD_BAND_NONE;
	bool turn = pfqd_bands_turn(q, flow);
	u32 wait;

	if (band == flow->band)
		return;
	if (flow->band != PFQD_BAND_NONE && !turn)
		pfqd_bands_take(q, flow);
	flow->band = band;
	if (band == PFQD_BAND_NONE || turn)	/* the end of its turn files it */
		return;
	wait = pfqd_ring_wait(&q->bands->ring[flow->banded_in], &flow->banded);
	if (!wait)
		flow->banded.deficit = q->quantum;
	pfqd_bands_file(q, flow, max_t(u32, wait, 1));
}

/* The next flow of the smallest band has the turn, out of its ring. There must be one. */
struct pfqd_flow *pfqd_bands_pop(struct pfqd_qdisc *q)
{
	u8 band = __ffs(q->sched.bands);
	struct pfqd_ring *ring = &q->bands->ring[band];
	struct pfqd_place *place;

	pfqd_ring_skip_rounds(ring);
	place = pfqd_ring_pop(ring);
	if (!ring->flows)
		q->sched.bands &= ~BIT(band);
	q->sched.turn_band = band;
	return container_of(place, struct pfqd_flow, banded);
}
