// SPDX-License-Identifier: GPL-2.0-only
/*
 * The netlink face: options in, options and statistics out.
 *
 * Options are read into a copy of the parameters, all of them checked, before
 * anything is applied: a refused request changes nothing. Any root of a user
 * namespace can send these, so nothing in them is trusted.
 *
 * Dumps run without the tree's lock. Each value is whole (on 64-bit kernels), the
 * set of them is not a snapshot while traffic runs.
 */
#include <linux/sizes.h>
#include <net/netlink.h>
#include "pfqd.h"

/* Sources: design.md 3.1; the upper bounds keep all sums far from 32 bits. */
#define PFQD_LIMIT_DEFAULT	SZ_32M		/* bytes */
#define PFQD_LIMIT_MAX		SZ_1G
#define PFQD_FLOWS_DEFAULT	65536
#define PFQD_FLOWS_MAX		SZ_1M
#define PFQD_QUANTUM_MIN	256		/* bytes */
#define PFQD_QUANTUM_MAX	SZ_1M
#define PFQD_DEMOTE_DEFAULT	5000		/* us */
#define PFQD_DEMOTE_MAX		60000000
#define PFQD_CONTROL_DEFAULT	8		/* packets a cycle */
#define PFQD_CONTROL_MAX	1024

static const struct nla_policy pfqd_policy[TCA_PFQD_MAX + 1] = {
	[TCA_PFQD_UNSPEC]	= { .strict_start_type = TCA_PFQD_LIMIT },
	[TCA_PFQD_LIMIT]	= { .type = NLA_U32 },
	[TCA_PFQD_MEMLIMIT]	= { .type = NLA_U32 },
	[TCA_PFQD_FLOWS]	= { .type = NLA_U32 },
	[TCA_PFQD_QUANTUM]	= { .type = NLA_U32 },
	[TCA_PFQD_DEMOTE]	= { .type = NLA_U32 },
	[TCA_PFQD_CONTROL]	= { .type = NLA_U32 },
};

struct pfqd_params pfqd_defaults(void)
{
	return (struct pfqd_params) {
		.limit		= PFQD_LIMIT_DEFAULT,
		.memlimit	= PFQD_LIMIT_DEFAULT,
		.flows		= PFQD_FLOWS_DEFAULT,
		.quantum	= 0,
		.demote		= PFQD_DEMOTE_DEFAULT,
		.control	= PFQD_CONTROL_DEFAULT,
	};
}

/* The turn's bytes: the option, else one full packet of the device. */
u32 pfqd_quantum(struct Qdisc *sch)
{
	const struct pfqd_qdisc *q = qdisc_priv(sch);

	if (q->params.quantum)
		return q->params.quantum;
	return clamp_t(u32, psched_mtu(qdisc_dev(sch)), PFQD_QUANTUM_MIN,
		       PFQD_QUANTUM_MAX);
}

/* Takes the attribute if it is there; false: out of range. */
static bool pfqd_take_u32(struct nlattr *attr, u32 *value, u32 min, u32 max)
{
	u32 wanted;

	if (!attr)
		return true;
	wanted = nla_get_u32(attr);
	if (wanted < min || wanted > max)
		return false;
	*value = wanted;
	return true;
}

static int pfqd_parse_limits(struct pfqd_params *params, struct nlattr **tb,
			     struct netlink_ext_ack *extack)
{
	if (!pfqd_take_u32(tb[TCA_PFQD_LIMIT], &params->limit, 1, PFQD_LIMIT_MAX)) {
		NL_SET_ERR_MSG_ATTR(extack, tb[TCA_PFQD_LIMIT],
				    "pfqd: limit: 1 .. 1073741824 bytes");
		return -EINVAL;
	}
	if (!pfqd_take_u32(tb[TCA_PFQD_MEMLIMIT], &params->memlimit, 1,
			   PFQD_LIMIT_MAX)) {
		NL_SET_ERR_MSG_ATTR(extack, tb[TCA_PFQD_MEMLIMIT],
				    "pfqd: memlimit: 1 .. 1073741824 bytes");
		return -EINVAL;
	}
	if (!pfqd_take_u32(tb[TCA_PFQD_FLOWS], &params->flows, 1, PFQD_FLOWS_MAX)) {
		NL_SET_ERR_MSG_ATTR(extack, tb[TCA_PFQD_FLOWS],
				    "pfqd: flows: 1 .. 1048576");
		return -EINVAL;
	}
	return 0;
}

