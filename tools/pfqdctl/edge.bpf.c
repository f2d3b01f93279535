// SPDX-License-Identifier: GPL-2.0-only
/*
 * The edge of the datacenter: what enters from the internet is long class without
 * a band, whatever its DSCP said. A classifier on the ingress hook rewrites the six
 * DSCP bits of IPv4 and IPv6, behind VLAN tags too, and lets every packet go on to
 * the next filter: it never drops, and what it cannot read it does not touch.
 *
 * Four programs, by what the operator wants (stamp all, or trust valid stamps) and
 * by where the device has the IP header (behind Ethernet, or first). A program's
 * name says which it is, so that anyone who lists filters sees the mode.
 *
 * Loads on Linux 6.1 and later without kernel BTF, and runs in the interpreter too.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pfqd_stamp.h>
#include <linux/pkt_cls.h>
#include <stdbool.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "edge_counters.h"

/*
 * Tags in the bytes. The kernel has taken the first one out when the hook runs, so
 * this is for four in all; what has more counts as not IP.
 */
#define MAX_TAGS	3

#define ECN_MASK	3
#define IPV4_MIN_HEADER	20
#define IPV6_HEADER	40

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, EDGE_COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} pfqd_edge_count SEC(".maps");

/* An IPv4 header up to its checksum. */
struct ipv4_start {
	__u8 version_ihl;
	__u8 tos;
	__u16 length;
	__u16 id;
	__u16 fragment;
	__u8 ttl;
	__u8 protocol;
	__u16 check;
};

struct vlan_tag {
	__be16 tci;
	__be16 type;
};

/* Lets the packet go on to the next filter. */
static __always_inline int passed_on(enum edge_counter counter)
{
	__u32 key = counter;
	__u64 *value = bpf_map_lookup_elem(&pfqd_edge_count, &key);

	if (value)
		*value += 1;
	return TC_ACT_UNSPEC;
}

static __always_inline bool valid_stamp(__u8 dscp)
{
	__u8 band = (dscp >> PFQD_STAMP_DSCP_SHIFT) & PFQD_STAMP_BAND_MASK;

	return (dscp & PFQD_STAMP_POOL_MASK) == PFQD_STAMP_POOL &&
	       (band < PFQD_BANDS || band == PFQD_BAND_NONE);
}

/* What the traffic class (DSCP and ECN) is to become; ECN stays. */
static __always_inline __u8 stamped(__u8 class, bool trust)
{
	if (trust && valid_stamp(class >> 2))
		return class;
	return PFQD_STAMP_DSCP(PFQD_STAMP_EDGE) << 2 | (class & ECN_MASK);
}

/*
 * RFC 1624, equation 3, with the 16-bit words as they lie in the packet: one's
 * complement sums do not depend on the byte order (RFC 1071).
 */
