// SPDX-License-Identifier: GPL-2.0-only
/*
 * A flow's FIFO, and all accounting that goes with a packet: whoever moves a
 * packet in or out does it here, so every count has one place.
 *
 * Counted: sch->q.qlen and qstats.backlog (what parents and tc see), the qdisc's
 * own bytes and memory (what the limits see), the tier's backlog, the flow's sizes
 * with its two ranks, and its band, which is that of the head. Lengths are
 * qdisc_pkt_len(), which never changes while a packet is queued; memory is the
 * truesize noted at enqueue.
 */
#include <linux/prefetch.h>
#include <linux/tcp.h>
#include "pfqd.h"

/*
 * A GSO packet of a virtual machine comes without a segment count. The core counts
 * for itself then, for the packet length; so do we, taking it for TCP.
 */
u32 pfqd_segments(const struct sk_buff *skb)
{
	const struct skb_shared_info *shared = skb_shinfo(skb);
	int payload;

	if (likely(!shared->gso_size))
		return 1;
	if (shared->gso_segs)
		return shared->gso_segs;
	payload = (int)skb->len - skb_transport_offset(skb) - (int)sizeof(struct tcphdr);
	return max_t(int, DIV_ROUND_UP(payload, (int)shared->gso_size), 1);
}

/* A full frame takes less than twice its length of memory. */
static void pfqd_fifo_rank(struct pfqd_qdisc *q, struct pfqd_flow *flow,
			   s64 bytes, s64 memory)
{
	pfqd_rank_update(&q->by_bytes, &flow->bytes, flow->bytes.size + bytes,
			 q->quantum);
	pfqd_rank_update(&q->by_memory, &flow->memory, flow->memory.size + memory,
			 2 * q->quantum);
}

static void pfqd_fifo_account(struct Qdisc *sch, struct pfqd_flow *flow,
			      int packets, s64 bytes, s64 memory)
{
	struct pfqd_qdisc *q = qdisc_priv(sch);
	struct pfqd_tier_stats *tier = &q->tier[flow->tier];

	WRITE_ONCE(sch->q.qlen, sch->q.qlen + packets);
	WRITE_ONCE(sch->qstats.backlog, sch->qstats.backlog + (u32)bytes);
	q->packets += packets;
	q->bytes += bytes;
	pfqd_add(q->memory, memory);
	pfqd_add(tier->backlog_packets, packets);
	pfqd_add(tier->backlog_bytes, (u32)bytes);
	flow->qlen += packets;
	pfqd_fifo_rank(q, flow, bytes, memory);
}

/* Looking at a head's band costs a line of a cache: not where nothing has one. */
static void pfqd_fifo_band(struct pfqd_qdisc *q, struct pfqd_flow *flow,
			   const struct sk_buff *skb, int packets)
{
	if (pfqd_cb(skb)->band != PFQD_BAND_NONE)
		q->banded += packets;
	if ((q->banded || flow->band != PFQD_BAND_NONE) &&
	    flow->tier != PFQD_TIER_CONTROL)
		pfqd_bands_follow(q, flow);
}

void pfqd_fifo_push(struct Qdisc *sch, struct pfqd_flow *flow,
		    struct sk_buff *skb, u64 now)
{
	struct pfqd_qdisc *q = qdisc_priv(sch);

	pfqd_cb(skb)->enqueued = now;
	pfqd_cb(skb)->memory = skb->truesize;
	skb->next = NULL;
	if (flow->head)
		flow->tail->next = skb;
	else
		flow->head = skb;
	flow->tail = skb;
	if (!flow->qlen && flow->tier != PFQD_TIER_CONTROL)
		pfqd_add(q->flows_active, 1);
	pfqd_fifo_account(sch, flow, 1, qdisc_pkt_len(skb), skb->truesize);
	pfqd_fifo_band(q, flow, skb, 1);
}

/* The flow has a packet. */
struct sk_buff *pfqd_fifo_pop(struct Qdisc *sch, struct pfqd_flow *flow)
{
	struct pfqd_qdisc *q = qdisc_priv(sch);
	struct sk_buff *skb = flow->head;

	flow->head = skb->next;
	prefetch(flow->head);
	prefetch(&skb->end);		/* the core is about to look into shared info */
	skb_mark_not_on_list(skb);
	pfqd_fifo_account(sch, flow, -1, -(s64)qdisc_pkt_len(skb),
			  -(s64)pfqd_cb(skb)->memory);
	if (!flow->qlen && flow->tier != PFQD_TIER_CONTROL)
		pfqd_add(q->flows_active, -1);
	pfqd_fifo_band(q, flow, skb, -1);
	return skb;
}

/* The flow's backlog moves with it. */
void pfqd_fifo_set_tier(struct pfqd_qdisc *q, struct pfqd_flow *flow,
			enum pfqd_tier tier)
{
	struct pfqd_tier_stats *from = &q->tier[flow->tier], *to = &q->tier[tier];

	pfqd_add(from->backlog_packets, -flow->qlen);
	pfqd_add(from->backlog_bytes, -flow->bytes.size);
	pfqd_add(to->backlog_packets, flow->qlen);
	pfqd_add(to->backlog_bytes, flow->bytes.size);
	flow->tier = tier;
}

/* For reset only: the caller zeroes what the packets were counted in. */
void pfqd_fifo_free(struct pfqd_flow *flow)
{
	if (!flow->head)
		return;
	rtnl_kfree_skbs(flow->head, flow->tail);
	flow->head = NULL;
	flow->tail = NULL;
	flow->qlen = 0;
}
