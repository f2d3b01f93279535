// SPDX-License-Identifier: GPL-2.0-only
/*
 * Statistics out, as nested attributes, so that they can grow.
 *
 * Dumps run without the tree's lock. Each value is whole (on 64-bit kernels), the
 * set of them is not a snapshot while traffic runs.
 */
#include <net/netlink.h>
#include "pfqd.h"

static int pfqd_put_u64(struct sk_buff *skb, int attr, const u64 *value)
{
	return nla_put_u64_64bit(skb, attr, READ_ONCE(*value), TCA_PFQD_STATS_PAD);
}

static int pfqd_put_u32(struct sk_buff *skb, int attr, const u32 *value)
{
	return nla_put_u32(skb, attr, READ_ONCE(*value));
}

static int pfqd_put_sojourn(struct sk_buff *skb, const u64 *sojourn)
{
	struct nlattr *attr;
	u64 *out;
	int i;

	attr = nla_reserve_64bit(skb, TCA_PFQD_TIER_SOJOURN,
				 PFQD_SOJOURN_BUCKETS * sizeof(u64),
				 TCA_PFQD_TIER_PAD);
	if (!attr)
		return -EMSGSIZE;
	out = nla_data(attr);
	for (i = 0; i < PFQD_SOJOURN_BUCKETS; i++)
		out[i] = READ_ONCE(sojourn[i]);
	return 0;
}

static int pfqd_put_served(struct sk_buff *skb, const struct pfqd_served *served)
{
	BUILD_BUG_ON((int)TCA_PFQD_TIER_PAD != (int)TCA_PFQD_STATS_PAD);

	if (pfqd_put_u64(skb, TCA_PFQD_TIER_PACKETS, &served->packets) ||
	    pfqd_put_u64(skb, TCA_PFQD_TIER_BYTES, &served->bytes) ||
	    pfqd_put_sojourn(skb, served->sojourn))
		return -EMSGSIZE;
	return 0;
}

