/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * wire: a point-to-point Ethernet link in exact (virtual) time, for the lab.
 *
 * The story of a frame:
 *
 *   wire_netdev.c	the stack hands it to wire_xmit(), which queues it in the
 *			ring of its hardware queue; BQL stops the stack's queue
 *			when the ring holds more than IFLA_LAB_WIRE_RING bytes
 *   wire_tx.c		the transmitter takes one frame at a time, round-robin
 *			over the rings, for as long as its bits last; at the end
 *			the sender gets its memory back and BQL is told
 *   wire_rx.c		the other end works out when the frame goes up: at its
 *			arrival, or held back by interrupt moderation; a timer
 *			hands it, as freshly received, to GRO or the stack
 *   wire_frame.c	what the wire must know of a frame: data or not, may it
 *			be held; and what a receiver must not see of the sender
 *   wire_link.c	rtnetlink: the pair's birth, change, report and death
 *   wire_stats.c	counters to rtnetlink, ethtool and ip -s link
 *
 * Two timers an end, none per frame; a frame waits in its own skb's list
 * pointers, its times in skb->cb. Both timers are soft hrtimers, so that what
 * they call runs as it would in a NIC's softirq.
 *
 * Locks: wire_tx.lock and wire_rx.lock, never one end's two together; a
 * transmitter hands over to the peer's receiver with neither of its own held.
 */
#ifndef _LAB_WIRE_MODULE_H
#define _LAB_WIRE_MODULE_H

#include <linux/hrtimer.h>
#include <linux/lab_wire.h>
#include <linux/math64.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>

#ifndef CONFIG_BQL
#error "wire needs CONFIG_BQL: a ring's size is a BQL limit"
#endif

#define WIRE_KIND		"wire"

#define WIRE_RATE_MIN		1000ULL			/* bit/s */
#define WIRE_RATE_MAX		10000000000000ULL	/* bit/s; a fraction's sum fits 64 bits */
#define WIRE_RATE_DEFAULT	25000000000ULL		/* bit/s; paper 3.4 */
#define WIRE_DELAY_MAX		10000000000ULL		/* ns */
#define WIRE_DELAY_DEFAULT	1000			/* ns; design.md 4 */
#define WIRE_RING_MAX		1073741824ULL		/* bytes; below DQL_MAX_LIMIT */
#define WIRE_RING_SLACK		1048576			/* bytes; for senders that bypass qdiscs */
#define WIRE_LOSS_MAX		1000000			/* ppm */
#define WIRE_HOLD_MAX		NSEC_PER_SEC		/* ns, moderation and lateness */
#define WIRE_QUEUES_MAX		256

/**
 * struct wire_time - an instant, exact
 * @ns: whole nanoseconds of CLOCK_MONOTONIC
 * @part: what is left, in 1/rate of a nanosecond; below the rate
 */
struct wire_time {
	u64 ns;
	u64 part;
};

/* The first nanosecond that is not before the instant: when its timer fires. */
static inline u64 wire_time_ceil(struct wire_time time)
{
	return time.ns + (time.part != 0);
}

/* A random stream, <linux/lab_wire.h> */
struct wire_random {
	u64 state;
};

static inline void wire_random_seed(struct wire_random *random, u32 seed, u32 stream)
{
	random->state = seed ^ ((u64)stream << 32);
}

static inline u32 wire_random_u32(struct wire_random *random)
{
	u64 z;

	random->state += 0x9e3779b97f4a7c15ULL;
	z = random->state;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (z ^ (z >> 31)) >> 32;
}

/* Uniform in 0 .. below - 1, without a division. */
static inline u32 wire_random_below(struct wire_random *random, u32 below)
{
	return ((u64)wire_random_u32(random) * below) >> 32;
}

struct wire_ring {
	struct sk_buff_head frames;
	u32 bytes;			/* wire bytes, the frame on the wire included */
};

struct wire_tx_stats {
	u64 frames;
	u64 bytes;
	u64 wire_bytes;
	u64 data;
	u64 lost;
	u64 peer_down;
	u64 refused;
	u64 purged;
};

