/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sch_pfqd, internal: the structures and who owns what.
 *
 * A packet's way in (pfqd_main.c, pfqd_enqueue):
 *
 *   pfqd_gso_split()    with split_gso: the rest is done for each segment
 *   pfqd_classify()     control packet, or the key of its flow
 *   pfqd_stamp()        how many bytes the flow has left: written, or read
 *   pfqd_table_find()   the flow with that key, made when there is none, or
 *                       one of the shared FIFOs when no more can be made
 *   pfqd_fifo_push()    the tail of the flow's FIFO, and all accounting; the
 *                       flow's band is that of its head (pfqd_bands_follow())
 *   pfqd_sched_join()   if the flow was empty: it gets a turn next round
 *   pfqd_trim()         if the qdisc is now over a limit: the fattest flow
 *                       (pfqd_fattest.c) loses from its head
 *
 * and its way out (pfqd_take):
 *
 *   pfqd_sched_age()    flows that have been backlogged too long move to low
 *   pfqd_sched_next()   whose packet is next: control, bands, tiers
 *   pfqd_budget()       a flow with too much queued: its head is marked, or lost
 *   pfqd_fifo_pop()     the head of its FIFO, and all accounting
 *   pfqd_sched_served() the turn goes on or ends; a flow that emptied leaves
 *   pfqd_meter()        how fast is this queue drained? (pfqd_rate.c)
 *
 * Everything runs under the root lock of the tree. What a dump reads is written
 * by pfqd_add() or WRITE_ONCE(), because dumps do not take that lock.
 */
#ifndef _SCH_PFQD_H
#define _SCH_PFQD_H

#include <linux/list.h>
#include <linux/pfqd_stamp.h>
#include <linux/pkt_sch_pfqd.h>
#include <linux/siphash.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>

struct pfqd_qdisc;

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

/*
 * Flows that emptied are kept for so long, so that who sends now and then does not
 * allocate for every packet. fq keeps them for 3 s; a round trip is what it takes.
 */
#define PFQD_IDLE_NS		NSEC_PER_SEC
/* Of those that are older, how many are freed when another one empties. */
#define PFQD_IDLE_FREED		2

/* Demotions a dequeue, so that many flows that age at once do not stall it. */
#define PFQD_DEMOTIONS_MAX	16

/* --- fattest flow (pfqd_fattest.c) ----------------------------------------- */

#define PFQD_RANK_SHIFT		6	/* sizes are ranked in units of 64 B */
#define PFQD_RANK_BUCKETS	200	/* 8 an octave, up to 2^32 - 1 B */

/*
 * A flow's place among all flows by one measure; bucket 0 is "not ranked": what
 * holds no more than a turn is not fat.
 */
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
void pfqd_rank_set(struct pfqd_rank *rank, struct pfqd_rank_node *node, u32 size,
		   u32 slim);
struct pfqd_rank_node *pfqd_rank_top(struct pfqd_rank *rank);

/* The size has changed. Slim and not ranked, as sparse flows are: nothing to do. */
static inline void pfqd_rank_update(struct pfqd_rank *rank, struct pfqd_rank_node *node,
				    u32 size, u32 slim)
{
	if (size <= slim && !node->bucket)
		node->size = size;
	else
		pfqd_rank_set(rank, node, size, slim);
}

/* --- flows ------------------------------------------------------------------ */

/* All of it is compared, as words: no holes, unused parts zero. */
struct pfqd_key {
	struct in6_addr	saddr;		/* IPv4: the first word */
	struct in6_addr	daddr;
	__be32		ports;		/* source, destination; 0: none */
	__be16		l3;		/* ethertype, VLAN tags skipped */
	u8		l4;		/* IP protocol; 0: none */
	u8		fragment;
} __aligned(sizeof(u64));

