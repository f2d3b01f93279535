/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * pfqd: what the qdisc and its tools (tc plugin, lab, pfqdctl) say to each other.
 *
 * Options travel as attributes inside TCA_OPTIONS (set NLA_F_NESTED on it) in
 * both directions; an attribute that is left out keeps its value, or gets its
 * default when the qdisc is made. An attribute that is unknown, of another size
 * or out of range is refused with an extack text, and then nothing changes.
 *
 * Statistics travel as attributes inside TCA_STATS_APP of TCA_STATS2. Readers
 * skip what they do not know: later versions append, never renumber.
 */
#ifndef _UAPI_LINUX_PKT_SCH_PFQD_H
#define _UAPI_LINUX_PKT_SCH_PFQD_H

/*
 * Options: __u32 unless another type is given. Range and default stand below as
 * PFQD_x_MIN, _MAX and _DEFAULT.
 *
 * LIMIT	bytes of queued packets (qdisc packet length: what the packets
 *		take on the wire without preamble, a GSO packet with the headers
 *		of all its segments). When more is queued, the fattest flow loses
 *		from its head. Two packets always fit.
 * MEMLIMIT	bytes of memory of queued packets (truesize); effect as LIMIT.
 * FLOWS	flows that have a FIFO of their own. Tuples beyond share
 *		PFQD_SHARED_FIFOS FIFOs, by source address.
 * QUANTUM	bytes of a turn. 0, the default: the device's MTU plus its link
 *		header, clamped to PFQD_QUANTUM_MIN .. _MAX, following MTU
 *		changes. Dumps give the value in force.
 * DEMOTE	microseconds without an empty moment after which a flow moves
 *		to the low tier.
 * CONTROL	control packets a service cycle.
 * BUDGET	microseconds: the sojourn budget of forwarded traffic without an
 *		RTT class. A forwarded flow with more than
 *		max(PFQD_FLOW_FLOOR, budget * rate / backlogged flows) bytes
 *		queued is marked CE at its head, or loses its oldest packets if
 *		it is not ECN-capable.
 * BUDGET_SHORT	microseconds: of packets stamped with the short RTT class
 * BUDGET_LONG	microseconds: of packets stamped with the long RTT class; both
 *		apply only where COMPLETION is in effect
 * ECN		__u8, 0 or 1: 0 treats everything as not ECN-capable
 * RATE		__u64, bytes/s that the budgets are computed from. 0, the
 *		default: found out, see enum pfqd_rate_source.
 * SPLIT_GSO	__u8, 0 or 1: GSO packets are segmented when they are queued
 * COMPLETION	__u8, enum pfqd_switch up to PFQD_SWITCH_INHERIT: whether stamps
 *		are read, for the completion tier and the budgets of the RTT classes
 * STAMP	__u8, enum pfqd_switch: whether packets of this host's TCP sockets
 *		are stamped
 */
enum {
	TCA_PFQD_UNSPEC,
	TCA_PFQD_PAD,
	TCA_PFQD_LIMIT,
	TCA_PFQD_MEMLIMIT,
	TCA_PFQD_FLOWS,
	TCA_PFQD_QUANTUM,
	TCA_PFQD_DEMOTE,
	TCA_PFQD_CONTROL,
	TCA_PFQD_BUDGET,
	TCA_PFQD_BUDGET_SHORT,
	TCA_PFQD_BUDGET_LONG,
	TCA_PFQD_ECN,
	TCA_PFQD_RATE,
	TCA_PFQD_SPLIT_GSO,
	TCA_PFQD_COMPLETION,
	TCA_PFQD_STAMP,
	__TCA_PFQD_MAX
};

#define TCA_PFQD_MAX (__TCA_PFQD_MAX - 1)

/*
 * Decimal literals, so that error texts can be made of them. Sources: the table
 * of PFQD-DC's design for defaults; the upper bounds keep all sums of the module
 * far from overflow.
 */