static int pfqd_parse_service(struct pfqd_params *params, struct nlattr **tb,
			      struct netlink_ext_ack *extack)
{
	if (!pfqd_take_u32(tb[TCA_PFQD_QUANTUM], &params->quantum,
			   PFQD_QUANTUM_MIN, PFQD_QUANTUM_MAX)) {
		NL_SET_ERR_MSG_ATTR(extack, tb[TCA_PFQD_QUANTUM],
				    "pfqd: quantum: 256 .. 1048576 bytes");
		return -EINVAL;
	}
	if (!pfqd_take_u32(tb[TCA_PFQD_DEMOTE], &params->demote, 1,
			   PFQD_DEMOTE_MAX)) {
		NL_SET_ERR_MSG_ATTR(extack, tb[TCA_PFQD_DEMOTE],
				    "pfqd: demote: 1 .. 60000000 us");
		return -EINVAL;
	}
	if (!pfqd_take_u32(tb[TCA_PFQD_CONTROL], &params->control, 1,
			   PFQD_CONTROL_MAX)) {
		NL_SET_ERR_MSG_ATTR(extack, tb[TCA_PFQD_CONTROL],
				    "pfqd: control: 1 .. 1024 packets a cycle");
		return -EINVAL;
	}
	return 0;
}

int pfqd_parse(struct pfqd_params *params, struct nlattr *opt,
	       struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_PFQD_MAX + 1];
	int err;

	err = nla_parse_nested(tb, TCA_PFQD_MAX, opt, pfqd_policy, extack);
	if (!err)
		err = pfqd_parse_limits(params, tb, extack);
	if (!err)
		err = pfqd_parse_service(params, tb, extack);
	return err;
}

int pfqd_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct pfqd_qdisc *q = qdisc_priv(sch);
	const struct pfqd_params *params = &q->params;
	struct nlattr *nest = nla_nest_start_noflag(skb, TCA_OPTIONS);

	if (!nest)
		return -EMSGSIZE;
	if (nla_put_u32(skb, TCA_PFQD_LIMIT, READ_ONCE(params->limit)) ||
	    nla_put_u32(skb, TCA_PFQD_MEMLIMIT, READ_ONCE(params->memlimit)) ||
	    nla_put_u32(skb, TCA_PFQD_FLOWS, READ_ONCE(params->flows)) ||
	    nla_put_u32(skb, TCA_PFQD_QUANTUM, pfqd_quantum(sch)) ||
	    nla_put_u32(skb, TCA_PFQD_DEMOTE, READ_ONCE(params->demote)) ||
	    nla_put_u32(skb, TCA_PFQD_CONTROL, READ_ONCE(params->control))) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, nest);
}

/* --- statistics --------------------------------------------------------------- */

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

static int pfqd_put_tier(struct sk_buff *skb, int attr,
			 const struct pfqd_tier_stats *tier)
{
	struct nlattr *nest = nla_nest_start_noflag(skb, attr);

	BUILD_BUG_ON((int)TCA_PFQD_TIER_PAD != (int)TCA_PFQD_STATS_PAD);

	if (!nest ||
	    pfqd_put_u64(skb, TCA_PFQD_TIER_PACKETS, &tier->packets) ||
	    pfqd_put_u64(skb, TCA_PFQD_TIER_BYTES, &tier->bytes) ||
	    pfqd_put_u32(skb, TCA_PFQD_TIER_BACKLOG_PACKETS, &tier->backlog_packets) ||
	    pfqd_put_u32(skb, TCA_PFQD_TIER_BACKLOG_BYTES, &tier->backlog_bytes) ||
	    pfqd_put_sojourn(skb, tier->sojourn))
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
	    pfqd_put_u64(skb, TCA_PFQD_STATS_CYCLES, &q->sched.cycles))
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
