// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is this packet: one for the control tier, or a packet of which flow? And
 * where are the headers that the stamp is made of?
 *
 * A flow is addresses, ports and protocol as they stand in the packet. Plain
 * IPv4 and IPv6 TCP and UDP are read here; everything else (extension headers,
 * tunnels, PPPoE, protocols with odd ports) goes through the kernel's flow
 * dissector. Fragments and protocols without ports are told apart by their
 * addresses only. skb->hash is never used: a socket re-rolls it when it suspects
 * its path, and its flow would change FIFO in the middle.
 *
 * Control is what keeps others moving and is small: SYN, pure ACKs, ARP, ICMP
 * (IPv6 neighbour discovery is ICMPv6), and what the host itself calls control
 * (TC_PRIO_CONTROL). FIN and RST end a flow, so they stay behind its data: of a
 * flow's own packets only a pure ACK may overtake data.
 *
 * Packets are only read, never written or pulled, and every header is hostile:
 * what is short or malformed is a flow by whatever could be read of it.
 */
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <net/dsfield.h>
#include <net/flow_dissector.h>
#include <net/ip.h>
#include "pfqd.h"

#define PFQD_VLAN_TAGS_MAX	4	/* in the packet's own bytes; real ones: 2 */

/*
 * The network header and its protocol behind VLAN tags in the packet's bytes.
 * With such tags skb's network header may be that of the IP packet (tags pushed
 * by the host) or the inner tag (bridged QinQ), so the tags are walked instead.
 */
__be16 pfqd_network_header(const struct sk_buff *skb, int *at)
{
	const struct vlan_hdr *tag;
	__be16 proto = skb->protocol;
	struct vlan_hdr buf;
	int i;

	*at = skb_network_offset(skb);
	if (likely(!eth_type_vlan(proto)))
		return proto;

	*at = ETH_HLEN;
	for (i = 0; i < PFQD_VLAN_TAGS_MAX && eth_type_vlan(proto); i++) {
		tag = skb_header_pointer(skb, *at, sizeof(buf), &buf);
		if (!tag)
			return skb->protocol;
		proto = tag->h_vlan_encapsulated_proto;
		*at += VLAN_HLEN;
	}
	return proto;
}

/* SYN, or an ACK that carries nothing: no data, no end. l3_len: 0 if unknown. */
static bool pfqd_tcp_control(const struct sk_buff *skb,
			     const struct pfqd_packet *packet, u32 l3_len)
{
	const struct tcphdr *tcp;
	struct tcphdr buf;
	u32 headers;

	tcp = skb_header_pointer(skb, packet->tcp, sizeof(buf), &buf);
	if (!tcp || tcp->doff < 5 || tcp->fin || tcp->rst)
		return false;
	if (tcp->syn)
		return true;
	headers = packet->tcp - packet->network + tcp->doff * 4;
	return tcp->ack && l3_len == headers;
}

/* TCP and UDP whose header is at l4. */
static void pfqd_ports(const struct sk_buff *skb, struct pfqd_packet *packet, int l4,
		       u32 l3_len)
{
	const __be32 *ports;
	__be32 buf;

	ports = skb_header_pointer(skb, l4, sizeof(buf), &buf);
	if (ports)
		packet->key.ports = *ports;
	if (packet->key.l4 != IPPROTO_TCP)
		return;
	packet->tcp = l4;
	packet->control = pfqd_tcp_control(skb, packet, l3_len);
}

static bool pfqd_has_plain_ports(u8 protocol)
{
	return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP;
}