/* A flow's place in a ring of turns (pfqd_ring.c), and what it may send in one. */
struct pfqd_place {
	struct list_head	link;
	u64			round;		/* of the next turn, in that ring */
	s32			deficit;	/* bytes left of this turn or the next */
};

/*
 * Lines of a cache: what finds it; what serves it; what is looked at when it becomes
 * or stops being backlogged, and what is counted; its place among the bands.
 */
struct pfqd_flow {
	/* the table (pfqd_table.c) */
	struct hlist_node	node;
	struct pfqd_key		key;
	u32			hash;
	u32			qlen;

	/* the FIFO (pfqd_fifo.c) and turns (pfqd_sched.c) */
	struct sk_buff		*head;
	struct sk_buff		*tail;
	struct pfqd_place	turn;		/* in its tier; or idle in the table */
	struct list_head	age;		/* in pfqd_sched.aging, while high */

	u64			since;		/* ns: backlogged, or idle, from then on */
	struct pfqd_rank_node	bytes;		/* qdisc packet length */
	struct pfqd_rank_node	memory;		/* truesize */
	u8			tier;		/* enum pfqd_tier */
	bool			hashed;		/* in the table: not a shared FIFO */
	u8			band;		/* of the head; PFQD_BAND_NONE: it has none */
	u8			banded_in;	/* the band whose ring banded.round is of */

	struct pfqd_place	banded;		/* in its band (pfqd_bands.c) */
} ____cacheline_aligned;

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
	struct pfqd_flow	*last;		/* found last: packets come in bursts */
	hsiphash_key_t		secret;
	u64			overflow_packets;
	u64			alloc_failures;
};

static inline struct hlist_head *pfqd_bucket(const struct pfqd_table *table, u32 index)
{
	return &table->segment[index / PFQD_SEGMENT_BUCKETS]
			->bucket[index % PFQD_SEGMENT_BUCKETS];
}

int pfqd_table_init(struct pfqd_table *table, u32 limit);
void pfqd_table_destroy(struct pfqd_table *table);
void pfqd_table_purge(struct pfqd_table *table);
struct pfqd_flow *pfqd_table_find(struct pfqd_table *table,
				  const struct pfqd_key *key, bool crowded);
void pfqd_table_idle(struct pfqd_table *table, struct pfqd_flow *flow, u64 now);

/* Changing `flows` at run time: allocate, swap under the lock, free the rest. */
struct pfqd_segment **pfqd_table_directory(u32 limit);
struct pfqd_segment **pfqd_table_resize(struct pfqd_table *table,
					struct pfqd_segment **directory, u32 limit);

void pfqd_flow_init(struct pfqd_flow *flow);
int pfqd_flow_cache_create(void);
void pfqd_flow_cache_destroy(void);

/* --- classification (pfqd_classify.c) ---------------------------------------- */

/* What is read of a packet when it is queued. */
struct pfqd_packet {
	struct pfqd_key	key;		/* of its flow */
	bool		control;	/* for the control tier */
	int		network;	/* offset of the network header from skb->data */
	int		tcp;		/* that of the outer TCP header; 0: it is not TCP,
					 * or a fragment
					 */
	int		dsfield;	/* -1: not IP */
};

void pfqd_classify(const struct sk_buff *skb, struct pfqd_packet *packet);

/* The protocol behind VLAN tags, and where its header is, from skb->data. */
__be16 pfqd_network_header(const struct sk_buff *skb, int *at);

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
void pfqd_ring_add(struct pfqd_ring *ring, struct pfqd_place *place, u32 rounds);
void pfqd_ring_del(struct pfqd_ring *ring, struct pfqd_place *place);
struct pfqd_place *pfqd_ring_pop(struct pfqd_ring *ring);
struct pfqd_place *pfqd_ring_peek(struct pfqd_ring *ring);
u32 pfqd_ring_wait(const struct pfqd_ring *ring, const struct pfqd_place *place);
void pfqd_ring_next_round(struct pfqd_ring *ring);
void pfqd_ring_skip_rounds(struct pfqd_ring *ring);
void pfqd_ring_forgive(struct pfqd_ring *ring);

