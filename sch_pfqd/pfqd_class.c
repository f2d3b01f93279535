// SPDX-License-Identifier: GPL-2.0-only
/*
 * The backlogged flows as classes, for `tc -s class show`: who is in the queue?
 *
 * Flows come and go under the root lock while a dump runs without it, so a class
 * is a copy: the walk takes the flows of one bucket at a time under the lock,
 * lets go of it, and shows the copies. A dump is not a snapshot, but each row of
 * it is whole. The numbers of the rows are those of the dump and name nothing.
 */
#include <linux/if_ether.h>
#include <net/netlink.h>
#include "pfqd.h"

/* Flows of one bucket that are shown; a chain is longer only without memory. */
#define PFQD_CLASS_CHAIN_MAX	16
/* Buckets looked through without letting go of the lock. */
#define PFQD_CLASS_BUCKETS	64

struct pfqd_class {
	struct pfqd_key	key;
	bool		shared;
	u32		row;
	u32		packets;
	u32		bytes;
	u32		memory;
	u32		tier;
	u32		band;
	u64		since;
};

static void pfqd_class_copy(struct pfqd_class *class, const struct pfqd_flow *flow)
{
	*class = (struct pfqd_class) {
		.key	 = flow->key,
		.shared	 = !flow->hashed,
		.packets = flow->qlen,
		.bytes	 = flow->bytes.size,
		.memory	 = flow->memory.size,
		.tier	 = flow->tier,
		.band	 = flow->band,
		.since	 = flow->since,
	};
}

/* The backlogged flows of the first bucket from *at on that has any. */
static u32 pfqd_class_collect(struct Qdisc *sch, u32 *at, struct pfqd_class *classes)
{
	struct pfqd_qdisc *q = qdisc_priv(sch);
	struct pfqd_flow *flow;
	u32 count = 0, end;

	sch_tree_lock(sch);
	end = min(*at + PFQD_CLASS_BUCKETS, q->table.buckets);
	for (; *at < end && !count; ++*at) {
		hlist_for_each_entry(flow, pfqd_bucket(&q->table, *at), node) {
			if (flow->qlen && count < PFQD_CLASS_CHAIN_MAX)
				pfqd_class_copy(&classes[count++], flow);
		}
	}
	sch_tree_unlock(sch);
	return count;
}

/* One shared FIFO, if it is backlogged. */
static u32 pfqd_class_shared(struct Qdisc *sch, u32 index, struct pfqd_class *class)
{
	struct pfqd_qdisc *q = qdisc_priv(sch);
	struct pfqd_flow *flow = &q->table.overflow[index];
	u32 count = 0;

	sch_tree_lock(sch);
	if (flow->qlen)
		pfqd_class_copy(&class[count++], flow);
	sch_tree_unlock(sch);
	return count;
}

static void pfqd_class_show(struct Qdisc *sch, struct qdisc_walker *walker,
			    struct pfqd_class *classes, u32 count)
{
	u32 i;

	for (i = 0; i < count && !walker->stop; i++) {
		if (walker->count >= PFQD_CLASSES_MAX) {
			walker->stop = 1;
			return;
		}
		classes[i].row = walker->count + 1;
		if (walker->count >= walker->skip &&
		    walker->fn(sch, (unsigned long)&classes[i], walker) < 0) {
			walker->stop = 1;
			return;
		}
		walker->count++;
	}
}

static void pfqd_class_walk(struct Qdisc *sch, struct qdisc_walker *walker)
{
	struct pfqd_qdisc *q = qdisc_priv(sch);
	struct pfqd_class *classes;
	u32 at, count;

	if (walker->stop)
		return;
	classes = kcalloc(PFQD_CLASS_CHAIN_MAX, sizeof(*classes), GFP_KERNEL);
	if (!classes)
		return;
	for (at = 0; at < PFQD_SHARED_FIFOS && !walker->stop; at++) {
		count = pfqd_class_shared(sch, at, classes);
		pfqd_class_show(sch, walker, classes, count);
	}
	for (at = 0; at < READ_ONCE(q->table.buckets) && !walker->stop;) {
		count = pfqd_class_collect(sch, &at, classes);
		pfqd_class_show(sch, walker, classes, count);
	}
	kfree(classes);
}

/* --- one class -------------------------------------------------------------------- */

