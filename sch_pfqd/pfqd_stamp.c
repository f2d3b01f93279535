// SPDX-License-Identifier: GPL-2.0-only
/*
 * The stamp: how many bytes has the flow left, and is its path a short one?
 *
 * The host knows what no switch can: the socket holds all that the application has
 * written, so what is left behind a segment is write_seq - end_seq. Its band and
 * the connection's RTT class go into the packet's DSCP (uapi/linux/pfqd_stamp.h),
 * once, when it is queued; every pfqd on the way reads them there, this one first.
 *
 * Stamped is every TCP packet of a full socket, SYNs and pure ACKs included, whose
 * DSCP is 0 - what an application has set stays - and whose ports are the socket's:
 * behind a tunnel the socket is that of the packet inside, and the header outside
 * is none of its business. Requests, listeners and TIME_WAIT have no write_seq.
 * Whose network namespace the socket is in does not matter: a bridge does not part
 * a container's packets from their socket, routing does.
 *
 * write_seq is read without the socket's lock. It only grows, so a stale one says
 * less than is left, by what the application is just writing. A GSO packet has one
 * header for all its segments: the first one's.
 *
 * Inside a write nobody knows what is left: TCP sends full segments while it still
 * copies, and each of them is the last that is there (pfqd_written_since_push()).
 *
 * With `local` the packet stays as it is, and only this queue knows.
 */
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <net/dsfield.h>
#include <net/tcp.h>
#include "pfqd.h"

/* --- what the host knows -------------------------------------------------------- */

/* The packet's own socket; NULL if it has none that knows how much is left. */
static const struct tcp_sock *pfqd_sender(const struct sk_buff *skb,
					  const struct tcphdr *tcp)
{
	const struct sock *sk = skb->sk;

	if (!sk || !sk_fullsock(sk) || !sk_is_tcp(sk) ||
	    READ_ONCE(sk->sk_state) == TCP_LISTEN)
		return NULL;
	if (tcp->source != READ_ONCE(inet_sk(sk)->inet_sport) ||
	    tcp->dest != READ_ONCE(inet_sk(sk)->inet_dport))
		return NULL;
	return tcp_sk(sk);
}

/*
 * A packet that ends what has been written, without the PSH that TCP sets at the end
 * of a write, leaves in the middle of one: more is coming, and not even the socket
 * knows how much. Message sizes have heavy tails, so the longer a write has gone on the
 * more of it there is: it is taken to have twice as much to come. Zero, which is what
 * is left at this instant, would make the first window of every large message look as
 * if it were nearly done (Documentation/sch_pfqd.rst has the figures).
 */
#define PFQD_WRITE_AHEAD	2

static u32 pfqd_written_since_push(const struct tcp_sock *tp, u32 write_seq)
{
	return write_seq - READ_ONCE(tp->pushed_seq);
}

/* Bytes behind the packet, a GSO packet's first segment. l4: offset of the TCP. */
static u32 pfqd_bytes_left(const struct sk_buff *skb, int l4, const struct tcphdr *tcp,
			   const struct tcp_sock *tp)
{
	u32 payload = max((int)skb->len - l4 - tcp->doff * 4, 0);
	u32 write_seq = READ_ONCE(tp->write_seq), seq = ntohl(tcp->seq) + tcp->syn;
	int left;

	if (skb_is_gso(skb) && payload > skb_shinfo(skb)->gso_size)
		left = write_seq - seq - skb_shinfo(skb)->gso_size;
	else
		left = write_seq - seq - payload - tcp->fin;
	if (payload && !tcp->psh && !tcp->fin && seq + payload == write_seq)
		left += PFQD_WRITE_AHEAD * pfqd_written_since_push(tp, write_seq);
	return max(left, 0);
}

static u8 pfqd_band_of(u32 left)
{
	static const u32 edges[] = PFQD_BAND_EDGES;
	u8 band;

	BUILD_BUG_ON(ARRAY_SIZE(edges) != PFQD_BANDS - 1);

	for (band = 0; band < ARRAY_SIZE(edges) && left > edges[band]; band++)
		;
	return band;
}

/* ~0 is TCP's word for "no sample yet". */
static enum pfqd_rtt_class pfqd_class_of(const struct tcp_sock *tp)
{
	/* written under the socket's lock, which is not ours: any recent value will do */
	u32 min_rtt = data_race(tcp_min_rtt(tp));