/* Whatever is not plain. Control: ICMP that no tunnel carries. */
static void pfqd_dissect(const struct sk_buff *skb, struct pfqd_packet *packet)
{
	struct pfqd_key *key = &packet->key;
	struct flow_keys found = {};

	/* its verdict is "all understood"; what it found before is as good */
	__skb_flow_dissect(NULL, skb, &flow_keys_dissector, &found, skb->data,
			   key->l3, packet->network, skb_headlen(skb), 0);
	/* inside a tunnel the addresses may be of the other family */
	if (found.control.addr_type == FLOW_DISSECTOR_KEY_IPV4_ADDRS) {
		key->l3 = htons(ETH_P_IP);
		key->saddr = (struct in6_addr){ .s6_addr32[0] = found.addrs.v4addrs.src };
		key->daddr = (struct in6_addr){ .s6_addr32[0] = found.addrs.v4addrs.dst };
	} else if (found.control.addr_type == FLOW_DISSECTOR_KEY_IPV6_ADDRS) {
		key->l3 = htons(ETH_P_IPV6);
		key->saddr = found.addrs.v6addrs.src;
		key->daddr = found.addrs.v6addrs.dst;
	} else {
		return;
	}
	key->ports = found.ports.ports;
	key->l4 = found.basic.ip_proto;
	key->fragment = !!(found.control.flags & FLOW_DIS_IS_FRAGMENT);
	if (found.control.flags & FLOW_DIS_ENCAPSULATION)
		return;
	if (key->l4 == IPPROTO_TCP && !key->fragment)
		packet->tcp = found.control.thoff;
	packet->control = key->l4 == IPPROTO_ICMPV6 &&
			  found.basic.n_proto == htons(ETH_P_IPV6);
}

static void pfqd_ipv4(const struct sk_buff *skb, struct pfqd_packet *packet)
{
	struct pfqd_key *key = &packet->key;
	const struct iphdr *ip;
	struct iphdr buf;

	ip = skb_header_pointer(skb, packet->network, sizeof(buf), &buf);
	if (!ip || ip->version != 4 || ip->ihl < 5)
		return;
	packet->dsfield = ip->tos;
	key->saddr.s6_addr32[0] = ip->saddr;
	key->daddr.s6_addr32[0] = ip->daddr;
	key->l4 = ip->protocol;
	if (ip->protocol == IPPROTO_ICMP)
		packet->control = true;
	else if (ip_is_fragment(ip))
		key->fragment = 1;
	else if (pfqd_has_plain_ports(ip->protocol))
		pfqd_ports(skb, packet, packet->network + ip->ihl * 4, ntohs(ip->tot_len));
	else
		pfqd_dissect(skb, packet);
}

static void pfqd_ipv6(const struct sk_buff *skb, struct pfqd_packet *packet)
{
	struct pfqd_key *key = &packet->key;
	const struct ipv6hdr *ip;
	struct ipv6hdr buf;
	u32 l3_len = 0;

	ip = skb_header_pointer(skb, packet->network, sizeof(buf), &buf);
	if (!ip || ip->version != 6)
		return;
	packet->dsfield = ipv6_get_dsfield(ip);
	key->saddr = ip->saddr;
	key->daddr = ip->daddr;
	key->l4 = ip->nexthdr;
	/* no payload length: a jumbogram or a large GSO packet, never a pure ACK */
	if (ip->payload_len)
		l3_len = ntohs(ip->payload_len) + sizeof(*ip);
	if (ip->nexthdr == IPPROTO_ICMPV6)
		packet->control = true;
	else if (pfqd_has_plain_ports(ip->nexthdr))
		pfqd_ports(skb, packet, packet->network + sizeof(*ip), l3_len);
	else
		pfqd_dissect(skb, packet);
}

void pfqd_classify(const struct sk_buff *skb, struct pfqd_packet *packet)
{
	*packet = (struct pfqd_packet) { .dsfield = -1 };
	packet->key.l3 = pfqd_network_header(skb, &packet->network);
	switch (packet->key.l3) {
	case htons(ETH_P_IP):
		pfqd_ipv4(skb, packet);
		break;
	case htons(ETH_P_IPV6):
		pfqd_ipv6(skb, packet);
		break;
	case htons(ETH_P_ARP):
		packet->control = true;
		break;
	default:
		pfqd_dissect(skb, packet);
	}
	packet->control |= skb->priority == TC_PRIO_CONTROL;
}