/**
 * struct wire_tx - the transmitter of one end
 * @lock: guards all that follows
 * @timer: the end of the frame on the wire
 * @up: frames are taken
 * @on_wire: the frame being serialised
 * @on_wire_ring: the ring it came from
 * @free: when the last frame ended or will end
 * @rings: one for each hardware queue
 * @last_ring: the one served last
 */
struct wire_tx {
	spinlock_t lock; /* of the whole transmitter */
	struct hrtimer timer;
	bool up;
	struct sk_buff *on_wire;
	u32 on_wire_ring;
	struct wire_time free;
	struct wire_ring *rings;
	u32 ring_count;
	u32 last_ring;
	u64 rate;
	u64 delay;
	u32 ring_limit;
	u32 loss;
	struct wire_random random;
	struct wire_tx_stats stats;
};

struct wire_rx_stats {
	u64 frames;
	u64 bytes;
	u64 batches;
	u64 held;
	u64 flushed;
	u64 oversize;
	u64 no_memory;
	u64 purged;
	u64 vanished;	/* lost on the way here: what a real port counts as bad CRC */
};

/**
 * struct wire_rx - the receiver of one end
 * @lock: guards all that follows
 * @timer: the next hand-over
 * @up: frames are taken
 * @queue: frames on their way or held, in order of arrival
 * @last_interrupt: of the newest frames in @queue, or of the last that went up
 * @last_arrival: of the newest frame; a frame never overtakes another
 * @late: lateness drawn for the next hand-over
 * @late_drawn: there is one
 */
struct wire_rx {
	spinlock_t lock; /* of the whole receiver */
	struct hrtimer timer;
	bool up;
	struct sk_buff_head queue;
	u64 last_interrupt;
	u64 last_arrival;
	u32 late;
	bool late_drawn;
	u32 moderation;
	u8 mode;
	u32 lateness;
	struct wire_random random;
	struct wire_rx_stats stats;
};

/* One end, the netdev's private data. */
struct wire_end {
	struct net_device *dev;
	struct wire_end __rcu *peer;
	u32 seed;
	struct wire_tx tx;
	struct wire_rx rx;
	struct napi_struct napi;	/* never scheduled: GRO's state */
};

/* What a frame turned out to be, wire_frame_class(). */
#define WIRE_FRAME_DATA	BIT(0)	/* TCP with payload, or UDP */
#define WIRE_FRAME_BULK	BIT(1)	/* full-sized TCP without PSH, or a pure ACK */

static inline u32 wire_frame_bytes(const struct sk_buff *skb)
{
	return max_t(u32, skb->len + LAB_WIRE_OVERHEAD, LAB_WIRE_MIN_FRAME);
}

/* wire_frame.c */
u32 wire_frame_class(const struct sk_buff *skb, u32 mtu);
bool wire_frame_freshen(struct sk_buff *skb, struct net_device *dev);

/* wire_tx.c */
void wire_tx_init(struct wire_end *end);
netdev_tx_t wire_tx_frame(struct wire_end *end, struct sk_buff *skb);
void wire_tx_start(struct wire_end *end);
void wire_tx_stop(struct wire_end *end);
void wire_tx_set_rate(struct wire_tx *tx, u64 rate);
void wire_tx_set_ring(struct wire_end *end, u32 limit);

/* wire_rx.c */
void wire_rx_init(struct wire_end *end);
int wire_rx_poll(struct napi_struct *napi, int budget);
bool wire_rx_frame(struct wire_end *end, struct sk_buff *skb, u64 arrival, u32 class);
void wire_rx_vanished(struct wire_end *end);
void wire_rx_start(struct wire_end *end);
void wire_rx_stop(struct wire_end *end);

/* wire_netdev.c */
void wire_netdev_setup(struct net_device *dev);
void wire_netdev_set_gro(struct net_device *dev, bool on);

/* wire_stats.c */
extern const struct ethtool_ops wire_ethtool_ops;
void wire_get_stats64(struct net_device *dev, struct rtnl_link_stats64 *out);
size_t wire_xstats_size(const struct net_device *dev);
int wire_fill_xstats(struct sk_buff *skb, const struct net_device *dev);

#endif /* _LAB_WIRE_MODULE_H */