/* --- bands (pfqd_bands.c) ----------------------------------------------------- */

struct pfqd_bands {
	struct pfqd_ring	ring[PFQD_BANDS];
};

struct pfqd_bands *pfqd_bands_alloc(void);
void pfqd_bands_init(struct pfqd_qdisc *q);
void pfqd_bands_follow(struct pfqd_qdisc *q, struct pfqd_flow *flow);
void pfqd_bands_forgive(struct pfqd_qdisc *q);
void pfqd_bands_file(struct pfqd_qdisc *q, struct pfqd_flow *flow, u32 rounds);
struct pfqd_flow *pfqd_bands_pop(struct pfqd_qdisc *q);

/* --- scheduler (pfqd_sched.c) ------------------------------------------------ */

struct pfqd_sched {
	struct pfqd_flow	control;	/* the control tier's one FIFO */
	struct pfqd_flow	*turn;		/* whose turn it is, not in that ring */
	u8			turn_band;	/* for its band; PFQD_BAND_NONE: for its tier */
	bool			low_due;	/* this round's low turn is to come */
	bool			owed;		/* somebody has had more than a turn at once */
	u32			control_left;	/* packets, of this cycle's allowance */
	u32			serves_left;	/* of this cycle */
	s32			streak;		/* turns given to bands in a row */
	u32			bands;		/* a bit for each band that has flows */
	struct pfqd_ring	high;
	struct pfqd_ring	low;
	struct list_head	aging;		/* high flows by .since */
	u64			cycles;
	u64			demotions;
	u64			serves_banded;
	u64			serves_ordinary;
};

/* --- rate (pfqd_rate.c) ------------------------------------------------------- */

struct pfqd_rate {
	u64			bps;		/* bytes/s in force */
	enum pfqd_rate_source	source;
	u64			link;		/* bytes/s; 0: unknown, or a fiction */
	u64			measured;	/* bytes/s; 0: not yet */
	struct Qdisc		*sch;		/* while it is among the instances */
	struct list_head	instance;

	bool			metering;
	bool			ring_full;	/* the window is not the first one */
	u64			window;		/* ns: when it began; 0: there is none */
	u64			window_bytes;
};

void pfqd_rate_init(struct Qdisc *sch);
void pfqd_rate_destroy(struct pfqd_qdisc *q);
void pfqd_rate_update(struct Qdisc *sch);
void pfqd_meter(struct Qdisc *sch, u32 len, u64 now);
int pfqd_links_start(void);
void pfqd_links_stop(void);

/* --- the qdisc --------------------------------------------------------------- */

/* Units as in the uapi header. */
struct pfqd_params {
	u32	limit;
	u32	memlimit;
	u32	flows;
	u32	quantum;	/* 0: from the device's MTU */
	u32	demote;
	u32	control;
	u64	budget[__PFQD_RTT_MAX];
	u64	rate;		/* 0: found out */
	u8	ecn;
	u8	split_gso;
	u8	completion;	/* enum pfqd_switch, as is stamp */
	u8	stamp;
};

#define PFQD_SOJOURN_BUCKETS	24
#define PFQD_SOJOURN_SHIFT	10	/* bucket 0 ends at 1024 ns */

struct pfqd_served {
	u64	packets;
	u64	bytes;
	u64	sojourn[PFQD_SOJOURN_BUCKETS];
};

struct pfqd_tier_stats {
	struct pfqd_served	served;
	u32			backlog_packets;
	u32			backlog_bytes;
};

struct pfqd_class_stats {
	u64	packets;
	u64	bytes;
	u64	marks;
	u64	drops;
};

struct pfqd_qdisc {
	struct pfqd_params	params;
	u32			quantum;	/* in force, see pfqd_quantum() */

