// SPDX-License-Identifier: GPL-2.0-only
/*
 * The scheduler: whose packet is next.
 *
 * Three tiers. Control packets have one FIFO. A data flow starts in the high
 * tier; backlogged without a break for longer than `demote` it moves to the low
 * tier; when its queue empties it is high again.
 *
 * Time is cut into service cycles:
 *
 *   - an allowance of control packets, served before anything else whenever
 *     there are some; what exceeds it waits for the next cycle, so that a flood
 *     of ACKs cannot starve data; what is unused when the last turn of the cycle
 *     is over lapses, so no two turns are ever further apart than an allowance,
 *   - one turn of every flow that was high and queued when the cycle began,
 *   - one turn of the next low flow, as long as there are low flows.
 *
 * A cycle is thus one round of the high ring; the low ring's round is over when
 * every low flow has had its turn, one a cycle. A turn is a quantum of bytes. Who
 * overdraws it has his next turn so many rounds later (pfqd_ring.c), and owes
 * that also when he empties and comes back; credit that is left is not kept.
 *
 * Where the rest of the design goes: an order by completion bands replaces what
 * pfqd_sched_pick() picks, and ends the cycle by counting turns.
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
	sched->control_left = 0;
	sched->low_due = false;
	pfqd_ring_init(&sched->high);
	pfqd_ring_init(&sched->low);
	INIT_LIST_HEAD(&sched->aging);
}

static struct pfqd_ring *pfqd_sched_ring(struct pfqd_sched *sched,
					 const struct pfqd_flow *flow)
{
	return flow->tier == PFQD_TIER_LOW ? &sched->low : &sched->high;
}

/* Rounds until the flow's turn, 0 for this one. */
static u32 pfqd_sched_wait(const struct pfqd_ring *ring,
			   const struct pfqd_flow *flow)
{
	return flow->round > ring->round ? flow->round - ring->round : 0;
}

/* Whether a flow still has its turn in this cycle. */
static bool pfqd_sched_turns_left(const struct pfqd_sched *sched)
{
	return !list_empty(&sched->high.now) ||
	       (sched->low_due && sched->low.flows);
}

static void pfqd_sched_end_turn(struct pfqd_sched *sched)
{
	sched->turn = NULL;
	if (!pfqd_sched_turns_left(sched))
		sched->control_left = 0;
}

/* The flow was empty and has got a packet: it has a turn in the next cycle. */
void pfqd_sched_join(struct pfqd_qdisc *q, struct pfqd_flow *flow, u64 now)
{
	struct pfqd_sched *sched = &q->sched;
	u32 wait;

	if (flow->tier == PFQD_TIER_CONTROL)
		return;
	wait = pfqd_sched_wait(&sched->high, flow);
	if (!wait) {
		flow->deficit = q->quantum;
		wait = 1;
	}
	flow->since = now;
	list_add_tail(&flow->age, &sched->aging);
	pfqd_ring_add(&sched->high, flow, wait);
}

/* The turns that the flow has used with its last one, at least that one. */
static u32 pfqd_sched_settle(const struct pfqd_qdisc *q, struct pfqd_flow *flow)
{
	u32 turns = 1;

	if (flow->deficit > 0) {	/* it emptied before its turn was over */
		flow->deficit = q->quantum;
		return turns;
	}
	if (flow->deficit <= -(s32)q->quantum)
		turns = min_t(u32, -flow->deficit / q->quantum + 1, PFQD_TURNS_MAX);
	flow->deficit += turns * q->quantum;
	if (flow->deficit <= 0)		/* more than TURNS_MAX: the rest is forgiven */
		flow->deficit = q->quantum;
	return turns;
}

/* The flow, in no ring, has emptied: high again, and idle in the table. */
static void pfqd_sched_empty(struct pfqd_qdisc *q, struct pfqd_flow *flow, u32 wait,
			     u64 now)
{
	flow->round = q->sched.high.round + wait;
	flow->tier = PFQD_TIER_HIGH;
	list_del_init(&flow->age);
	pfqd_table_idle(&q->table, flow, now);
}

