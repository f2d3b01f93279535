/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sch_pfqd, internal: the structures and who owns what.
 *
 * A packet's way in (pfqd_main.c, pfqd_enqueue):
 *
 *   pfqd_classify()     control packet, or the key of its flow
 *   pfqd_table_find()   the flow with that key, made when there is none, or
 *                       one of the shared FIFOs when no more can be made
 *   pfqd_fifo_push()    the tail of the flow's FIFO, and all accounting
 *   pfqd_sched_join()   if the flow was empty: it gets a turn next cycle
 *   pfqd_trim()         if the qdisc is now over a limit: the fattest flow
 *                       (pfqd_fattest.c) loses from its head
 *
 * and its way out (pfqd_take):
 *
 *   pfqd_sched_age()    flows that have been backlogged too long move to low
 *   pfqd_sched_next()   whose packet is next: tiers, cycle and turns
 *   pfqd_fifo_pop()     the head of its FIFO, and all accounting
 *   pfqd_sched_served() the turn goes on or ends; a flow that emptied leaves
 *
 * Everything runs under the root lock of the tree. What a dump reads is written
 * by pfqd_add() or WRITE_ONCE(), because dumps do not take that lock.
 */
#ifndef _SCH_PFQD_H
#define _SCH_PFQD_H

#include <linux/list.h>
#include <linux/pkt_sch_pfqd.h>
#include <linux/siphash.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>

/* Counters and gauges: one writer (root lock), readers without a lock. */
#define pfqd_add(var, n) do {				\
	typeof(var) *__counter = &(var);		\
	WRITE_ONCE(*__counter, *__counter + (n));	\
} while (0)

/*
 * The limit is never smaller than this many packets. It also means that no drop
 * empties the qdisc, so a parent is never told "empty" while it is enqueueing.
 */
#define PFQD_MIN_PACKETS	2

#define PFQD_OVERFLOW_FIFOS	64
#define PFQD_OVERFLOW_BITS	6	/* log2 of the above */

/* Idle flows that are kept, so that sparse flows do not allocate every packet. */
#define PFQD_IDLE_MAX		1024

/* Demotions a dequeue, so that many flows that age at once do not stall it. */
#define PFQD_DEMOTIONS_MAX	16

/* --- fattest flow (pfqd_fattest.c) ----------------------------------------- */

#define PFQD_RANK_SHIFT		6	/* sizes are ranked in units of 64 B */
#define PFQD_RANK_BUCKETS	200	/* 8 an octave, up to 2^32 - 1 B */

/* A flow's place among all flows by one measure; bucket 0 is "not ranked". */
struct pfqd_rank_node {
	struct list_head	link;
	u32			size;
	u32			bucket;
};

struct pfqd_rank {
	struct list_head	bucket[PFQD_RANK_BUCKETS];
	DECLARE_BITMAP(used, PFQD_RANK_BUCKETS);
};

void pfqd_rank_init(struct pfqd_rank *rank);
void pfqd_rank_set(struct pfqd_rank *rank, struct pfqd_rank_node *node, u32 size);
struct pfqd_rank_node *pfqd_rank_top(struct pfqd_rank *rank);

/* --- flows ------------------------------------------------------------------ */

/* All of it is compared and hashed: no holes, unused parts zero. */
struct pfqd_key {
	struct in6_addr	saddr;		/* IPv4: the first word */
	struct in6_addr	daddr;
	__be32		ports;		/* source, destination; 0: none */
	__be16		l3;		/* ethertype, VLAN tags skipped */
	u8		l4;		/* IP protocol; 0: none */
	u8		fragment;
};

struct pfqd_flow {
	/* the FIFO (pfqd_fifo.c) */
	struct sk_buff		*head;
	struct sk_buff		*tail;
	u32			qlen;
	u8			tier;		/* enum pfqd_tier */
	bool			hashed;		/* in the table: not a shared FIFO */
	struct pfqd_rank_node	bytes;		/* qdisc packet length */
	struct pfqd_rank_node	memory;		/* truesize */

	/* turns (pfqd_sched.c) */
	s32			deficit;	/* bytes left of this turn or the next */
	u64			round;		/* of the next turn, in its tier's ring */
	u64			since;		/* ns: backlogged from then on */
	struct list_head	age;		/* in pfqd_sched.aging, while high */
	struct list_head	link;		/* in a ring, or idle in the table */

	/* the table (pfqd_table.c) */
	struct hlist_node	node;
	u32			hash;
	struct pfqd_key		key;
};

/* --- flow table (pfqd_table.c) ---------------------------------------------- */

#define PFQD_SEGMENT_BUCKETS	(PAGE_SIZE / sizeof(struct hlist_head))

struct pfqd_segment {
	struct hlist_head	bucket[PFQD_SEGMENT_BUCKETS];
};

struct pfqd_table {
	struct pfqd_segment	**segment;	/* made on demand */
	u32			segments;	/* length of that array */
	u32			buckets;	/* in use */
	u32			flows;		/* in the table, idle ones included */
	u32			idle;
	u32			limit;		/* flows, the option */
	struct list_head	idlers;		/* longest idle first */
	struct pfqd_flow	*overflow;	/* the shared FIFOs */
	hsiphash_key_t		secret;
	u64			overflow_packets;
	u64			alloc_failures;
};

int pfqd_table_init(struct pfqd_table *table, u32 limit);
void pfqd_table_destroy(struct pfqd_table *table);
void pfqd_table_purge(struct pfqd_table *table);
struct pfqd_flow *pfqd_table_find(struct pfqd_table *table,
				  const struct pfqd_key *key);
void pfqd_table_idle(struct pfqd_table *table, struct pfqd_flow *flow);