#define PFQD_LIMIT_MIN		1		/* bytes */
#define PFQD_LIMIT_MAX		1073741824
#define PFQD_LIMIT_DEFAULT	33554432
#define PFQD_MEMLIMIT_MIN	1		/* bytes */
#define PFQD_MEMLIMIT_MAX	1073741824
#define PFQD_MEMLIMIT_DEFAULT	33554432
#define PFQD_FLOWS_MIN		1
#define PFQD_FLOWS_MAX		1048576
#define PFQD_FLOWS_DEFAULT	65536
#define PFQD_QUANTUM_MIN	256		/* bytes */
#define PFQD_QUANTUM_MAX	1048576
#define PFQD_QUANTUM_DEFAULT	0
#define PFQD_DEMOTE_MIN		1		/* us */
#define PFQD_DEMOTE_MAX		60000000
#define PFQD_DEMOTE_DEFAULT	5000
#define PFQD_CONTROL_MIN	1		/* packets a cycle */
#define PFQD_CONTROL_MAX	1024
#define PFQD_CONTROL_DEFAULT	8
#define PFQD_BUDGET_MIN		1		/* us, all three budgets */
#define PFQD_BUDGET_MAX		1000000
#define PFQD_BUDGET_DEFAULT	5000
#define PFQD_BUDGET_SHORT_DEFAULT 20
#define PFQD_BUDGET_LONG_DEFAULT 5000
#define PFQD_ECN_DEFAULT	1
#define PFQD_RATE_MIN		1000		/* bytes/s, or 0 */
#define PFQD_RATE_MAX		1000000000000
#define PFQD_RATE_DEFAULT	0
#define PFQD_SPLIT_GSO_DEFAULT	0
#define PFQD_COMPLETION_DEFAULT	PFQD_SWITCH_INHERIT
#define PFQD_STAMP_DEFAULT	PFQD_SWITCH_INHERIT

#define PFQD_FLOW_FLOOR		65536		/* bytes */
#define PFQD_BANDED_SERVES	8		/* in a row, before one of all flows */
#define PFQD_SHARED_FIFOS	64

/* A switch of an interface over a module parameter. */
enum pfqd_switch {
	PFQD_SWITCH_OFF,
	PFQD_SWITCH_ON,
	PFQD_SWITCH_INHERIT,	/* as the module parameter says */
	PFQD_SWITCH_LOCAL,	/* STAMP only: for this queue, packets are not written to */
	__PFQD_SWITCH_MAX
};

/* Where the rate in force comes from. */
enum pfqd_rate_source {
	/* RATE */
	PFQD_RATE_OPTION,
	/* the speed of a device with a parent on a bus, whose root this is */
	PFQD_RATE_LINK,
	/* to be measured: so far the link's speed, or 10 Gbit/s */
	PFQD_RATE_ASSUMED,
	/* below any parent, and on virtual devices: the rate at which backlog drained,
	 * capped by the speed
	 */
	PFQD_RATE_MEASURED,
	__PFQD_RATE_SOURCE_MAX
};