static int pfqd_class_dump(struct Qdisc *sch, unsigned long cl, struct sk_buff *skb,
			   struct tcmsg *tcm)
{
	const struct pfqd_class *class = (const struct pfqd_class *)cl;

	tcm->tcm_handle |= TC_H_MIN(class->row);
	return 0;
}

static int pfqd_class_put_address(struct sk_buff *skb, int attr, __be16 l3,
				  const struct in6_addr *address)
{
	if (l3 == htons(ETH_P_IP))
		return nla_put(skb, attr, sizeof(address->s6_addr32[0]), address);
	if (l3 == htons(ETH_P_IPV6))
		return nla_put(skb, attr, sizeof(*address), address);
	return 0;
}

static int pfqd_class_put_tuple(struct sk_buff *skb, const struct pfqd_key *key)
{
	const __be16 *ports = (const __be16 *)&key->ports;

	if (nla_put_u16(skb, TCA_PFQD_FLOW_FAMILY, ntohs(key->l3)) ||
	    pfqd_class_put_address(skb, TCA_PFQD_FLOW_SADDR, key->l3, &key->saddr) ||
	    pfqd_class_put_address(skb, TCA_PFQD_FLOW_DADDR, key->l3, &key->daddr) ||
	    nla_put_u8(skb, TCA_PFQD_FLOW_PROTOCOL, key->l4))
		return -EMSGSIZE;
	if (key->ports && (nla_put_u16(skb, TCA_PFQD_FLOW_SPORT, ntohs(ports[0])) ||
			   nla_put_u16(skb, TCA_PFQD_FLOW_DPORT, ntohs(ports[1]))))
		return -EMSGSIZE;
	return key->fragment ? nla_put_flag(skb, TCA_PFQD_FLOW_FRAGMENT) : 0;
}

static int pfqd_class_put(struct sk_buff *skb, const struct pfqd_class *class)
{
	u64 age = ktime_get_ns() - class->since;
	int err;

	if (class->shared)
		err = nla_put_flag(skb, TCA_PFQD_FLOW_SHARED);
	else
		err = pfqd_class_put_tuple(skb, &class->key);
	if (err ||
	    nla_put_u32(skb, TCA_PFQD_FLOW_TIER, class->tier) ||
	    nla_put_u64_64bit(skb, TCA_PFQD_FLOW_AGE, age, TCA_PFQD_FLOW_PAD) ||
	    nla_put_u32(skb, TCA_PFQD_FLOW_MEMORY, class->memory))
		return -EMSGSIZE;
	if (class->band == PFQD_BAND_NONE)
		return 0;
	return nla_put_u32(skb, TCA_PFQD_FLOW_BAND, class->band);
}

static int pfqd_class_put_stats(struct sk_buff *skb, const struct pfqd_class *class)
{
	struct nlattr *app, *flow;

	app = nla_nest_start_noflag(skb, TCA_STATS_APP);
	if (!app)
		return -EMSGSIZE;
	flow = nla_nest_start_noflag(skb, TCA_PFQD_STATS_FLOW);
	if (!flow || pfqd_class_put(skb, class)) {
		nla_nest_cancel(skb, app);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, flow);
	nla_nest_end(skb, app);
	return 0;
}

static int pfqd_class_dump_stats(struct Qdisc *sch, unsigned long cl,
				 struct gnet_dump *d)
{
	const struct pfqd_class *class = (const struct pfqd_class *)cl;
	struct gnet_stats_queue queue = {
		.qlen	 = class->packets,
		.backlog = class->bytes,
	};

	if (gnet_stats_copy_queue(d, NULL, &queue, class->packets) < 0)
		return -1;
	return pfqd_class_put_stats(d->skb, class) ? -1 : 0;
}

/* Nothing can be attached to a flow, and none can be asked for by a number. */
static struct Qdisc *pfqd_class_leaf(struct Qdisc *sch, unsigned long cl)
{
	return NULL;
}

static unsigned long pfqd_class_find(struct Qdisc *sch, u32 classid)
{
	return 0;
}

const struct Qdisc_class_ops pfqd_class_ops = {
	.leaf		= pfqd_class_leaf,
	.find		= pfqd_class_find,
	.walk		= pfqd_class_walk,
	.dump		= pfqd_class_dump,
	.dump_stats	= pfqd_class_dump_stats,
};