/* Changing `flows` at run time: allocate, swap under the lock, free the rest. */
struct pfqd_segment **pfqd_table_directory(u32 limit);
struct pfqd_segment **pfqd_table_resize(struct pfqd_table *table,
					struct pfqd_segment **directory, u32 limit);

void pfqd_flow_init(struct pfqd_flow *flow);
int pfqd_flow_cache_create(void);
void pfqd_flow_cache_destroy(void);

/* --- classification (pfqd_classify.c) ---------------------------------------- */

/* True for the control tier; false: *key is that of the packet's flow. */
bool pfqd_classify(const struct sk_buff *skb, struct pfqd_key *key);

/* --- rounds (pfqd_ring.c) ---------------------------------------------------- */

/*
 * No packet counts as more than this many turns. 255 turns are 386 KB at a
 * quantum of 1,514 B; a GSO packet of 64 KB is 44 turns.
 */
#define PFQD_RING_SLOTS		256
#define PFQD_TURNS_MAX		(PFQD_RING_SLOTS - 1)

struct pfqd_ring {
	struct list_head	now;		/* still to be served this round */
	u64			round;
	u32			flows;		/* linked, in now or in a slot */
	DECLARE_BITMAP(used, PFQD_RING_SLOTS);	/* slots that may hold flows */
	struct list_head	slot[PFQD_RING_SLOTS];	/* by round, modulo */
};

void pfqd_ring_init(struct pfqd_ring *ring);
void pfqd_ring_add(struct pfqd_ring *ring, struct pfqd_flow *flow, u32 rounds);
void pfqd_ring_del(struct pfqd_ring *ring, struct pfqd_flow *flow);
struct pfqd_flow *pfqd_ring_pop(struct pfqd_ring *ring);
void pfqd_ring_next_round(struct pfqd_ring *ring);
void pfqd_ring_skip_rounds(struct pfqd_ring *ring);

/* --- scheduler (pfqd_sched.c) ------------------------------------------------ */

struct pfqd_sched {
	struct pfqd_flow	control;	/* the control tier's one FIFO */
	struct pfqd_flow	*turn;		/* whose turn it is, in no ring */
	u32			control_left;	/* packets, of this cycle's allowance */
	bool			low_due;	/* this cycle's low turn is to come */
	struct pfqd_ring	high;
	struct pfqd_ring	low;
	struct list_head	aging;		/* high flows by .since */
	u64			cycles;
	u64			demotions;
};

/* --- the qdisc --------------------------------------------------------------- */

struct pfqd_params {
	u32	limit;		/* bytes */
	u32	memlimit;	/* bytes of truesize */
	u32	flows;
	u32	quantum;	/* bytes; 0: from the device's MTU */
	u32	demote;		/* us */
	u32	control;	/* packets a cycle */
};

#define PFQD_SOJOURN_BUCKETS	24
#define PFQD_SOJOURN_SHIFT	10	/* bucket 0 ends at 1024 ns */

struct pfqd_tier_stats {
	u64	packets;
	u64	bytes;
	u32	backlog_packets;
	u32	backlog_bytes;
	u64	sojourn[PFQD_SOJOURN_BUCKETS];
};

struct pfqd_qdisc {
	struct pfqd_params	params;
	u32			quantum;	/* in force, see pfqd_quantum() */

	/* in the FIFOs: what a parent peeked at (gso_skb) is not in them */
	u32			packets;
	u32			flows_active;
	u64			bytes;
	u64			memory;

	struct pfqd_table	table;
	struct pfqd_sched	sched;
	struct pfqd_rank	by_bytes;
	struct pfqd_rank	by_memory;

	struct pfqd_tier_stats	tier[__PFQD_TIER_MAX];
	u64			drops_limit;
	u64			drops_memlimit;
};

/* What the FIFOs remember of a packet, at most 20 bytes in every kernel. */
struct pfqd_skb_cb {
	u64	enqueued;	/* ns */
	u32	memory;		/* truesize then: it may change while queued */
};

static inline struct pfqd_skb_cb *pfqd_cb(const struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct pfqd_skb_cb));
	return (struct pfqd_skb_cb *)qdisc_skb_cb(skb)->data;
}

/* FIFOs and accounting (pfqd_fifo.c) */
void pfqd_fifo_push(struct Qdisc *sch, struct pfqd_flow *flow,
		    struct sk_buff *skb, u64 now);
struct sk_buff *pfqd_fifo_pop(struct Qdisc *sch, struct pfqd_flow *flow);
void pfqd_fifo_set_tier(struct pfqd_qdisc *q, struct pfqd_flow *flow,
			enum pfqd_tier tier);
void pfqd_fifo_free(struct pfqd_flow *flow);
u32 pfqd_segments(const struct sk_buff *skb);

/* Turns (pfqd_sched.c) */
void pfqd_sched_init(struct pfqd_qdisc *q);
void pfqd_sched_join(struct pfqd_qdisc *q, struct pfqd_flow *flow, u64 now);
void pfqd_sched_leave(struct pfqd_qdisc *q, struct pfqd_flow *flow);
void pfqd_sched_age(struct pfqd_qdisc *q, u64 now);
struct pfqd_flow *pfqd_sched_next(struct Qdisc *sch);
void pfqd_sched_served(struct pfqd_qdisc *q, struct pfqd_flow *flow, u32 len);

/* Netlink, and what the parameters mean (pfqd_netlink.c) */
u32 pfqd_quantum(struct Qdisc *sch);
struct pfqd_params pfqd_defaults(void);
int pfqd_parse(struct pfqd_params *params, struct nlattr *opt,
	       struct netlink_ext_ack *extack);
int pfqd_dump(struct Qdisc *sch, struct sk_buff *skb);
int pfqd_dump_stats(struct Qdisc *sch, struct gnet_dump *d);

#endif /* _SCH_PFQD_H */
