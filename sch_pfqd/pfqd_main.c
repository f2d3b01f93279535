// SPDX-License-Identifier: GPL-2.0-only
/*
 * pfqd: per-flow queueing for a port that carries short messages and bulk data.
 *
 * Every flow has a FIFO of its own, so nobody's burst delays anybody else by
 * more than one turn; control packets go first, within an allowance; flows that
 * stay backlogged step back behind those that do not (pfqd_sched.c). A full qdisc
 * takes from the fattest flow's head: the oldest packet, whose loss is noticed
 * soonest, of the flow that can bear it best.
 *
 * This file is the qdisc: it ties the parts in pfqd.h together and keeps the
 * promises that parents rely on:
 *   - sch->q.qlen and backlog are final before a drop is reported upward, and
 *     every packet that a parent counted is reported exactly once,
 *   - a packet whose flow lost one at its enqueue is answered with NET_XMIT_CN
 *     and not reported: the parent does not count it,
 *   - what a parent has peeked at lies in gso_skb, is counted, and is the first
 *     to leave, however the parent comes for it.
 * TCQ_F_CAN_BYPASS stays off: with it an empty qdisc would not see its packets.
 */
#include <linux/module.h>
#include <linux/skbuff.h>
#include <net/netlink.h>
#include "pfqd.h"

bool pfqd_completion_param;
module_param_named(completion, pfqd_completion_param, bool, 0644);
MODULE_PARM_DESC(completion, "Read the stamps of packets, on every interface that does not say otherwise: flows that are closest to done go first, the RTT class chooses the budget (default off)");

bool pfqd_stamp_param;
module_param_named(stamp, pfqd_stamp_param, bool, 0644);
MODULE_PARM_DESC(stamp, "Stamp packets of this host's TCP sockets with the bytes that are left and the RTT class, on every interface that does not say otherwise (default off)");

/* --- limits --------------------------------------------------------------------- */

/* The flow that is to lose; NULL when nothing needs to, or can. */
static struct pfqd_flow *pfqd_victim(struct Qdisc *sch)
{
	struct pfqd_qdisc *q = qdisc_priv(sch);
	struct pfqd_rank_node *top;

	if (q->packets <= PFQD_MIN_PACKETS)
		return NULL;
	if (unlikely(q->bytes > q->params.limit)) {
		pfqd_add(q->drops_limit, 1);
		top = pfqd_rank_top(&q->by_bytes);
		return top ? container_of(top, struct pfqd_flow, bytes) :
			     pfqd_sched_oldest(q);
	}
	if (unlikely(q->memory > q->params.memlimit)) {
		pfqd_add(q->drops_memlimit, 1);
		top = pfqd_rank_top(&q->by_memory);
		return top ? container_of(top, struct pfqd_flow, memory) :
			     pfqd_sched_oldest(q);
	}
	return NULL;
}

/*
 * Drops until both limits hold; the lock's owner frees *to_free after it. True: a
 * packet of that flow is among them.
 */
static bool pfqd_trim(struct Qdisc *sch, const struct pfqd_flow *mine, u64 now,
		      struct sk_buff **to_free)
{
	struct pfqd_qdisc *q = qdisc_priv(sch);
	struct pfqd_flow *flow = pfqd_victim(sch);
	bool lost = false;

	if (likely(!flow))
		return false;
	qdisc_qstats_overlimit(sch);
	for (; flow; flow = pfqd_victim(sch)) {
		lost |= flow == mine;
		qdisc_drop(pfqd_fifo_pop(sch, flow), sch, to_free);
		if (!flow->qlen)
			pfqd_sched_leave(q, flow, now);
	}
	return lost;
}

/* --- enqueue -------------------------------------------------------------------- */

/*
 * Full, and of so many flows that not even one full packet of each would fit: a
 * flood of tuples, or as good as one. Flows of one packet each are all alike, so
 * there is no fattest any more that could be made to pay. New tuples have to share
 * then, by source, until there is room: that makes the flood's source the fattest.
 */
