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
 * Options, all __u32.
 *
 * LIMIT	bytes of queued packets (qdisc packet length: what the packets
 *		take on the wire without preamble, a GSO packet with the headers
 *		of all its segments), 1 .. 2^30, default 33554432. When more
 *		is queued, the fattest flow loses from its head. Two packets
 *		always fit.
 * MEMLIMIT	bytes of memory of queued packets (truesize), range, default and
 *		effect as LIMIT.
 * FLOWS	flows that have a FIFO of their own, 1 .. 1048576, default 65536.
 *		Tuples beyond share 64 FIFOs, by source address.
 * QUANTUM	bytes of a turn, 256 .. 1048576. Default: the device's MTU plus
 *		its link header, clamped to that range, following MTU changes.
 * DEMOTE	microseconds without an empty moment after which a flow moves
 *		to the low tier, 1 .. 60000000, default 5000.
 * CONTROL	control packets a service cycle, 1 .. 1024, default 8.
 */
enum {
	TCA_PFQD_UNSPEC,
	TCA_PFQD_LIMIT,
	TCA_PFQD_MEMLIMIT,
	TCA_PFQD_FLOWS,
	TCA_PFQD_QUANTUM,
	TCA_PFQD_DEMOTE,
	TCA_PFQD_CONTROL,
	__TCA_PFQD_MAX
};

#define TCA_PFQD_MAX (__TCA_PFQD_MAX - 1)

/*
 * Statistics. Counters are __u64 and never go back while the qdisc lives;
 * gauges are __u32.
 *
 * TIERS		nested: attribute 1 + tier (enum pfqd_tier) holds that
 *			tier's TCA_PFQD_TIER_* attributes
 * DROPS_LIMIT		counter: packets lost to LIMIT
 * DROPS_MEMLIMIT	counter: packets lost to MEMLIMIT
 * DEMOTIONS		counter: moves of a flow from high to low
 * FLOWS_ACTIVE		gauge: flows with a packet queued, shared FIFOs included
 * FLOWS_ALLOCATED	gauge: flows in memory, idle ones included
 * OVERFLOW_PACKETS	counter: packets that went to a shared FIFO
 * ALLOC_FAILURES	counter: flows that could not be allocated
 * MEMORY		gauge: truesize of what is queued, bytes
 * CYCLES		counter: service cycles begun
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

#endif /* _UAPI_LINUX_PKT_SCH_PFQD_H */
