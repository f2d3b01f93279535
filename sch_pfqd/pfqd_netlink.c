// SPDX-License-Identifier: GPL-2.0-only
/*
 * The netlink face: options in, options out. Statistics: pfqd_stats.c.
 *
 * Options are read into a copy of the parameters, all of them checked, before
 * anything is applied: a refused request changes nothing. Any root of a user
 * namespace can send these, so nothing in them is trusted.
 *
 * The ranges are part of the policy, so user space can ask for them; the text of
 * a refusal names the option and what it accepts. Both are made of the numbers in
 * the uapi header.
 */
#include <linux/stringify.h>
#include <net/netlink.h>
#include "pfqd.h"

/* Not const: kernels up to 6.1 want it so. */
#define PFQD_RANGE(name, low, high)						\
	static struct netlink_range_validation pfqd_range_##name = {		\
		.min = low, .max = high						\
	}

PFQD_RANGE(limit, PFQD_LIMIT_MIN, PFQD_LIMIT_MAX);
PFQD_RANGE(memlimit, PFQD_MEMLIMIT_MIN, PFQD_MEMLIMIT_MAX);
PFQD_RANGE(flows, PFQD_FLOWS_MIN, PFQD_FLOWS_MAX);
PFQD_RANGE(quantum, 0, PFQD_QUANTUM_MAX);
PFQD_RANGE(demote, PFQD_DEMOTE_MIN, PFQD_DEMOTE_MAX);
PFQD_RANGE(control, PFQD_CONTROL_MIN, PFQD_CONTROL_MAX);
PFQD_RANGE(budget, PFQD_BUDGET_MIN, PFQD_BUDGET_MAX);
PFQD_RANGE(rate, 0, PFQD_RATE_MAX);

static const struct nla_policy pfqd_policy[TCA_PFQD_MAX + 1] = {
	[TCA_PFQD_UNSPEC]	= { .strict_start_type = TCA_PFQD_UNSPEC + 1 },
	[TCA_PFQD_PAD]		= { .type = NLA_REJECT },
	[TCA_PFQD_LIMIT]	= NLA_POLICY_FULL_RANGE(NLA_U32, &pfqd_range_limit),
	[TCA_PFQD_MEMLIMIT]	= NLA_POLICY_FULL_RANGE(NLA_U32, &pfqd_range_memlimit),
	[TCA_PFQD_FLOWS]	= NLA_POLICY_FULL_RANGE(NLA_U32, &pfqd_range_flows),
	[TCA_PFQD_QUANTUM]	= NLA_POLICY_FULL_RANGE(NLA_U32, &pfqd_range_quantum),
	[TCA_PFQD_DEMOTE]	= NLA_POLICY_FULL_RANGE(NLA_U32, &pfqd_range_demote),
	[TCA_PFQD_CONTROL]	= NLA_POLICY_FULL_RANGE(NLA_U32, &pfqd_range_control),
	[TCA_PFQD_BUDGET]	= NLA_POLICY_FULL_RANGE(NLA_U32, &pfqd_range_budget),
	[TCA_PFQD_BUDGET_SHORT]	= NLA_POLICY_FULL_RANGE(NLA_U32, &pfqd_range_budget),
	[TCA_PFQD_BUDGET_LONG]	= NLA_POLICY_FULL_RANGE(NLA_U32, &pfqd_range_budget),
	[TCA_PFQD_ECN]		= NLA_POLICY_MAX(NLA_U8, 1),
	[TCA_PFQD_RATE]		= NLA_POLICY_FULL_RANGE(NLA_U64, &pfqd_range_rate),
	[TCA_PFQD_SPLIT_GSO]	= NLA_POLICY_MAX(NLA_U8, 1),
	[TCA_PFQD_COMPLETION]	= NLA_POLICY_MAX(NLA_U8, PFQD_SWITCH_INHERIT),
	[TCA_PFQD_STAMP]	= NLA_POLICY_MAX(NLA_U8, PFQD_SWITCH_LOCAL),
};

#define PFQD_ACCEPTS(name, low, high, unit)	\
	"pfqd: " name ": " __stringify(low) " .. " __stringify(high) unit

