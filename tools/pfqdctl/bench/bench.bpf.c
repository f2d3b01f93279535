// SPDX-License-Identifier: GPL-2.0-only
/*
 * The edge's programs, and for the case that writes one that first puts back what the
 * run before has written, and one that does only that. The kernel's test run repeats a
 * program on one packet: without this, only the first run would write. The difference
 * of the two is the edge.
 */
#include "../edge.bpf.c"

/* IPv4's checksum as it was, from user space. */
const volatile __u16 original_check;

/* DSCP and ECN to 0. */
static __always_inline void put_back(struct __sk_buff *skb, bool ipv4)
{
	__u16 *header = (void *)(long)skb->data + ETH_HLEN;

	if ((void *)header + IPV4_MIN_HEADER > (void *)(long)skb->data_end)
		return;
	header[0] = ipv4 ? bpf_htons(0x4500) : bpf_htons(0x6000);
	if (ipv4)
		header[5] = original_check;
}

SEC("tc")
int bench_nothing(struct __sk_buff *skb __attribute__((unused)))
{
	return TC_ACT_UNSPEC;
}

SEC("tc")
int bench_back_ipv4(struct __sk_buff *skb)
{
	put_back(skb, true);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int bench_back_ipv6(struct __sk_buff *skb)
{
	put_back(skb, false);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int bench_stamp_ipv4(struct __sk_buff *skb)
{
	put_back(skb, true);
	return passed_on(edge_ethernet(skb, false));
}

SEC("tc")
int bench_stamp_ipv6(struct __sk_buff *skb)
{
	put_back(skb, false);
	return passed_on(edge_ethernet(skb, false));
}
