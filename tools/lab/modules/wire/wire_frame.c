// SPDX-License-Identifier: GPL-2.0-only
/*
 * wire frames: what the wire must know of a frame, and what of its sender must
 * not reach the receiver.
 *
 * Headers are read, never trusted: a frame whose lengths contradict each other
 * is neither data nor bulk, and goes up at once, to the stack's own checks.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <net/dst.h>
#include <net/ip.h>
#include <net/ipv6.h>

#include "../compat/skb.h"
#include "wire.h"

/* Where the transport header of a frame lies, and how long the packet is. */
struct wire_packet {
	u32 ip_len;		/* IP header and all that follows */
	u32 transport;		/* offset in the frame */
	u32 payload;		/* bytes from there on */
	u8 protocol;
	bool later_fragment;	/* no transport header in it */
	bool fragment;
};

static bool wire_parse_ipv4(const struct sk_buff *skb, u32 offset, struct wire_packet *packet)
{
	struct iphdr buffer;
	const struct iphdr *ip = skb_header_pointer(skb, offset, sizeof(buffer), &buffer);
	u32 header;

	if (!ip || ip->version != 4)
		return false;
	header = ip->ihl * 4;
	packet->ip_len = ntohs(ip->tot_len);
	if (header < sizeof(*ip) || packet->ip_len < header)
		return false;
	packet->transport = offset + header;
	packet->payload = packet->ip_len - header;
	packet->protocol = ip->protocol;
	packet->fragment = ip_is_fragment(ip);
	packet->later_fragment = ip->frag_off & htons(IP_OFFSET);
	return true;
}

static bool wire_parse_ipv6(const struct sk_buff *skb, u32 offset, struct wire_packet *packet)
{
	struct ipv6hdr buffer;
	const struct ipv6hdr *ip = skb_header_pointer(skb, offset, sizeof(buffer), &buffer);
	__be16 fragment = 0;
	int transport;

	if (!ip || ip->version != 6)
		return false;
	packet->ip_len = sizeof(*ip) + ntohs(ip->payload_len);
	packet->protocol = ip->nexthdr;
	transport = offset + sizeof(*ip);
	if (packet->protocol != IPPROTO_TCP && packet->protocol != IPPROTO_UDP) {
		transport = ipv6_skip_exthdr(skb, transport, &packet->protocol, &fragment);
		if (transport < 0 || transport > offset + packet->ip_len)
			return false;
	}
	packet->transport = transport;
	packet->payload = packet->ip_len - (transport - offset);
	packet->fragment = fragment;
	packet->later_fragment = fragment & htons(~7);
	return true;
}

static bool wire_parse(const struct sk_buff *skb, struct wire_packet *packet)
{
	const struct ethhdr *eth = (const struct ethhdr *)skb->data;
	__be16 protocol = eth->h_proto;
	u32 offset = ETH_HLEN;
	bool found = false;

	while (eth_type_vlan(protocol) && offset <= ETH_HLEN + VLAN_HLEN) {
		struct vlan_hdr buffer;
		const struct vlan_hdr *tag;

		tag = skb_header_pointer(skb, offset, sizeof(buffer), &buffer);
		if (!tag)
			return false;
		protocol = tag->h_vlan_encapsulated_proto;
		offset += VLAN_HLEN;
	}
	if (protocol == htons(ETH_P_IP))
		found = wire_parse_ipv4(skb, offset, packet);
	else if (protocol == htons(ETH_P_IPV6))
		found = wire_parse_ipv6(skb, offset, packet);
	return found && offset + packet->ip_len <= skb->len;
}

static u32 wire_tcp_class(const struct sk_buff *skb, const struct wire_packet *packet, u32 mtu)
{
	struct tcphdr buffer;
	const struct tcphdr *tcp;
	u32 header, class = 0;

	if (packet->later_fragment)
		return 0;
	tcp = skb_header_pointer(skb, packet->transport, sizeof(buffer), &buffer);
	if (!tcp)
		return 0;
	header = tcp->doff * 4;
	if (header < sizeof(*tcp) || header > packet->payload)
		return 0;
	if (header < packet->payload)
		class = WIRE_FRAME_DATA;
	if (tcp->syn || tcp->fin || tcp->rst || tcp->urg || packet->fragment)
		return class;
	if (!class)
		return WIRE_FRAME_BULK;
	if (!tcp->psh && packet->ip_len == mtu)
		class |= WIRE_FRAME_BULK;
	return class;
}