	/* in the FIFOs: what a parent peeked at (gso_skb) is not in them */
	u32			packets;
	u32			banded;		/* of these, those with a band */
	u32			flows_active;
	u64			bytes;
	u64			memory;

	struct pfqd_table	table;
	struct pfqd_sched	sched;
	struct pfqd_bands	*bands;
	struct pfqd_rank	by_bytes;
	struct pfqd_rank	by_memory;
	struct pfqd_rate	rate;
	u64			budget[__PFQD_RTT_MAX];	/* bytes, of all flows */

	struct pfqd_tier_stats	tier[__PFQD_TIER_MAX];
	struct pfqd_served	band[PFQD_BANDS + 1];	/* the last one: no band */
	struct pfqd_class_stats	class[__PFQD_RTT_MAX];
	u64			stamps;
	u64			stamp_failures;
	u64			drops_limit;
	u64			drops_memlimit;
	u64			drops_budget;
	u64			unmarkable;
	u64			marks;
	u64			segmented;
};

/* What the FIFOs remember of a packet, at most 20 bytes in every kernel. */
struct pfqd_skb_cb {
	u64	enqueued;	/* ns */
	u32	memory;		/* truesize then: it may change while queued */
	u8	band;		/* PFQD_BAND_NONE also where stamps are not read */
	u8	class;		/* enum pfqd_rtt_class, likewise */
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
void pfqd_sched_leave(struct pfqd_qdisc *q, struct pfqd_flow *flow, u64 now);
void pfqd_sched_age(struct pfqd_qdisc *q, u64 now);
struct pfqd_flow *pfqd_sched_oldest(struct pfqd_qdisc *q);
struct pfqd_flow *pfqd_sched_next(struct Qdisc *sch);
void pfqd_sched_served(struct pfqd_qdisc *q, struct pfqd_flow *flow, u32 len,
		       u64 now);

/* The congestion signal (pfqd_budget.c) */
void pfqd_budget(struct Qdisc *sch, struct pfqd_flow *flow);

/* split_gso (pfqd_gso.c) */
struct sk_buff *pfqd_gso_split(struct sk_buff *skb);

/* The stamp (pfqd_stamp.c) */
void pfqd_stamp(struct pfqd_qdisc *q, struct sk_buff *skb,
		const struct pfqd_packet *packet);

/* The module's parameters, and what an interface makes of them (pfqd_main.c) */
extern bool pfqd_completion_param;
extern bool pfqd_stamp_param;

static inline enum pfqd_switch pfqd_switch(u8 own, bool param)
{
	return own == PFQD_SWITCH_INHERIT ? (enum pfqd_switch)param : own;
}

/* Whether stamps are read. */
static inline bool pfqd_completion(const struct pfqd_qdisc *q)
{
	return pfqd_switch(READ_ONCE(q->params.completion),
			   READ_ONCE(pfqd_completion_param)) == PFQD_SWITCH_ON;
}

/* Whether this host's packets are stamped: off, on or local. */
static inline enum pfqd_switch pfqd_stamping(const struct pfqd_qdisc *q)
{
	return pfqd_switch(READ_ONCE(q->params.stamp), READ_ONCE(pfqd_stamp_param));
}

/* Netlink, and what the parameters mean (pfqd_netlink.c) */
u32 pfqd_quantum(struct Qdisc *sch);
struct pfqd_params pfqd_defaults(void);
int pfqd_parse(struct pfqd_params *params, struct nlattr *opt,
	       struct netlink_ext_ack *extack);
int pfqd_dump(struct Qdisc *sch, struct sk_buff *skb);

/* Statistics (pfqd_stats.c), and flows as classes (pfqd_class.c) */
int pfqd_dump_stats(struct Qdisc *sch, struct gnet_dump *d);
extern const struct Qdisc_class_ops pfqd_class_ops;

#endif /* _SCH_PFQD_H */