static bool pfqd_crowded(const struct pfqd_qdisc *q)
{
	u64 whole = (u64)q->flows_active * q->quantum;
	const struct pfqd_params *params = &q->params;

	return (q->bytes + q->quantum > params->limit && whole > params->limit) ||
	       (q->memory + 2 * q->quantum > params->memlimit &&
		2 * whole > params->memlimit);
}

static struct pfqd_flow *pfqd_flow_of(struct pfqd_qdisc *q,
				      const struct pfqd_packet *packet)
{
	if (packet->control)
		return &q->sched.control;
	return pfqd_table_find(&q->table, &packet->key, pfqd_crowded(q));
}

static struct pfqd_flow *pfqd_queue(struct Qdisc *sch, struct sk_buff *skb, u64 now)
{
	struct pfqd_qdisc *q = qdisc_priv(sch);
	struct pfqd_packet packet;
	struct pfqd_flow *flow;

	pfqd_classify(skb, &packet);
	pfqd_stamp(q, skb, &packet);
	flow = pfqd_flow_of(q, &packet);
	if (!flow->qlen)
		pfqd_sched_join(q, flow, now);
	pfqd_fifo_push(sch, flow, skb, now);
	return flow;
}

/*
 * The segments of a GSO packet, each queued for itself; the flow of the last one:
 * they all have the same headers. NULL: it cannot be split.
 */
static struct pfqd_flow *pfqd_queue_segments(struct Qdisc *sch, struct sk_buff *skb,
					     u64 now)
{
	struct sk_buff *segment = pfqd_gso_split(skb), *next;
	struct pfqd_qdisc *q = qdisc_priv(sch);
	struct pfqd_flow *flow = NULL;

	if (!segment)
		return NULL;
	for (; segment; segment = next) {
		next = segment->next;
		flow = pfqd_queue(sch, segment, now);
	}
	pfqd_add(q->segmented, 1);
	consume_skb(skb);
	return flow;
}

/*
 * Whatever happened, the parent's counts have to follow ours. It adds the packet
 * that it gave us itself, and activates our class, unless our answer is that this
 * one's flow has lost.
 */
static int pfqd_answer(struct Qdisc *sch, int packets, s64 bytes, u32 len, bool lost)
{
	if (!lost) {
		packets -= 1;
		bytes -= len;
	}
	if (unlikely(packets || bytes))
		qdisc_tree_reduce_backlog(sch, -packets, (int)-bytes);
	return lost ? NET_XMIT_CN : NET_XMIT_SUCCESS;
}

static int pfqd_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			struct sk_buff **to_free)
{
	struct pfqd_qdisc *q = qdisc_priv(sch);
	u32 len = qdisc_pkt_len(skb), packets = q->packets;
	u64 now = ktime_get_ns(), bytes = q->bytes;
	bool lost, active = sch->q.qlen;
	struct pfqd_flow *flow;

	if (unlikely(q->params.split_gso && skb_is_gso(skb)))
		flow = pfqd_queue_segments(sch, skb, now);
	else
		flow = pfqd_queue(sch, skb, now);
	if (unlikely(!flow))
		return qdisc_drop(skb, sch, to_free);
	/* segments may trim each other: some are queued, and the class must know */
	lost = pfqd_trim(sch, flow, now, to_free) && active;
	return pfqd_answer(sch, q->packets - packets, q->bytes - bytes, len, lost);
}

/* --- dequeue -------------------------------------------------------------------- */

static void pfqd_count(struct pfqd_served *served, const struct sk_buff *skb, u64 now)
{
	u32 bucket = fls64((now - pfqd_cb(skb)->enqueued) >> PFQD_SOJOURN_SHIFT);

	bucket = min_t(u32, bucket, PFQD_SOJOURN_BUCKETS - 1);
	pfqd_add(served->packets, pfqd_segments(skb));
	pfqd_add(served->bytes, qdisc_pkt_len(skb));
	pfqd_add(served->sojourn[bucket], 1);
}