static __always_inline __u16 updated_checksum(__u16 check, __u16 before, __u16 after)
{
	__u32 sum = (__u16)~check;

	sum += (__u16)~before;
	sum += after;
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

/* Version, header length and TOS: the word of the header that changes. */
static __always_inline __u16 first_word(const struct ipv4_start *header)
{
	return bpf_htons(header->version_ihl << 8 | header->tos);
}

/*
 * A checksum over the whole packet (CHECKSUM_COMPLETE) needs no update: an IPv4
 * header sums up to the same with the new checksum in it.
 */
static __always_inline enum edge_counter stamp_ipv4(struct __sk_buff *skb, __u32 offset, bool trust)
{
	struct ipv4_start header;
	__u16 before;
	__u32 size;
	__u8 tos;

	if (bpf_skb_load_bytes(skb, offset, &header, sizeof(header)))
		return EDGE_MALFORMED;
	size = (header.version_ihl & 0xf) * 4;
	if (header.version_ihl >> 4 != 4 || size < IPV4_MIN_HEADER || offset + size > skb->len)
		return EDGE_MALFORMED;

	tos = stamped(header.tos, trust);
	if (tos == header.tos)
		return EDGE_KEPT;
	before = first_word(&header);
	header.tos = tos;
	header.check = updated_checksum(header.check, before, first_word(&header));
	/* Makes headers its own that it shares with a clone, such as a tap's. */
	if (bpf_skb_store_bytes(skb, offset, &header, sizeof(header), 0))
		return EDGE_FAILED;
	return EDGE_STAMPED;
}

static __always_inline enum edge_counter stamp_ipv6(struct __sk_buff *skb, __u32 offset, bool trust)
{
	__be16 start;
	__u16 word;
	__u8 before, after;

	if (offset + IPV6_HEADER > skb->len || bpf_skb_load_bytes(skb, offset, &start, sizeof(start)))
		return EDGE_MALFORMED;
	word = bpf_ntohs(start);
	if (word >> 12 != 6)
		return EDGE_MALFORMED;

	before = word >> 4;
	after = stamped(before, trust);
	if (after == before)
		return EDGE_KEPT;
	start = bpf_htons((word & 0xf00f) | after << 4);
	/* The header has no checksum of its own: CHECKSUM_COMPLETE changes with it. */
	if (bpf_skb_store_bytes(skb, offset, &start, sizeof(start), BPF_F_RECOMPUTE_CSUM))
		return EDGE_FAILED;
	return EDGE_STAMPED;
}

static __always_inline enum edge_counter stamp_ip(struct __sk_buff *skb, __be16 protocol,
						  __u32 offset, bool trust)
{
	if (protocol == bpf_htons(ETH_P_IP))
		return stamp_ipv4(skb, offset, trust);
	if (protocol == bpf_htons(ETH_P_IPV6))
		return stamp_ipv6(skb, offset, trust);
	return EDGE_NOT_IP;
}

/* An accelerated tag is not in the bytes, and skb->protocol is that behind it. */
static __always_inline enum edge_counter edge_ethernet(struct __sk_buff *skb, bool trust)
{
	__be16 protocol = skb->protocol;
	__u32 offset = ETH_HLEN;
	int i;

#pragma unroll
	for (i = 0; i < MAX_TAGS; i++) {
		struct vlan_tag tag;

		if (protocol != bpf_htons(ETH_P_8021Q) && protocol != bpf_htons(ETH_P_8021AD))
			break;
		if (bpf_skb_load_bytes(skb, offset, &tag, sizeof(tag)))
			return EDGE_NOT_IP;
		protocol = tag.type;
		offset += sizeof(tag);
	}
	return stamp_ip(skb, protocol, offset, trust);
}

/*
 * The packet begins with its IP header, unless a driver left an outer header in
 * front of it as if it were the link's: then this is not the place to write.
 */
static __always_inline enum edge_counter edge_ip(struct __sk_buff *skb, bool trust)
{
	__u64 first, network;

	if (bpf_skb_load_bytes(skb, 0, &first, sizeof(first)))
		return EDGE_MALFORMED;
	if (bpf_skb_load_bytes_relative(skb, 0, &network, sizeof(network), BPF_HDR_START_NET) ||
	    first != network)
		return EDGE_FAILED;
	return stamp_ip(skb, skb->protocol, 0, trust);
}

SEC("tc")
int pfqd_edge(struct __sk_buff *skb)
{
	return passed_on(edge_ethernet(skb, false));
}

SEC("tc")
int pfqd_edge_trust(struct __sk_buff *skb)
{
	return passed_on(edge_ethernet(skb, true));
}

SEC("tc")
int pfqd_edge_l3(struct __sk_buff *skb)
{
	return passed_on(edge_ip(skb, false));
}

SEC("tc")
int pfqd_edge_l3tr(struct __sk_buff *skb)
{
	return passed_on(edge_ip(skb, true));
}

char LICENSE[] SEC("license") = "GPL";