static int pfqd_put_tier(struct sk_buff *skb, int attr,
			 const struct pfqd_tier_stats *tier)
{
	struct nlattr *nest = nla_nest_start_noflag(skb, attr);

	if (!nest || pfqd_put_served(skb, &tier->served) ||
	    pfqd_put_u32(skb, TCA_PFQD_TIER_BACKLOG_PACKETS, &tier->backlog_packets) ||
	    pfqd_put_u32(skb, TCA_PFQD_TIER_BACKLOG_BYTES, &tier->backlog_bytes))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int pfqd_put_tiers(struct sk_buff *skb, const struct pfqd_qdisc *q)
{
	struct nlattr *nest = nla_nest_start_noflag(skb, TCA_PFQD_STATS_TIERS);
	int i;

	if (!nest)
		return -EMSGSIZE;
	for (i = 0; i < __PFQD_TIER_MAX; i++) {
		if (pfqd_put_tier(skb, i + 1, &q->tier[i]))
			return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

static int pfqd_put_bands(struct sk_buff *skb, const struct pfqd_qdisc *q)
{
	struct nlattr *nest = nla_nest_start_noflag(skb, TCA_PFQD_STATS_BANDS), *band;
	int i;

	if (!nest)
		return -EMSGSIZE;
	for (i = 0; i <= PFQD_BANDS; i++) {
		band = nla_nest_start_noflag(skb, i + 1);
		if (!band || pfqd_put_served(skb, &q->band[i]))
			return -EMSGSIZE;
		nla_nest_end(skb, band);
	}
	nla_nest_end(skb, nest);
	return 0;
}

static int pfqd_put_class(struct sk_buff *skb, int attr,
			  const struct pfqd_class_stats *class)
{
	struct nlattr *nest = nla_nest_start_noflag(skb, attr);

	BUILD_BUG_ON((int)TCA_PFQD_CLASS_PAD != (int)TCA_PFQD_STATS_PAD);

	if (!nest ||
	    pfqd_put_u64(skb, TCA_PFQD_CLASS_PACKETS, &class->packets) ||
	    pfqd_put_u64(skb, TCA_PFQD_CLASS_BYTES, &class->bytes) ||
	    pfqd_put_u64(skb, TCA_PFQD_CLASS_MARKS, &class->marks) ||
	    pfqd_put_u64(skb, TCA_PFQD_CLASS_DROPS, &class->drops))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int pfqd_put_classes(struct sk_buff *skb, const struct pfqd_qdisc *q)
{
	struct nlattr *nest = nla_nest_start_noflag(skb, TCA_PFQD_STATS_CLASSES);
	int i;

	if (!nest)
		return -EMSGSIZE;
	for (i = 0; i < __PFQD_RTT_MAX; i++) {
		if (pfqd_put_class(skb, i + 1, &q->class[i]))
			return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

static int pfqd_put_signals(struct sk_buff *skb, const struct pfqd_qdisc *q)
{
	if (pfqd_put_u64(skb, TCA_PFQD_STATS_MARKS, &q->marks) ||
	    pfqd_put_u64(skb, TCA_PFQD_STATS_DROPS_BUDGET, &q->drops_budget) ||
	    pfqd_put_u64(skb, TCA_PFQD_STATS_UNMARKABLE, &q->unmarkable) ||
	    pfqd_put_u64(skb, TCA_PFQD_STATS_SEGMENTED, &q->segmented) ||
	    pfqd_put_u64(skb, TCA_PFQD_STATS_RATE, &q->rate.bps) ||
	    nla_put_u32(skb, TCA_PFQD_STATS_RATE_SOURCE, READ_ONCE(q->rate.source)))
		return -EMSGSIZE;
	return 0;
}

/* What is in effect, and what decided that. */
static int pfqd_put_switches(struct sk_buff *skb, const struct pfqd_qdisc *q)
{
	u32 completion = pfqd_completion(q) ? PFQD_SWITCH_ON : PFQD_SWITCH_OFF;

	if (nla_put_u32(skb, TCA_PFQD_STATS_COMPLETION, completion) ||
	    nla_put_u32(skb, TCA_PFQD_STATS_COMPLETION_SOURCE,
			READ_ONCE(q->params.completion)) ||
	    nla_put_u32(skb, TCA_PFQD_STATS_STAMP, pfqd_stamping(q)) ||
	    nla_put_u32(skb, TCA_PFQD_STATS_STAMP_SOURCE, READ_ONCE(q->params.stamp)))
		return -EMSGSIZE;
	return 0;
}

/* Stamps, and what was served by them. */
static int pfqd_put_completion(struct sk_buff *skb, const struct pfqd_qdisc *q)
{
	const struct pfqd_sched *sched = &q->sched;

	if (pfqd_put_switches(skb, q) ||
	    pfqd_put_u64(skb, TCA_PFQD_STATS_STAMPS, &q->stamps) ||
	    pfqd_put_u64(skb, TCA_PFQD_STATS_STAMP_FAILURES, &q->stamp_failures) ||
	    pfqd_put_u64(skb, TCA_PFQD_STATS_SERVES_BANDED, &sched->serves_banded) ||
	    pfqd_put_u64(skb, TCA_PFQD_STATS_SERVES_ORDINARY, &sched->serves_ordinary) ||
	    pfqd_put_bands(skb, q) ||
	    pfqd_put_classes(skb, q))
		return -EMSGSIZE;
	return 0;
}

static int pfqd_put_stats(struct sk_buff *skb, const struct pfqd_qdisc *q)
{
	const struct pfqd_table *table = &q->table;
	u32 memory = READ_ONCE(q->memory);

	if (pfqd_put_tiers(skb, q) ||
	    pfqd_put_u64(skb, TCA_PFQD_STATS_DROPS_LIMIT, &q->drops_limit) ||
	    pfqd_put_u64(skb, TCA_PFQD_STATS_DROPS_MEMLIMIT, &q->drops_memlimit) ||
	    pfqd_put_u64(skb, TCA_PFQD_STATS_DEMOTIONS, &q->sched.demotions) ||
	    pfqd_put_u32(skb, TCA_PFQD_STATS_FLOWS_ACTIVE, &q->flows_active) ||
	    pfqd_put_u32(skb, TCA_PFQD_STATS_FLOWS_ALLOCATED, &table->flows) ||
	    pfqd_put_u64(skb, TCA_PFQD_STATS_OVERFLOW_PACKETS,
			 &table->overflow_packets) ||
	    pfqd_put_u64(skb, TCA_PFQD_STATS_ALLOC_FAILURES, &table->alloc_failures) ||
	    nla_put_u32(skb, TCA_PFQD_STATS_MEMORY, memory) ||
	    pfqd_put_u64(skb, TCA_PFQD_STATS_CYCLES, &q->sched.cycles) ||
	    pfqd_put_signals(skb, q) ||
	    pfqd_put_completion(skb, q))
		return -EMSGSIZE;
	return 0;
}

int pfqd_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct nlattr *nest = nla_nest_start_noflag(d->skb, TCA_STATS_APP);

	if (!nest)
		return -1;
	if (pfqd_put_stats(d->skb, qdisc_priv(sch))) {
		nla_nest_cancel(d->skb, nest);
		return -1;
	}
	nla_nest_end(d->skb, nest);
	return 0;
}