/*
 * Statistics. Counters are __u64 and never go back while the qdisc lives;
 * gauges are __u32.
 *
 * TIERS		nested: attribute 1 + tier (enum pfqd_tier) holds that
 *			tier's TCA_PFQD_TIER_* attributes
 * DROPS_LIMIT		counter: packets lost to LIMIT
 * DROPS_MEMLIMIT	counter: packets lost to MEMLIMIT
 * DEMOTIONS		counter: moves of a flow from high to low
 * FLOWS_ACTIVE		gauge: flows with a packet queued, shared FIFOs included, the
 *			control tier not
 * FLOWS_ALLOCATED	gauge: flows in memory, idle ones included
 * OVERFLOW_PACKETS	counter: packets that went to a shared FIFO
 * ALLOC_FAILURES	counter: flows that could not be allocated
 * MEMORY		gauge: truesize of what is queued, bytes
 * CYCLES		counter: service cycles begun
 * MARKS		counter: packets marked CE, a GSO packet as its segments
 * DROPS_BUDGET		counter: packets lost to a budget
 * UNMARKABLE		counter: of those, the ones that no mark can be written to
 *			because they have no IP header where one is looked for
 * SEGMENTED		counter: GSO packets split by SPLIT_GSO
 * RATE			gauge, __u64: bytes/s in force
 * RATE_SOURCE		enum pfqd_rate_source
 * COMPLETION		PFQD_SWITCH_OFF or _ON: whether stamps are read
 * COMPLETION_SOURCE	enum pfqd_switch: the option; if _INHERIT, the module
 *			parameter decided
 * STAMP		PFQD_SWITCH_OFF, _ON or _LOCAL: whether packets are stamped
 * STAMP_SOURCE		as COMPLETION_SOURCE
 * STAMPS		counter: packets that got a band and a class of their own, a GSO
 *			packet as one; with _LOCAL they were not written to
 * STAMP_FAILURES	counter: of those, the ones that _ON could not write to (no
 *			memory for a header of its own); in this queue they have theirs
 * BANDS		nested: attribute 1 + band, for bands below PFQD_BANDS, and
 *			1 + PFQD_BANDS for data without a band: TCA_PFQD_TIER_PACKETS,
 *			_BYTES and _SOJOURN of what was served while stamps were read;
 *			without the control tier
 * CLASSES		nested: attribute 1 + enum pfqd_rtt_class holds the
 *			TCA_PFQD_CLASS_* of that class; packets and bytes as BANDS, marks
 *			and drops always (of _NONE while stamps are not read)
 * SERVES_BANDED	counter: turns that flows got for their band, a turn for each
 *			quantum
 * SERVES_ORDINARY	counter: turns of the round-robin over all flows
 * FLOW			nested TCA_PFQD_FLOW_*: in the statistics of a class, alone
 */
enum {
	TCA_PFQD_STATS_UNSPEC,
	TCA_PFQD_STATS_PAD,
	TCA_PFQD_STATS_TIERS,
	TCA_PFQD_STATS_DROPS_LIMIT,
	TCA_PFQD_STATS_DROPS_MEMLIMIT,
	TCA_PFQD_STATS_DEMOTIONS,
	TCA_PFQD_STATS_FLOWS_ACTIVE,
	TCA_PFQD_STATS_FLOWS_ALLOCATED,
	TCA_PFQD_STATS_OVERFLOW_PACKETS,
	TCA_PFQD_STATS_ALLOC_FAILURES,
	TCA_PFQD_STATS_MEMORY,
	TCA_PFQD_STATS_CYCLES,
	TCA_PFQD_STATS_MARKS,
	TCA_PFQD_STATS_DROPS_BUDGET,
	TCA_PFQD_STATS_UNMARKABLE,
	TCA_PFQD_STATS_SEGMENTED,
	TCA_PFQD_STATS_RATE,
	TCA_PFQD_STATS_RATE_SOURCE,
	TCA_PFQD_STATS_COMPLETION,
	TCA_PFQD_STATS_COMPLETION_SOURCE,
	TCA_PFQD_STATS_FLOW,
	TCA_PFQD_STATS_STAMP,
	TCA_PFQD_STATS_STAMP_SOURCE,
	TCA_PFQD_STATS_STAMPS,
	TCA_PFQD_STATS_STAMP_FAILURES,
	TCA_PFQD_STATS_BANDS,
	TCA_PFQD_STATS_CLASSES,
	TCA_PFQD_STATS_SERVES_BANDED,
	TCA_PFQD_STATS_SERVES_ORDINARY,
	__TCA_PFQD_STATS_MAX
};

#define TCA_PFQD_STATS_MAX (__TCA_PFQD_STATS_MAX - 1)

enum pfqd_tier {
	PFQD_TIER_CONTROL,
	PFQD_TIER_HIGH,
	PFQD_TIER_LOW,
	__PFQD_TIER_MAX
};