/* What a refusal for a value out of range says. */
static const char *const pfqd_accepts[TCA_PFQD_MAX + 1] = {
	[TCA_PFQD_LIMIT]	= PFQD_ACCEPTS("limit", PFQD_LIMIT_MIN,
					       PFQD_LIMIT_MAX, " bytes"),
	[TCA_PFQD_MEMLIMIT]	= PFQD_ACCEPTS("memlimit", PFQD_MEMLIMIT_MIN,
					       PFQD_MEMLIMIT_MAX, " bytes"),
	[TCA_PFQD_FLOWS]	= PFQD_ACCEPTS("flows", PFQD_FLOWS_MIN,
					       PFQD_FLOWS_MAX, ""),
	[TCA_PFQD_QUANTUM]	= PFQD_ACCEPTS("quantum", PFQD_QUANTUM_MIN,
					       PFQD_QUANTUM_MAX, " bytes, or 0: one MTU"),
	[TCA_PFQD_DEMOTE]	= PFQD_ACCEPTS("demote", PFQD_DEMOTE_MIN,
					       PFQD_DEMOTE_MAX, " us"),
	[TCA_PFQD_CONTROL]	= PFQD_ACCEPTS("control", PFQD_CONTROL_MIN,
					       PFQD_CONTROL_MAX, " packets a cycle"),
	[TCA_PFQD_BUDGET]	= PFQD_ACCEPTS("budget", PFQD_BUDGET_MIN,
					       PFQD_BUDGET_MAX, " us"),
	[TCA_PFQD_BUDGET_SHORT]	= PFQD_ACCEPTS("short", PFQD_BUDGET_MIN,
					       PFQD_BUDGET_MAX, " us"),
	[TCA_PFQD_BUDGET_LONG]	= PFQD_ACCEPTS("long", PFQD_BUDGET_MIN,
					       PFQD_BUDGET_MAX, " us"),
	[TCA_PFQD_ECN]		= "pfqd: ecn: 0 or 1",
	[TCA_PFQD_RATE]		= PFQD_ACCEPTS("rate", PFQD_RATE_MIN,
					       PFQD_RATE_MAX, " bytes/s, or 0: found out"),
	[TCA_PFQD_SPLIT_GSO]	= "pfqd: split_gso: 0 or 1",
	[TCA_PFQD_COMPLETION]	= "pfqd: completion: 0 (off), 1 (on) or 2 (inherit)",
	[TCA_PFQD_STAMP]	= "pfqd: stamp: 0 (off), 1 (on), 2 (inherit) or 3 (local)",
};

struct pfqd_params pfqd_defaults(void)
{
	return (struct pfqd_params) {
		.limit		= PFQD_LIMIT_DEFAULT,
		.memlimit	= PFQD_MEMLIMIT_DEFAULT,
		.flows		= PFQD_FLOWS_DEFAULT,
		.quantum	= PFQD_QUANTUM_DEFAULT,
		.demote		= PFQD_DEMOTE_DEFAULT,
		.control	= PFQD_CONTROL_DEFAULT,
		.budget		= {
			[PFQD_RTT_NONE]		= PFQD_BUDGET_DEFAULT,
			[PFQD_RTT_SHORT]	= PFQD_BUDGET_SHORT_DEFAULT,
			[PFQD_RTT_LONG]		= PFQD_BUDGET_LONG_DEFAULT,
		},
		.ecn		= PFQD_ECN_DEFAULT,
		.rate		= PFQD_RATE_DEFAULT,
		.split_gso	= PFQD_SPLIT_GSO_DEFAULT,
		.completion	= PFQD_COMPLETION_DEFAULT,
		.stamp		= PFQD_STAMP_DEFAULT,
	};
}

/* The turn's bytes: the option, else one full packet of the device. */
u32 pfqd_quantum(struct Qdisc *sch)
{
	const struct pfqd_qdisc *q = qdisc_priv(sch);
	u32 quantum = READ_ONCE(q->params.quantum);

	if (quantum)
		return quantum;
	return clamp_t(u32, psched_mtu(qdisc_dev(sch)), PFQD_QUANTUM_MIN,
		       PFQD_QUANTUM_MAX);
}

/* --- options in ----------------------------------------------------------------- */

/* The policy has refused: says which option it was, if it was one of ours. */
static void pfqd_explain(const struct nlattr *opt, struct netlink_ext_ack *extack)
{
	const struct nlattr *bad = extack ? extack->bad_attr : NULL;
	int type;

	if (bad <= opt || (void *)bad >= (void *)opt + nla_len(opt) + NLA_HDRLEN)
		return;
	type = nla_type(bad);
	if (type <= TCA_PFQD_MAX && pfqd_accepts[type])
		extack->_msg = pfqd_accepts[type];
}

/* Zero, or at least min: the only thing that a range cannot say. */
static int pfqd_check_min(const struct nlattr *attr, u64 value, u64 min,
			  struct netlink_ext_ack *extack)
{
	if (!value || value >= min)
		return 0;
	if (extack) {
		NL_SET_BAD_ATTR(extack, attr);
		extack->_msg = pfqd_accepts[nla_type(attr)];
	}
	return -ERANGE;
}

static void pfqd_take_u8(const struct nlattr *attr, u8 *value)
{
	if (attr)
		*value = nla_get_u8(attr);
}

static void pfqd_take_u32(const struct nlattr *attr, u32 *value)
{
	if (attr)
		*value = nla_get_u32(attr);
}

static void pfqd_take_budget(const struct nlattr *attr, u64 *value)
{
	if (attr)
		*value = nla_get_u32(attr);
}