/**
 * wire_frame_class - data? bulk?
 * @skb: the frame, skb->data at its Ethernet header
 * @mtu: of the link; a TCP packet of that length is full-sized
 *
 * Return: WIRE_FRAME_* bits; 0 for what the wire has no name for.
 */
u32 wire_frame_class(const struct sk_buff *skb, u32 mtu)
{
	struct wire_packet packet;

	if (!wire_parse(skb, &packet))
		return 0;
	if (packet.protocol == IPPROTO_TCP)
		return wire_tcp_class(skb, &packet, mtu);
	return packet.protocol == IPPROTO_UDP ? WIRE_FRAME_DATA : 0;
}

/*
 * A header that the sender still holds (TCP keeps its packet for retransmission)
 * becomes the receiver's own: GRO writes into headers and shared info, and
 * would corrupt the sender's retransmit queue.
 */
static bool wire_unshare(struct sk_buff *skb)
{
	if (skb_orphan_frags(skb, GFP_ATOMIC))
		return false;
	if (skb_cloned(skb) && pskb_expand_head(skb, 0, 0, GFP_ATOMIC))
		return false;
	skb_shinfo(skb)->tx_flags = 0;
	skb_shinfo(skb)->tskey = 0;
	memset(skb_hwtstamps(skb), 0, sizeof(*skb_hwtstamps(skb)));
	return true;
}

static void wire_forget_sender(struct sk_buff *skb)
{
	skb_orphan(skb);
	skb_scrub_packet(skb, true);
	skb_clear_hash(skb);
	skb_reset_redirect(skb);
	memset(skb->cb, 0, sizeof(skb->cb));
	skb_set_delivery_time(skb, 0, 0);	/* time and kind of clock */
	skb->priority = 0;
	skb->queue_mapping = 0;
	skb->peeked = 0;
	skb->ooo_okay = 0;
	skb->dst_pending_confirm = 0;
	skb->no_fcs = 0;
	skb->encapsulation = 0;
	skb->encap_hdr_csum = 0;
	skb->remcsum_offload = 0;
	skb->inner_protocol_type = 0;
	skb->inner_protocol = 0;
	skb->inner_mac_header = 0;
	skb->inner_network_header = 0;
	skb->inner_transport_header = 0;
	skb->slow_gro = 0;
	lab_skb_clear_tc_depth(skb);
	skb_init_secmark(skb);
#ifdef CONFIG_NET_SCHED
	skb->tc_index = 0;
#endif
#ifdef CONFIG_NET_CLS_ACT
	skb->tc_skip_classify = 0;
	skb->tc_at_ingress = 0;
#endif
#if defined(CONFIG_NET_RX_BUSY_POLL) || defined(CONFIG_XPS)
	skb->napi_id = 0;
#endif
}

/**
 * wire_frame_freshen - make a frame look as a driver hands it up
 * @skb: the frame, skb->data at its Ethernet header
 * @dev: the receiving end
 *
 * Nothing of the sender's bookkeeping stays but the checksum's state: one that
 * hardware would have filled in stays CHECKSUM_PARTIAL, which the stack takes
 * for correct and a forwarding port fills in, should it need to.
 *
 * Return: false when there was no memory; the frame is as it was.
 */
bool wire_frame_freshen(struct sk_buff *skb, struct net_device *dev)
{
	if (!wire_unshare(skb))
		return false;
	wire_forget_sender(skb);
	if (skb->ip_summed == CHECKSUM_COMPLETE)
		skb->ip_summed = CHECKSUM_NONE;
	skb->protocol = eth_type_trans(skb, dev);
	return true;
}
