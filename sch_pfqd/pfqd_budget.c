// SPDX-License-Identifier: GPL-2.0-only
/*
 * The congestion signal, one for each flow: mark, or drop the oldest.
 *
 * A forwarded flow may queue as much as leaves within its budget, shared by all
 * backlogged flows: max(floor, budget * rate / flows). While it has more than
 * that when its turn comes, the packet at its head is marked CE, if its sender
 * understands that, and leaves; otherwise the flow loses packets from its head,
 * the oldest, until it holds no more than its limit. What is marked or lost is
 * thus the packet whose receiver hears of it soonest.
 *
 * A lone packet is never too much, however large it is: nothing waits behind it.
 * What this host sent itself is neither marked nor dropped: its sockets see the
 * queue directly (TSQ). The control tier is left alone.
 *
 * The budget is that of the packet's RTT class, where stamps are read at all
 * (pfqd_stamp.c), else the interface's own.
 *
 * Writing into a packet may mean copying its header first: it may be shared with
 * a clone or lie in a page. If there is no memory for that, it goes unmarked.
 */
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <net/inet_ecn.h>
#include "pfqd.h"

/* Drops a dequeue, so that a limit that shrank at once does not stall it. */
#define PFQD_BUDGET_DROPS_MAX	64

/* The IP header's first bytes, which hold what is asked for here. */
union pfqd_ip {
	struct iphdr	v4;
	struct ipv6hdr	v6;
};

/* DS field of the packet; -1 when there is no IP header where one should be. */
static int pfqd_dsfield(const struct sk_buff *skb)
{
	const union pfqd_ip *ip;
	union pfqd_ip buf;
	__be16 l3;
	int at;

	l3 = pfqd_network_header(skb, &at);
	if (l3 == htons(ETH_P_IP)) {
		ip = skb_header_pointer(skb, at, sizeof(ip->v4), &buf);
		return ip && ip->v4.version == 4 ? ip->v4.tos : -1;
	}
	if (l3 == htons(ETH_P_IPV6)) {
		ip = skb_header_pointer(skb, at, sizeof(ip->v6), &buf);
		return ip && ip->v6.version == 6 ? ipv6_get_dsfield(&ip->v6) : -1;
	}
	return -1;
}

static bool pfqd_over_budget(const struct pfqd_qdisc *q, const struct pfqd_flow *flow)
{
	return (u64)flow->bytes.size * q->flows_active >
	       q->budget[pfqd_cb(flow->head)->class];
}

/* True: the head is marked now. */
static bool pfqd_set_ce(struct sk_buff *skb)
{
	__be16 l3;
	int at;

	l3 = pfqd_network_header(skb, &at);
	if (l3 == htons(ETH_P_IP)) {
		if (skb_ensure_writable(skb, at + sizeof(struct iphdr)))
			return false;
		return IP_ECN_set_ce((struct iphdr *)(skb->data + at));
	}
	if (skb_ensure_writable(skb, at + sizeof(struct ipv6hdr)))
		return false;
	return IP6_ECN_set_ce(skb, (struct ipv6hdr *)(skb->data + at));
}

static void pfqd_mark(struct pfqd_qdisc *q, struct sk_buff *skb, int dsfield)
{
	if ((dsfield & INET_ECN_MASK) == INET_ECN_CE)
		return;		/* somebody else's, on the way to here */
	if (!pfqd_set_ce(skb))
		return;
	pfqd_add(q->marks, pfqd_segments(skb));
	pfqd_add(q->class[pfqd_cb(skb)->class].marks, pfqd_segments(skb));
}

static void pfqd_drop_oldest(struct Qdisc *sch, struct pfqd_flow *flow)
{
	struct sk_buff *skb = pfqd_fifo_pop(sch, flow);
	struct pfqd_qdisc *q = qdisc_priv(sch);

	pfqd_add(q->drops_budget, 1);
	pfqd_add(q->class[pfqd_cb(skb)->class].drops, 1);
	qdisc_qstats_drop(sch);
	kfree_skb(skb);
}

/*
 * The flow's head is about to be served: marks it, or drops packets before it.
 * The parent hears of the drops while the head is still queued: it is never told
 * that its child is empty in the middle of a dequeue or a peek.
 */
void pfqd_budget(struct Qdisc *sch, struct pfqd_flow *flow)
{
	struct pfqd_qdisc *q = qdisc_priv(sch);
	u32 drops = 0, before = flow->bytes.size;
	int dsfield;

	while (flow->bytes.size > PFQD_FLOW_FLOOR && flow->qlen > 1 &&
	       flow->head->skb_iif && flow->tier != PFQD_TIER_CONTROL) {
		if (!pfqd_over_budget(q, flow))
			break;
		dsfield = pfqd_dsfield(flow->head);
		/* any of ECT(0), ECT(1), CE: INET_ECN_is_capable() forgets ECT(1) */
		if (q->params.ecn && dsfield >= 0 && (dsfield & INET_ECN_MASK)) {
			pfqd_mark(q, flow->head, dsfield);
			break;
		}
		if (drops == PFQD_BUDGET_DROPS_MAX)
			break;
		if (dsfield < 0)
			pfqd_add(q->unmarkable, 1);
		pfqd_drop_oldest(sch, flow);
		drops++;
	}
	if (drops)
		qdisc_tree_reduce_backlog(sch, drops, before - flow->bytes.size);
}