static void pfqd_take_all(struct pfqd_params *params, struct nlattr **tb)
{
	pfqd_take_u32(tb[TCA_PFQD_LIMIT], &params->limit);
	pfqd_take_u32(tb[TCA_PFQD_MEMLIMIT], &params->memlimit);
	pfqd_take_u32(tb[TCA_PFQD_FLOWS], &params->flows);
	pfqd_take_u32(tb[TCA_PFQD_QUANTUM], &params->quantum);
	pfqd_take_u32(tb[TCA_PFQD_DEMOTE], &params->demote);
	pfqd_take_u32(tb[TCA_PFQD_CONTROL], &params->control);
	pfqd_take_budget(tb[TCA_PFQD_BUDGET], &params->budget[PFQD_RTT_NONE]);
	pfqd_take_budget(tb[TCA_PFQD_BUDGET_SHORT], &params->budget[PFQD_RTT_SHORT]);
	pfqd_take_budget(tb[TCA_PFQD_BUDGET_LONG], &params->budget[PFQD_RTT_LONG]);
	pfqd_take_u8(tb[TCA_PFQD_ECN], &params->ecn);
	pfqd_take_u8(tb[TCA_PFQD_SPLIT_GSO], &params->split_gso);
	pfqd_take_u8(tb[TCA_PFQD_COMPLETION], &params->completion);
	pfqd_take_u8(tb[TCA_PFQD_STAMP], &params->stamp);
	if (tb[TCA_PFQD_RATE])
		params->rate = nla_get_u64(tb[TCA_PFQD_RATE]);
}

int pfqd_parse(struct pfqd_params *params, struct nlattr *opt,
	       struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_PFQD_MAX + 1];
	int err;

	err = nla_parse_nested(tb, TCA_PFQD_MAX, opt, pfqd_policy, extack);
	if (err) {
		pfqd_explain(opt, extack);
		return err;
	}
	pfqd_take_all(params, tb);
	err = pfqd_check_min(tb[TCA_PFQD_QUANTUM], params->quantum, PFQD_QUANTUM_MIN,
			     extack);
	if (!err)
		err = pfqd_check_min(tb[TCA_PFQD_RATE], params->rate, PFQD_RATE_MIN,
				     extack);
	return err;
}

/* --- options out ---------------------------------------------------------------- */

static int pfqd_put_budgets(struct sk_buff *skb, const struct pfqd_params *params)
{
	const u64 *budget = params->budget;

	if (nla_put_u32(skb, TCA_PFQD_BUDGET, READ_ONCE(budget[PFQD_RTT_NONE])) ||
	    nla_put_u32(skb, TCA_PFQD_BUDGET_SHORT, READ_ONCE(budget[PFQD_RTT_SHORT])) ||
	    nla_put_u32(skb, TCA_PFQD_BUDGET_LONG, READ_ONCE(budget[PFQD_RTT_LONG])) ||
	    nla_put_u64_64bit(skb, TCA_PFQD_RATE, READ_ONCE(params->rate), TCA_PFQD_PAD))
		return -EMSGSIZE;
	return 0;
}

static int pfqd_put_params(struct Qdisc *sch, struct sk_buff *skb)
{
	const struct pfqd_qdisc *q = qdisc_priv(sch);
	const struct pfqd_params *params = &q->params;

	if (nla_put_u32(skb, TCA_PFQD_LIMIT, READ_ONCE(params->limit)) ||
	    nla_put_u32(skb, TCA_PFQD_MEMLIMIT, READ_ONCE(params->memlimit)) ||
	    nla_put_u32(skb, TCA_PFQD_FLOWS, READ_ONCE(params->flows)) ||
	    nla_put_u32(skb, TCA_PFQD_QUANTUM, pfqd_quantum(sch)) ||
	    nla_put_u32(skb, TCA_PFQD_DEMOTE, READ_ONCE(params->demote)) ||
	    nla_put_u32(skb, TCA_PFQD_CONTROL, READ_ONCE(params->control)) ||
	    pfqd_put_budgets(skb, params) ||
	    nla_put_u8(skb, TCA_PFQD_ECN, READ_ONCE(params->ecn)) ||
	    nla_put_u8(skb, TCA_PFQD_SPLIT_GSO, READ_ONCE(params->split_gso)) ||
	    nla_put_u8(skb, TCA_PFQD_COMPLETION, READ_ONCE(params->completion)) ||
	    nla_put_u8(skb, TCA_PFQD_STAMP, READ_ONCE(params->stamp)))
		return -EMSGSIZE;
	return 0;
}

int pfqd_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct nlattr *nest = nla_nest_start_noflag(skb, TCA_OPTIONS);

	if (!nest)
		return -EMSGSIZE;
	if (pfqd_put_params(sch, skb)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, nest);
}