static void pfqd_count_served(struct pfqd_qdisc *q, enum pfqd_tier tier,
			      const struct sk_buff *skb, u64 now)
{
	const struct pfqd_skb_cb *cb = pfqd_cb(skb);

	pfqd_count(&q->tier[tier].served, skb, now);
	if (tier == PFQD_TIER_CONTROL || !pfqd_completion(q))
		return;
	pfqd_count(&q->band[min_t(u8, cb->band, PFQD_BANDS)], skb, now);
	pfqd_add(q->class[cb->class].packets, pfqd_segments(skb));
	pfqd_add(q->class[cb->class].bytes, qdisc_pkt_len(skb));
}

/* The next packet out of the FIFOs, counted as sent. */
static struct sk_buff *pfqd_take(struct Qdisc *sch)
{
	struct pfqd_qdisc *q = qdisc_priv(sch);
	struct pfqd_flow *flow;
	struct sk_buff *skb;
	u64 now;

	if (!q->packets)
		return NULL;
	now = ktime_get_ns();
	pfqd_sched_age(q, now);
	flow = pfqd_sched_next(sch);
	if (!flow)
		return NULL;
	pfqd_budget(sch, flow);
	skb = pfqd_fifo_pop(sch, flow);
	pfqd_count_served(q, flow->tier, skb, now);
	qdisc_bstats_update(sch, skb);
	pfqd_sched_served(q, flow, qdisc_pkt_len(skb), now);
	pfqd_meter(sch, qdisc_pkt_len(skb), now);
	return skb;
}

static struct sk_buff *pfqd_dequeue(struct Qdisc *sch)
{
	struct sk_buff *skb = __skb_dequeue(&sch->gso_skb);

	if (likely(!skb))
		return pfqd_take(sch);
	/* peeked at before, so counted as sent: only the queue forgets it now */
	WRITE_ONCE(sch->q.qlen, sch->q.qlen - 1);
	WRITE_ONCE(sch->qstats.backlog, sch->qstats.backlog - qdisc_pkt_len(skb));
	return skb;
}

static struct sk_buff *pfqd_peek(struct Qdisc *sch)
{
	struct sk_buff *skb = skb_peek(&sch->gso_skb);

	if (skb)
		return skb;
	skb = pfqd_take(sch);
	if (!skb)
		return NULL;
	__skb_queue_head(&sch->gso_skb, skb);
	WRITE_ONCE(sch->q.qlen, sch->q.qlen + 1);
	WRITE_ONCE(sch->qstats.backlog, sch->qstats.backlog + qdisc_pkt_len(skb));
	return skb;
}

/* --- life ------------------------------------------------------------------------ */

/* No flow, no packet; counters stay. The core empties gso_skb and sch->q. */
static void pfqd_forget(struct pfqd_qdisc *q)
{
	int i;

	pfqd_sched_init(q);
	pfqd_rank_init(&q->by_bytes);
	pfqd_rank_init(&q->by_memory);
	q->rate.window = 0;	/* else the pause that follows would count as busy */
	q->packets = 0;
	q->banded = 0;
	q->bytes = 0;
	WRITE_ONCE(q->memory, 0);
	WRITE_ONCE(q->flows_active, 0);
	for (i = 0; i < __PFQD_TIER_MAX; i++) {
		WRITE_ONCE(q->tier[i].backlog_packets, 0);
		WRITE_ONCE(q->tier[i].backlog_bytes, 0);
	}
}

/* Also called by the core for a qdisc whose init failed: see pfqd_destroy. */
static void pfqd_reset(struct Qdisc *sch)
{
	struct pfqd_qdisc *q = qdisc_priv(sch);

	if (!q->table.buckets)
		return;
	pfqd_table_purge(&q->table);
	pfqd_fifo_free(&q->sched.control);
	pfqd_forget(q);
}

/* After a failed init, or none at all, there is nothing but zeroes or a part. */
static void pfqd_destroy(struct Qdisc *sch)
{
	struct pfqd_qdisc *q = qdisc_priv(sch);

	pfqd_rate_destroy(q);
	pfqd_reset(sch);
	pfqd_table_destroy(&q->table);
	kvfree(q->bands);
}

