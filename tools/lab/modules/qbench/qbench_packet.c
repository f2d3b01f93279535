// SPDX-License-Identifier: GPL-2.0-only
/*
 * qbench packets: full-sized TCP segments that look like those of the stack.
 *
 * Owned: skb->sk is the established socket, the ports are its own, hash and
 * departure time are as TCP sets them, and the packet is charged to the socket's
 * send buffer. Forwarded: the same headers without a socket, skb_iif set, and
 * skb->hash as the receiving NIC left it, or none.
 *
 * skb->mark holds the packet's place in the pool; no qdisc here looks at it.
 */
#include <linux/etherdevice.h>
#include <linux/file.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/jhash.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/uaccess.h>
#include <net/ip.h>
#include <net/sch_generic.h>
#include <net/tcp.h>

#include "qbench.h"

#define QBENCH_FRAME		(ETH_HLEN + ETH_DATA_LEN)
#define QBENCH_HEADROOM		(NET_SKB_PAD + NET_IP_ALIGN)
#define QBENCH_FIRST_SADDR	0x0a800000	/* 10.128.0.0: of forwarded flows */
#define QBENCH_DADDR		0x0ac00001	/* 10.192.0.1 */
#define QBENCH_DPORT		4000
#define QBENCH_PORTS		16384		/* forwarded flows of one address */
#define QBENCH_FIRST_PORT	32768

/* --- flows ---------------------------------------------------------------------- */

static int qbench_take_socket(struct qbench_flow *flow, int fd)
{
	const struct inet_sock *inet;
	struct sock *sk;
	int err;

	flow->sock = sockfd_lookup(fd, &err);
	if (!flow->sock)
		return err;
	sk = flow->sock->sk;
	if (sk->sk_family != AF_INET || !sk_is_tcp(sk) ||
	    sk->sk_state != TCP_ESTABLISHED)
		return -EINVAL;
	inet = inet_sk(sk);
	flow->saddr = inet->inet_saddr;
	flow->daddr = inet->inet_daddr;
	flow->sport = inet->inet_sport;
	flow->dport = inet->inet_dport;
	return 0;
}

static void qbench_put_sockets(struct qbench *bench)
{
	u32 i;

	for (i = 0; i < bench->owned_count; i++) {
		if (bench->owned[i].sock)
			sockfd_put(bench->owned[i].sock);
	}
	kvfree(bench->owned);
	bench->owned = NULL;
	bench->owned_count = 0;
}

int qbench_set_sockets(struct qbench *bench, const struct qbench_sockets *sockets)
{
	const __s32 __user *fds = u64_to_user_ptr(sockets->fds);
	int err = 0;
	__s32 fd;
	u32 i;

	if (bench->owned)
		return -EBUSY;
	if (!sockets->count || sockets->count > QBENCH_MAX_FLOWS || sockets->pad)
		return -EINVAL;
	bench->owned = kvcalloc(sockets->count, sizeof(*bench->owned), GFP_KERNEL);
	if (!bench->owned)
		return -ENOMEM;
	bench->owned_count = sockets->count;
	for (i = 0; !err && i < sockets->count; i++) {
		err = get_user(fd, &fds[i]);
		if (!err)
			err = qbench_take_socket(&bench->owned[i], fd);
	}
	if (err)
		qbench_put_sockets(bench);
	return err;
}

static struct qbench_flow *qbench_make_forwarded(void)
{
	struct qbench_flow *flows, *flow;
	u32 i;

	flows = kvcalloc(QBENCH_MAX_FLOWS, sizeof(*flows), GFP_KERNEL);
	if (!flows)
		return NULL;
	for (i = 0; i < QBENCH_MAX_FLOWS; i++) {
		flow = &flows[i];
		flow->saddr = htonl(QBENCH_FIRST_SADDR + 1 + i / QBENCH_PORTS);
		flow->daddr = htonl(QBENCH_DADDR);
		flow->sport = htons(QBENCH_FIRST_PORT + i % QBENCH_PORTS);
		flow->dport = htons(QBENCH_DPORT);
		flow->hash = jhash_3words((__force u32)flow->saddr,
					  (__force u32)flow->daddr,
					  (__force u32)flow->sport, 0) ?: 1;
	}
	return flows;
}

/* NULL: no memory. Owned: the caller has checked that there are enough. */
const struct qbench_flow *qbench_flows(struct qbench *bench,
				       const struct qbench_run *run)
{
	if (run->kind == QBENCH_OWNED)
		return bench->owned;
	if (!bench->forwarded)
		bench->forwarded = qbench_make_forwarded();
	return bench->forwarded;
}

void qbench_release_flows(struct qbench *bench)
{
	qbench_put_sockets(bench);
	kvfree(bench->forwarded);
	bench->forwarded = NULL;
}

