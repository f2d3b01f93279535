// SPDX-License-Identifier: GPL-2.0-only
/*
 * The scheduler: whose packet is next.
 *
 * Three tiers. Control packets have one FIFO. A data flow starts in the high
 * tier; backlogged without a break for longer than `demote` it moves to the low
 * tier; when its queue empties it is high again. A turn is a quantum of bytes.
 *
 * The ordinary round-robin over all flows goes in rounds:
 *
 *   - one turn of every flow that was high and queued when the round began,
 *   - one turn of the next low flow, as long as there are low flows.
 *
 * Flows whose head packet has a band (pfqd_bands.c) are served before it, the
 * smallest band first, round-robin within a band: the completion tier. After
 * PFQD_BANDED_SERVES such turns in a row the next one is the ordinary round-robin's,
 * so that short messages can never shut out the rest. Turns are counted, and a GSO
 * packet is as many as it is quanta long, so the share holds in bytes: bands that
 * overdrew wait for as many ordinary turns as that was worth, and the other way
 * round.
 *
 * Service cycles are there for control packets. A cycle begins with an allowance of
 * them, served before anything else whenever there are some; what exceeds it waits
 * for the next cycle, so that a flood of ACKs cannot starve data. A cycle is as long
 * as a round, or, as bands can make a round very long, ends when there have been as
 * many turns as there were high flows when it began, and one more. What is left of
 * the allowance then lapses, so no two turns are ever further apart than an
 * allowance, for each quantum of the first of them.
 *
 * Who overdraws his turn has the next one so many rounds later (pfqd_ring.c), and
 * owes that also when he empties and comes back, and so do bands that run empty;
 * credit that is left is not kept. When the whole queue is empty nobody has been
 * kept waiting: all is forgiven.
 */
#include <linux/netdevice.h>
#include "pfqd.h"

static void pfqd_control_init(struct pfqd_flow *control)
{
	pfqd_flow_init(control);
	control->tier = PFQD_TIER_CONTROL;
}

/* Also for reset: forgets every flow, keeps the counters. */
void pfqd_sched_init(struct pfqd_qdisc *q)
{
	struct pfqd_sched *sched = &q->sched;

	pfqd_control_init(&sched->control);
	sched->turn = NULL;
	sched->turn_band = PFQD_BAND_NONE;
	sched->control_left = 0;
	sched->serves_left = 0;
	sched->streak = 0;
	sched->low_due = false;
	pfqd_ring_init(&sched->high);
	pfqd_ring_init(&sched->low);
	INIT_LIST_HEAD(&sched->aging);
	pfqd_bands_init(q);
}

static struct pfqd_ring *pfqd_sched_ring(struct pfqd_sched *sched,
					 const struct pfqd_flow *flow)
{
	return flow->tier == PFQD_TIER_LOW ? &sched->low : &sched->high;
}

/* Whether a flow still has its turn in this round. */
static bool pfqd_sched_turns_left(const struct pfqd_sched *sched)
{
	return !list_empty(&sched->high.now) ||
	       (sched->low_due && sched->low.flows);
}

/* Whether the bands have had what they may have, and others wait for their turn. */
static bool pfqd_sched_ordinary_due(const struct pfqd_sched *sched)
{
	return sched->streak >= PFQD_BANDED_SERVES;
}

static bool pfqd_sched_cycle_over(const struct pfqd_sched *sched)
{
	if (!sched->serves_left)
		return true;
	return !pfqd_sched_turns_left(sched) &&
	       (!sched->bands || pfqd_sched_ordinary_due(sched));
}

/*
 * The first packet of an empty queue: when the queue ran empty nobody was waiting, so
 * nobody has lost by what others had ahead of their turn.
 */
static void pfqd_sched_forgive(struct pfqd_qdisc *q)
{
	struct pfqd_sched *sched = &q->sched;

	sched->streak = 0;
	if (!sched->owed)	/* mostly: then it costs no cache misses */
		return;
	sched->owed = false;
	pfqd_ring_forgive(&sched->high);
	pfqd_ring_forgive(&sched->low);
	pfqd_bands_forgive(q);
}

/* The flow was empty and has got a packet: it has a turn in the next round. */
void pfqd_sched_join(struct pfqd_qdisc *q, struct pfqd_flow *flow, u64 now)
{
	struct pfqd_sched *sched = &q->sched;
	u32 wait;

	if (!q->packets)
		pfqd_sched_forgive(q);
	if (flow->tier == PFQD_TIER_CONTROL)
		return;
	wait = pfqd_ring_wait(&sched->high, &flow->turn);
	if (!wait) {
		flow->turn.deficit = q->quantum;
		wait = 1;
	}
	flow->since = now;
	list_add_tail(&flow->age, &sched->aging);
	pfqd_ring_add(&sched->high, &flow->turn, wait);
}