/* A drop took the flow's last packet; afterwards it may be gone. */
void pfqd_sched_leave(struct pfqd_qdisc *q, struct pfqd_flow *flow, u64 now)
{
	struct pfqd_sched *sched = &q->sched;
	struct pfqd_ring *ring;
	u32 wait;

	if (flow->tier == PFQD_TIER_CONTROL)
		return;
	ring = pfqd_sched_ring(sched, flow);
	if (flow == sched->turn) {
		pfqd_sched_end_turn(sched);
		wait = pfqd_sched_settle(q, flow);
	} else {
		wait = pfqd_sched_wait(ring, flow);
		pfqd_ring_del(ring, flow);
	}
	pfqd_sched_empty(q, flow, wait, now);
}

static void pfqd_sched_demote(struct pfqd_qdisc *q, struct pfqd_flow *flow)
{
	struct pfqd_sched *sched = &q->sched;
	u32 wait = max_t(u32, pfqd_sched_wait(&sched->high, flow), 1);

	list_del_init(&flow->age);
	if (flow != sched->turn)	/* else the end of its turn files it */
		pfqd_ring_del(&sched->high, flow);
	pfqd_fifo_set_tier(q, flow, PFQD_TIER_LOW);
	if (flow != sched->turn)
		pfqd_ring_add(&sched->low, flow, wait);
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
	struct pfqd_flow *flow = pfqd_ring_peek(&sched->low);

	if (!flow)
		flow = list_first_entry_or_null(&sched->aging, struct pfqd_flow, age);
	if (!flow)
		flow = sched->turn;
	return flow ?: &sched->control;
}

static void pfqd_sched_new_cycle(struct Qdisc *sch)
{
	struct pfqd_qdisc *q = qdisc_priv(sch);
	struct pfqd_sched *sched = &q->sched;

	q->quantum = pfqd_quantum(sch);		/* follows the device's MTU */
	pfqd_add(sched->cycles, 1);
	sched->control_left = q->params.control;
	sched->low_due = sched->low.flows;
	pfqd_ring_next_round(&sched->high);
	/* nobody else is waiting: cycles without a turn need not be gone through */
	if (!sched->low.flows && !sched->control.qlen)
		pfqd_ring_skip_rounds(&sched->high);
}

/* The flow that has the next turn of this cycle, out of its ring. */
static struct pfqd_flow *pfqd_sched_pick(struct pfqd_sched *sched)
{
	struct pfqd_flow *flow = pfqd_ring_pop(&sched->high);

	if (flow || !sched->low_due)
		return flow;
	sched->low_due = false;
	pfqd_ring_skip_rounds(&sched->low);
	return pfqd_ring_pop(&sched->low);
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
			sched->turn = pfqd_sched_pick(sched);
		if (sched->turn)
			return sched->turn;
		pfqd_sched_new_cycle(sch);
	}
	return NULL;
}

/* Its packet of that length has left: its turn goes on or is over. */
void pfqd_sched_served(struct pfqd_qdisc *q, struct pfqd_flow *flow, u32 len,
		       u64 now)
{
	struct pfqd_sched *sched = &q->sched;
	u32 turns;

	if (flow->tier == PFQD_TIER_CONTROL) {
		sched->control_left--;
		return;
	}
	/* a size table of tc may have made any length of it */
	flow->deficit -= min_t(u32, len, S32_MAX / 2);
	if (flow->qlen && flow->deficit > 0)
		return;
	pfqd_sched_end_turn(sched);
	turns = pfqd_sched_settle(q, flow);
	if (flow->qlen)
		pfqd_ring_add(pfqd_sched_ring(sched, flow), flow, turns);
	else
		pfqd_sched_empty(q, flow, turns, now);
}
