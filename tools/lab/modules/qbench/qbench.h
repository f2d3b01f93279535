/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * qbench: what do one enqueue and one dequeue of a qdisc cost?
 *
 * The qdisc is real and set on a real device through netlink (qbench_netdev.c);
 * the device's transmit queue is stopped, so the core leaves the qdisc alone and
 * this module does what __dev_xmit_skb() and dequeue_skb() do: call ->enqueue()
 * and ->dequeue() under the root lock with bottom halves off (qbench_run.c).
 *
 * A packet is dressed (qbench_packet.c) right before it is enqueued, in batches:
 * like one that the stack has just built, its headers, its sk_buff and its socket
 * are in the cache, and that work is outside of what is measured, as are all
 * allocations of packets: the packets of a bench are made once and used again.
 * Dequeued packets are kept until the backlog is gone.
 *
 * The clock is the time stamp counter, read once before and once after a batch.
 */
#ifndef QBENCH_H
#define QBENCH_H

#include <linux/lab_qbench.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/types.h>

struct socket;

/* Where a flow's packets come from: a socket of ours, or just a tuple. */
struct qbench_flow {
	struct socket	*sock;		/* NULL: forwarded */
	__be32		saddr;
	__be32		daddr;
	__be16		sport;
	__be16		dport;
	u32		hash;		/* as a NIC would give it */
};

/* One open file. */
struct qbench {
	struct mutex		lock;		/* one call at a time */
	struct qbench_flow	*owned;
	u32			owned_count;
	struct qbench_flow	*forwarded;	/* QBENCH_MAX_FLOWS, made on demand */
	struct sk_buff		**pool;		/* the packets, each at its index */
	u32			pool_size;
};

/* Until loads and stores before it are done; and nothing after it has begun. */
static inline u64 qbench_ticks(void)
{
	u32 low, high;

	asm volatile("mfence; lfence; rdtsc; lfence" : "=a" (low), "=d" (high) :: "memory");
	return (u64)high << 32 | low;
}

/* qbench_packet.c */
int qbench_set_sockets(struct qbench *bench, const struct qbench_sockets *sockets);
void qbench_release_flows(struct qbench *bench);
const struct qbench_flow *qbench_flows(struct qbench *bench,
				       const struct qbench_run *run);
int qbench_pool_fill(struct qbench *bench, u32 packets);
void qbench_pool_free(struct qbench *bench);
struct sk_buff *qbench_pool_dress(struct qbench *bench, u32 index,
				  struct net_device *dev, enum qbench_packets kind,
				  const struct qbench_flow *flow);
void qbench_pool_return(struct qbench *bench, struct sk_buff *skb);

/* qbench_run.c */
int qbench_run(struct qbench *bench, struct qbench_run *run);
void qbench_read_clocks(struct qbench_clocks *clocks);

/* qbench_netdev.c */
extern struct rtnl_link_ops qbench_link_ops;

#endif /* QBENCH_H */