/* The turns that the flow has used with its last one, at least that one. */
static u32 pfqd_sched_settle(struct pfqd_qdisc *q, struct pfqd_place *place)
{
	u32 turns = 1;

	if (place->deficit > 0) {	/* the turn was over before it was used up */
		place->deficit = q->quantum;
		return turns;
	}
	if (place->deficit <= -(s32)q->quantum) {
		q->sched.owed = true;
		turns = min_t(u32, -place->deficit / q->quantum + 1, PFQD_TURNS_MAX);
	}
	place->deficit += turns * q->quantum;
	if (place->deficit <= 0)	/* more than TURNS_MAX: the rest is forgiven */
		place->deficit = q->quantum;
	return turns;
}

/* The flow, in no ring, has emptied: high again, and idle in the table. */
static void pfqd_sched_empty(struct pfqd_qdisc *q, struct pfqd_flow *flow, u32 wait,
			     u64 now)
{
	flow->turn.round = q->sched.high.round + wait;
	flow->tier = PFQD_TIER_HIGH;
	list_del_init(&flow->age);
	pfqd_table_idle(&q->table, flow, now);
}

/* Out of its tier's ring, because it has emptied. */
static void pfqd_sched_part(struct pfqd_qdisc *q, struct pfqd_flow *flow, u64 now)
{
	struct pfqd_ring *ring = pfqd_sched_ring(&q->sched, flow);
	u32 wait = pfqd_ring_wait(ring, &flow->turn);

	pfqd_ring_del(ring, &flow->turn);
	pfqd_sched_empty(q, flow, wait, now);
}

/* A turn that the flow had for its band is over. */
static void pfqd_sched_end_banded(struct pfqd_qdisc *q, struct pfqd_flow *flow, u64 now)
{
	u32 turns = pfqd_sched_settle(q, &flow->banded);
	struct pfqd_sched *sched = &q->sched;

	pfqd_add(sched->serves_banded, turns);
	sched->streak += turns;
	sched->serves_left -= min(sched->serves_left, turns);
	if (flow->band != PFQD_BAND_NONE)
		pfqd_bands_file(q, flow, turns);
	else	/* what it owes, should it come back */
		flow->banded.round = q->bands->ring[flow->banded_in].round + turns;
	if (!flow->qlen)
		pfqd_sched_part(q, flow, now);
}

/* A turn of the ordinary round-robin is over. */
static void pfqd_sched_end_ordinary(struct pfqd_qdisc *q, struct pfqd_flow *flow, u64 now)
{
	u32 turns = pfqd_sched_settle(q, &flow->turn);
	struct pfqd_sched *sched = &q->sched;

	pfqd_add(sched->serves_ordinary, turns);
	if (pfqd_sched_ordinary_due(sched))
		sched->streak -= turns * PFQD_BANDED_SERVES;
	else	/* no band was waiting: their turns are not in a row any more */
		sched->streak = 0;
	if (!sched->bands)	/* no credit for who is not here */
		sched->streak = max(sched->streak, 0);
	sched->serves_left -= min(sched->serves_left, 1u);
	if (flow->qlen)
		pfqd_ring_add(pfqd_sched_ring(sched, flow), &flow->turn, turns);
	else
		pfqd_sched_empty(q, flow, turns, now);
}

/* Afterwards the flow may be gone. */
static void pfqd_sched_end_turn(struct pfqd_qdisc *q, u64 now)
{
	struct pfqd_sched *sched = &q->sched;
	struct pfqd_flow *flow = sched->turn;
	bool banded = sched->turn_band != PFQD_BAND_NONE;

	sched->turn = NULL;
	sched->turn_band = PFQD_BAND_NONE;
	if (banded)
		pfqd_sched_end_banded(q, flow, now);
	else
		pfqd_sched_end_ordinary(q, flow, now);
	if (pfqd_sched_cycle_over(sched)) {
		sched->control_left = 0;
		sched->serves_left = 0;	/* bands that come now are in the next one */
	}
}

/* A drop took the flow's last packet; afterwards it may be gone. */
void pfqd_sched_leave(struct pfqd_qdisc *q, struct pfqd_flow *flow, u64 now)
{
	if (flow->tier == PFQD_TIER_CONTROL)
		return;
	if (flow == q->sched.turn)
		pfqd_sched_end_turn(q, now);
	else
		pfqd_sched_part(q, flow, now);
}

static void pfqd_sched_demote(struct pfqd_qdisc *q, struct pfqd_flow *flow)
{
	struct pfqd_sched *sched = &q->sched;
	u32 wait = max_t(u32, pfqd_ring_wait(&sched->high, &flow->turn), 1);
	/* then it is in no ring of a tier, and the end of its turn files it */
	bool turn = flow == sched->turn && sched->turn_band == PFQD_BAND_NONE;

	list_del_init(&flow->age);
	if (!turn)
		pfqd_ring_del(&sched->high, &flow->turn);
	pfqd_fifo_set_tier(q, flow, PFQD_TIER_LOW);
	if (!turn)
		pfqd_ring_add(&sched->low, &flow->turn, wait);
	pfqd_add(sched->demotions, 1);
}