/* --- packets -------------------------------------------------------------------- */

/* Headers are written by dressing, once for each use; the rest is zero. */
static struct sk_buff *qbench_make_packet(void)
{
	struct sk_buff *skb = alloc_skb(QBENCH_HEADROOM + QBENCH_FRAME, GFP_KERNEL);

	if (!skb)
		return NULL;
	skb_reserve(skb, QBENCH_HEADROOM);
	skb_put_zero(skb, QBENCH_FRAME);
	skb_reset_mac_header(skb);
	skb_set_network_header(skb, ETH_HLEN);
	skb_set_transport_header(skb, ETH_HLEN + sizeof(struct iphdr));
	skb->protocol = htons(ETH_P_IP);
	return skb;
}

/* What a run has lost (a qdisc dropped or kept it) is made anew. */
int qbench_pool_fill(struct qbench *bench, u32 packets)
{
	u32 i;

	if (!bench->pool) {
		bench->pool = kvcalloc(QBENCH_MAX_PACKETS, sizeof(*bench->pool),
				       GFP_KERNEL);
		if (!bench->pool)
			return -ENOMEM;
	}
	bench->pool_size = max(bench->pool_size, packets);
	for (i = 0; i < packets; i++) {
		if (!bench->pool[i])
			bench->pool[i] = qbench_make_packet();
		if (!bench->pool[i])
			return -ENOMEM;
	}
	return 0;
}

void qbench_pool_free(struct qbench *bench)
{
	u32 i;

	for (i = 0; i < bench->pool_size; i++)
		kfree_skb(bench->pool[i]);
	kvfree(bench->pool);
	bench->pool = NULL;
	bench->pool_size = 0;
}

static void qbench_write_headers(struct sk_buff *skb, const struct qbench_flow *flow,
				 u32 index)
{
	struct ethhdr *eth = eth_hdr(skb);
	struct iphdr *ip = ip_hdr(skb);
	struct tcphdr *tcp = tcp_hdr(skb);

	eth->h_proto = htons(ETH_P_IP);
	memcpy(eth->h_source, skb->dev->dev_addr, ETH_ALEN);
	eth_broadcast_addr(eth->h_dest);

	ip->version = 4;
	ip->ihl = sizeof(*ip) / 4;
	ip->tos = 0;
	ip->tot_len = htons(ETH_DATA_LEN);
	ip->frag_off = htons(IP_DF);
	ip->ttl = 64;
	ip->protocol = IPPROTO_TCP;
	ip->saddr = flow->saddr;
	ip->daddr = flow->daddr;
	ip_send_check(ip);

	tcp->source = flow->sport;
	tcp->dest = flow->dport;
	tcp->seq = htonl(index * ETH_DATA_LEN);
	tcp->doff = sizeof(*tcp) / 4;
	tcp->ack = 1;
}

static void qbench_set_owner(struct sk_buff *skb, struct sock *sk)
{
	skb->skb_iif = 0;
	skb_set_hash_from_sk(skb, sk);
	/* CLOCK_MONOTONIC, and no later than now: TCP does not pace it */
	skb_set_delivery_time(skb, tcp_sk(sk)->tcp_mstamp * NSEC_PER_USEC, 1);
	skb_set_owner_w(skb, sk);
}

/* What skb_scrub_packet() and the bridge leave of a packet that came in. */
static void qbench_set_forwarded(struct sk_buff *skb, u32 hash)
{
	skb->skb_iif = LOOPBACK_IFINDEX;
	skb->tstamp = 0;
	if (hash)
		skb_set_hash(skb, hash, PKT_HASH_TYPE_L4);
}

/* The packet out of the pool, ready to be enqueued. */
struct sk_buff *qbench_pool_dress(struct qbench *bench, u32 index,
				  struct net_device *dev, enum qbench_packets kind,
				  const struct qbench_flow *flow)
{
	struct sk_buff *skb = bench->pool[index];

	bench->pool[index] = NULL;
	skb->next = NULL;
	skb->prev = NULL;
	skb->dev = dev;
	skb->mark = index;
	skb->priority = 0;
	skb_clear_hash(skb);
	qbench_write_headers(skb, flow, index);
	if (kind == QBENCH_OWNED)
		qbench_set_owner(skb, flow->sock->sk);
	else
		qbench_set_forwarded(skb, kind == QBENCH_FORWARDED ? flow->hash : 0);

	/* as qdisc_pkt_len_init() */
	qdisc_skb_cb(skb)->pkt_len = skb->len;
#ifdef QBENCH_HAVE_PKT_SEGS
	qdisc_skb_cb(skb)->pkt_segs = 1;
#endif
	return skb;
}

void qbench_pool_return(struct qbench *bench, struct sk_buff *skb)
{
	skb_orphan(skb);
	bench->pool[skb->mark] = skb;
}