/*
 * One tier.
 *
 * PACKETS		counter: packets served, a GSO packet as its segments
 * BYTES		counter: their qdisc packet length
 * BACKLOG_PACKETS	gauge: packets queued, a GSO packet as one
 * BACKLOG_BYTES	gauge: their qdisc packet length
 * SOJOURN		array of __u64 counters, as many as the attribute is long:
 *			packets (a GSO packet as one) by time spent queued; element
 *			0 below 1024 ns, element i from 1024 ns * 2^(i-1) up to
 *			1024 ns * 2^i, the last one everything from there
 */
enum {
	TCA_PFQD_TIER_UNSPEC,
	TCA_PFQD_TIER_PAD,
	TCA_PFQD_TIER_PACKETS,
	TCA_PFQD_TIER_BYTES,
	TCA_PFQD_TIER_BACKLOG_PACKETS,
	TCA_PFQD_TIER_BACKLOG_BYTES,
	TCA_PFQD_TIER_SOJOURN,
	__TCA_PFQD_TIER_MAX
};

#define TCA_PFQD_TIER_MAX (__TCA_PFQD_TIER_MAX - 1)

/*
 * One RTT class (enum pfqd_rtt_class of pfqd_stamp.h), all counters.
 *
 * PACKETS, BYTES	as of a tier
 * MARKS, DROPS		as MARKS and DROPS_BUDGET of the whole qdisc
 */
enum {
	TCA_PFQD_CLASS_UNSPEC,
	TCA_PFQD_CLASS_PAD,
	TCA_PFQD_CLASS_PACKETS,
	TCA_PFQD_CLASS_BYTES,
	TCA_PFQD_CLASS_MARKS,
	TCA_PFQD_CLASS_DROPS,
	__TCA_PFQD_CLASS_MAX
};

#define TCA_PFQD_CLASS_MAX (__TCA_PFQD_CLASS_MAX - 1)

/*
 * One flow. The classes of the qdisc are its backlogged flows: a class dump lists
 * up to PFQD_CLASSES_MAX of them, numbered in the order of the dump. They cannot
 * be made, changed, asked for one by one, or have filters or qdiscs. Queued packets
 * and bytes are in the class's TCA_STATS_QUEUE.
 *
 * FAMILY	__u16: the ethertype of the flow's addresses, ETH_P_IP, ..., behind VLAN
 *		tags and in tunnels that were looked into
 * SADDR, DADDR	4 bytes (IPv4) or 16 (IPv6), in network order; absent in what is
 *		neither, and in shared FIFOs
 * PROTOCOL	__u8: IP protocol
 * SPORT, DPORT	__u16; absent where the flow has no ports
 * FRAGMENT	flag: fragments, whatever their ports
 * SHARED	flag: one of the FIFOs that tuples share when there are no more flows
 * TIER		__u32, enum pfqd_tier
 * AGE		__u64: ns since the flow was last empty
 * MEMORY	__u32: truesize of what is queued, bytes
 * BAND		__u32: of the packet at its head; absent when that has none
 */
enum {
	TCA_PFQD_FLOW_UNSPEC,
	TCA_PFQD_FLOW_PAD,
	TCA_PFQD_FLOW_FAMILY,
	TCA_PFQD_FLOW_SADDR,
	TCA_PFQD_FLOW_DADDR,
	TCA_PFQD_FLOW_PROTOCOL,
	TCA_PFQD_FLOW_SPORT,
	TCA_PFQD_FLOW_DPORT,
	TCA_PFQD_FLOW_FRAGMENT,
	TCA_PFQD_FLOW_SHARED,
	TCA_PFQD_FLOW_TIER,
	TCA_PFQD_FLOW_AGE,
	TCA_PFQD_FLOW_MEMORY,
	TCA_PFQD_FLOW_BAND,
	__TCA_PFQD_FLOW_MAX
};

#define TCA_PFQD_FLOW_MAX (__TCA_PFQD_FLOW_MAX - 1)

#define PFQD_CLASSES_MAX 65535

#endif /* _UAPI_LINUX_PKT_SCH_PFQD_H */