	return min_rtt != ~0U && min_rtt >= PFQD_RTT_LONG_US ? PFQD_RTT_LONG :
							       PFQD_RTT_SHORT;
}

static bool pfqd_make_stamp(const struct sk_buff *skb, const struct pfqd_packet *packet,
			    struct pfqd_skb_cb *stamp)
{
	const struct tcp_sock *tp;
	const struct tcphdr *tcp;
	struct tcphdr buf;

	if (!packet->tcp || !skb->sk || packet->dsfield & ~INET_ECN_MASK)
		return false;
	tcp = skb_header_pointer(skb, packet->tcp, sizeof(buf), &buf);
	tp = tcp ? pfqd_sender(skb, tcp) : NULL;
	if (!tp)
		return false;
	stamp->band = pfqd_band_of(pfqd_bytes_left(skb, packet->tcp, tcp, tp));
	stamp->class = pfqd_class_of(tp);
	return true;
}

/* --- on the wire ---------------------------------------------------------------- */

/* Only the DSCP, which is 0: ECN stays. False: no memory for a header of its own. */
static bool pfqd_write_stamp(struct sk_buff *skb, const struct pfqd_packet *packet,
			     const struct pfqd_skb_cb *stamp)
{
	u8 dscp = PFQD_STAMP_DSCP(PFQD_STAMP_CODE(stamp->class, stamp->band));
	int at = packet->network;
	struct ipv6hdr *ip6;
	__be32 before;

	if (packet->key.l3 == htons(ETH_P_IP)) {
		if (skb_ensure_writable(skb, at + sizeof(struct iphdr)))
			return false;
		ipv4_change_dsfield((struct iphdr *)(skb->data + at), INET_ECN_MASK,
				    dscp << 2);
		return true;
	}
	if (skb_ensure_writable(skb, at + sizeof(*ip6)))
		return false;
	ip6 = (struct ipv6hdr *)(skb->data + at);
	before = *(__be32 *)ip6;
	ipv6_change_dsfield(ip6, INET_ECN_MASK, dscp << 2);
	/* unlike IPv4's, this header has no sum that takes the change back */
	if (skb->ip_summed == CHECKSUM_COMPLETE)
		skb->csum = csum_add(csum_sub(skb->csum, (__force __wsum)before),
				     *(__force __wsum *)ip6);
	return true;
}

/* A packet without a stamp has neither band nor class. */
static void pfqd_read_stamp(const struct pfqd_packet *packet, struct pfqd_skb_cb *stamp)
{
	u32 dscp = packet->dsfield >> 2, code = dscp >> PFQD_STAMP_DSCP_SHIFT;
	u8 band = code & PFQD_STAMP_BAND_MASK;

	if (packet->dsfield < 0 || (dscp & PFQD_STAMP_POOL_MASK) != PFQD_STAMP_POOL)
		return;
	if (band >= PFQD_BANDS && band != PFQD_BAND_NONE)
		return;
	stamp->band = band;
	stamp->class = code >> PFQD_STAMP_CLASS_SHIFT ? PFQD_RTT_LONG : PFQD_RTT_SHORT;
}

/* --- at enqueue ----------------------------------------------------------------- */

/* Stamps the packet if it is ours, and notes what this queue is to make of it. */
void pfqd_stamp(struct pfqd_qdisc *q, struct sk_buff *skb,
		const struct pfqd_packet *packet)
{
	enum pfqd_switch stamping = pfqd_stamping(q);
	bool completion = pfqd_completion(q);
	struct pfqd_skb_cb *cb = pfqd_cb(skb);

	cb->band = PFQD_BAND_NONE;
	cb->class = PFQD_RTT_NONE;
	if (stamping != PFQD_SWITCH_OFF && pfqd_make_stamp(skb, packet, cb)) {
		pfqd_add(q->stamps, 1);
		if (stamping == PFQD_SWITCH_ON && !pfqd_write_stamp(skb, packet, cb))
			pfqd_add(q->stamp_failures, 1);
		if (!completion) {
			cb->band = PFQD_BAND_NONE;
			cb->class = PFQD_RTT_NONE;
		}
	} else if (completion) {
		pfqd_read_stamp(packet, cb);
	}
}