static void pfqd_apply(struct Qdisc *sch, const struct pfqd_params *params)
{
	struct pfqd_qdisc *q = qdisc_priv(sch);
	int i;

	WRITE_ONCE(q->params.limit, params->limit);
	WRITE_ONCE(q->params.memlimit, params->memlimit);
	WRITE_ONCE(q->params.flows, params->flows);
	WRITE_ONCE(q->params.quantum, params->quantum);
	WRITE_ONCE(q->params.demote, params->demote);
	WRITE_ONCE(q->params.control, params->control);
	for (i = 0; i < __PFQD_RTT_MAX; i++)
		WRITE_ONCE(q->params.budget[i], params->budget[i]);
	WRITE_ONCE(q->params.rate, params->rate);
	WRITE_ONCE(q->params.ecn, params->ecn);
	WRITE_ONCE(q->params.split_gso, params->split_gso);
	WRITE_ONCE(q->params.completion, params->completion);
	WRITE_ONCE(q->params.stamp, params->stamp);
	q->quantum = pfqd_quantum(sch);
	sch->limit = params->limit;
	pfqd_rate_update(sch);
}

static int pfqd_change(struct Qdisc *sch, struct nlattr *opt,
		       struct netlink_ext_ack *extack)
{
	struct pfqd_qdisc *q = qdisc_priv(sch);
	struct pfqd_params params = q->params;
	struct pfqd_segment **directory;
	struct sk_buff *to_free = NULL;
	u32 packets, bytes;
	int err;

	err = pfqd_parse(&params, opt, extack);
	if (err)
		return err;
	directory = pfqd_table_directory(params.flows);
	if (!directory)
		return -ENOMEM;

	sch_tree_lock(sch);
	directory = pfqd_table_resize(&q->table, directory, params.flows);
	pfqd_apply(sch, &params);
	packets = q->packets;
	bytes = q->bytes;
	pfqd_trim(sch, NULL, ktime_get_ns(), &to_free);
	qdisc_tree_reduce_backlog(sch, packets - q->packets, bytes - (u32)q->bytes);
	sch_tree_unlock(sch);

	kvfree(directory);
	kfree_skb_list(to_free);
	return 0;
}

static int pfqd_init(struct Qdisc *sch, struct nlattr *opt,
		     struct netlink_ext_ack *extack)
{
	struct pfqd_qdisc *q = qdisc_priv(sch);
	struct pfqd_params params = pfqd_defaults();
	int err = 0;

	q->bands = pfqd_bands_alloc();
	if (!q->bands)
		return -ENOMEM;
	pfqd_forget(q);
	if (opt)
		err = pfqd_parse(&params, opt, extack);
	if (!err)
		err = pfqd_table_init(&q->table, params.flows);
	if (err)
		return err;
	sch->flags &= ~TCQ_F_CAN_BYPASS;
	pfqd_apply(sch, &params);
	pfqd_rate_init(sch);
	return 0;
}

static struct Qdisc_ops pfqd_qdisc_ops __read_mostly = {
	.cl_ops		= &pfqd_class_ops,
	.id		= "pfqd",
	.priv_size	= sizeof(struct pfqd_qdisc),
	.enqueue	= pfqd_enqueue,
	.dequeue	= pfqd_dequeue,
	.peek		= pfqd_peek,
	.init		= pfqd_init,
	.reset		= pfqd_reset,
	.destroy	= pfqd_destroy,
	.change		= pfqd_change,
	.dump		= pfqd_dump,
	.dump_stats	= pfqd_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init pfqd_module_init(void)
{
	int err = pfqd_flow_cache_create();

	if (err)
		return err;
	err = pfqd_links_start();
	if (err)
		goto err_links;
	err = register_qdisc(&pfqd_qdisc_ops);
	if (err)
		goto err_qdisc;
	return 0;

err_qdisc:
	pfqd_links_stop();
err_links:
	pfqd_flow_cache_destroy();
	return err;
}

static void __exit pfqd_module_exit(void)
{
	unregister_qdisc(&pfqd_qdisc_ops);
	pfqd_links_stop();
	pfqd_flow_cache_destroy();
}

module_init(pfqd_module_init)
module_exit(pfqd_module_exit)
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("PFQD: per-flow queueing for datacenter ports");
MODULE_ALIAS("net-sch-pfqd");