/* High flows, the longest backlogged first, that are due for the low tier. */
void pfqd_sched_age(struct pfqd_qdisc *q, u64 now)
{
	u64 demote = (u64)q->params.demote * NSEC_PER_USEC;
	struct pfqd_flow *flow;
	int i;

	for (i = 0; i < PFQD_DEMOTIONS_MAX; i++) {
		flow = list_first_entry_or_null(&q->sched.aging, struct pfqd_flow, age);
		if (!flow || now - flow->since <= demote)
			return;
		pfqd_sched_demote(q, flow);
	}
}

/*
 * Who has waited longest, when nobody is fat: one of the low flows, which have been
 * backlogged for longer than `demote`, else the first high one, else control.
 */
struct pfqd_flow *pfqd_sched_oldest(struct pfqd_qdisc *q)
{
	struct pfqd_sched *sched = &q->sched;
	struct pfqd_place *low = pfqd_ring_peek(&sched->low);
	struct pfqd_flow *flow = low ? container_of(low, struct pfqd_flow, turn) : NULL;

	if (!flow)
		flow = list_first_entry_or_null(&sched->aging, struct pfqd_flow, age);
	if (!flow)
		flow = sched->turn;
	return flow ?: &sched->control;
}

static void pfqd_sched_new_round(struct pfqd_sched *sched)
{
	sched->low_due = sched->low.flows;
	pfqd_ring_next_round(&sched->high);
	/* nobody else is waiting: rounds without a turn need not be gone through */
	if (!sched->low.flows && !sched->control.qlen)
		pfqd_ring_skip_rounds(&sched->high);
}

static void pfqd_sched_new_cycle(struct Qdisc *sch)
{
	struct pfqd_qdisc *q = qdisc_priv(sch);
	struct pfqd_sched *sched = &q->sched;

	q->quantum = pfqd_quantum(sch);		/* follows the device's MTU */
	pfqd_add(sched->cycles, 1);
	sched->control_left = q->params.control;
	sched->serves_left = sched->high.flows + 1;
	if (!pfqd_sched_turns_left(sched))
		pfqd_sched_new_round(sched);
}

/* The flow that has the next turn of this round, out of its ring. */
static struct pfqd_flow *pfqd_sched_pick_ordinary(struct pfqd_sched *sched)
{
	struct pfqd_place *place = pfqd_ring_pop(&sched->high);

	if (!place && sched->low_due) {
		sched->low_due = false;
		pfqd_ring_skip_rounds(&sched->low);
		place = pfqd_ring_pop(&sched->low);
	}
	return place ? container_of(place, struct pfqd_flow, turn) : NULL;
}

/* Whose turn is next in this cycle; NULL when it is over. */
static struct pfqd_flow *pfqd_sched_pick(struct pfqd_qdisc *q)
{
	struct pfqd_sched *sched = &q->sched;

	if (!sched->serves_left)
		return NULL;
	if (sched->bands && !pfqd_sched_ordinary_due(sched))
		return pfqd_bands_pop(q);
	return pfqd_sched_pick_ordinary(sched);
}

/*
 * The flow whose head is next; NULL when no packet is queued. At most one new
 * cycle is begun: it has a control packet, or a turn, for us.
 */
struct pfqd_flow *pfqd_sched_next(struct Qdisc *sch)
{
	struct pfqd_qdisc *q = qdisc_priv(sch);
	struct pfqd_sched *sched = &q->sched;

	while (q->packets) {
		if (sched->control.qlen && sched->control_left)
			return &sched->control;
		if (!sched->turn)
			sched->turn = pfqd_sched_pick(q);
		if (sched->turn)
			return sched->turn;
		pfqd_sched_new_cycle(sch);
	}
	return NULL;
}

/* Whether its turn, for a band or not, goes on. */
static bool pfqd_sched_goes_on(const struct pfqd_sched *sched, const struct pfqd_flow *flow)
{
	if (!flow->qlen)
		return false;
	if (sched->turn_band == PFQD_BAND_NONE)
		return flow->turn.deficit > 0;
	return flow->banded.deficit > 0 && flow->band <= sched->turn_band;
}

/* Its packet of that length has left: its turn goes on or is over. */
void pfqd_sched_served(struct pfqd_qdisc *q, struct pfqd_flow *flow, u32 len,
		       u64 now)
{
	struct pfqd_sched *sched = &q->sched;
	struct pfqd_place *place = sched->turn_band == PFQD_BAND_NONE ? &flow->turn :
									&flow->banded;

	if (flow->tier == PFQD_TIER_CONTROL) {
		sched->control_left--;
		return;
	}
	/* a size table of tc may have made any length of it */
	place->deficit -= min_t(u32, len, S32_MAX / 2);
	if (!pfqd_sched_goes_on(sched, flow))
		pfqd_sched_end_turn(q, now);
}
