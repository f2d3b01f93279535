// SPDX-License-Identifier: GPL-2.0-only
/*
 * One backlogged flow: who it is, its tier and band, since when it has been backlogged.
 * How much it has queued, tc itself has printed before.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <linux/if_ether.h>
#include <linux/pkt_sch_pfqd.h>

#include "attr.h"
#include "stats.h"
#include "tc.h"
#include "value.h"

struct tuple {
	uint64_t	ethertype;
	uint64_t	protocol;
	uint64_t	port[2];	/* source, destination */
	char		address[2][INET6_ADDRSTRLEN];
	bool		has_ethertype;
	bool		has_protocol;
	bool		has_port[2];
	bool		has_address[2];
	bool		fragment;
	bool		shared;
};

static bool read_address(const struct rtattr *attr, uint64_t ethertype, char *text)
{
	if (ethertype == ETH_P_IP && attr_size(attr) == sizeof(struct in_addr))
		return inet_ntop(AF_INET, attr_data(attr), text, INET6_ADDRSTRLEN);
	if (ethertype == ETH_P_IPV6 && attr_size(attr) == sizeof(struct in6_addr))
		return inet_ntop(AF_INET6, attr_data(attr), text, INET6_ADDRSTRLEN);
	return false;
}

static void read_tuple(const struct rtattr *const *tb, struct tuple *t)
{
	*t = (struct tuple) {
		.fragment	= tb[TCA_PFQD_FLOW_FRAGMENT],
		.shared		= tb[TCA_PFQD_FLOW_SHARED],
	};
	t->has_ethertype = attr_number(tb[TCA_PFQD_FLOW_FAMILY], sizeof(uint16_t), &t->ethertype);
	t->has_protocol = attr_number(tb[TCA_PFQD_FLOW_PROTOCOL], sizeof(uint8_t), &t->protocol);
	t->has_port[0] = attr_number(tb[TCA_PFQD_FLOW_SPORT], sizeof(uint16_t), &t->port[0]);
	t->has_port[1] = attr_number(tb[TCA_PFQD_FLOW_DPORT], sizeof(uint16_t), &t->port[1]);
	if (!t->has_ethertype)
		return;
	t->has_address[0] = read_address(tb[TCA_PFQD_FLOW_SADDR], t->ethertype, t->address[0]);
	t->has_address[1] = read_address(tb[TCA_PFQD_FLOW_DADDR], t->ethertype, t->address[1]);
}

/* --- for people ------------------------------------------------------------------- */

/* Without /etc/protocols, which is not everywhere. */
static const char *protocol_name(uint64_t protocol)
{
	switch (protocol) {
	case IPPROTO_ICMP:	return "icmp";
	case IPPROTO_IGMP:	return "igmp";
	case IPPROTO_IPIP:	return "ipip";
	case IPPROTO_TCP:	return "tcp";
	case IPPROTO_UDP:	return "udp";
	case IPPROTO_IPV6:	return "ipv6";
	case IPPROTO_GRE:	return "gre";
	case IPPROTO_ESP:	return "esp";
	case IPPROTO_AH:	return "ah";
	case IPPROTO_ICMPV6:	return "icmpv6";
	case IPPROTO_SCTP:	return "sctp";
	default:		return NULL;
	}
}

static void print_endpoint(FILE *out, const struct tuple *t, int end)
{
	bool brackets = t->ethertype == ETH_P_IPV6 && t->has_port[end];

	fprintf(out, "%s%s%s", brackets ? "[" : "", t->has_address[end] ? t->address[end] : "?",
		brackets ? "]" : "");
	if (t->has_port[end])
		fprintf(out, ":%" PRIu64, t->port[end]);
}

static void print_tuple(FILE *out, const struct tuple *t)
{
	const char *protocol = protocol_name(t->protocol);

	if (t->shared) {
		fprintf(out, "shared FIFO");
		return;
	}
	if (t->has_address[0] || t->has_address[1]) {
		print_endpoint(out, t, 0);
		fprintf(out, " > ");
		print_endpoint(out, t, 1);
	} else if (t->has_ethertype) {
		fprintf(out, "ethertype 0x%04" PRIx64, t->ethertype);
	} else {
		fprintf(out, "unknown flow");
	}
	if (t->has_protocol && protocol)
		fprintf(out, " %s", protocol);
	else if (t->has_protocol && t->protocol)
		fprintf(out, " protocol %" PRIu64, t->protocol);
	if (t->fragment)
		fprintf(out, " fragments");
}

/* --- for programs ----------------------------------------------------------------- */

static void json_tuple(const struct tuple *t)
{
	if (t->shared)
		json_bool("shared", true);
	if (t->has_ethertype)
		json_u64("ethertype", t->ethertype);
	if (t->has_address[0])
		json_string("src", t->address[0]);
	if (t->has_port[0])
		json_u64("sport", t->port[0]);
	if (t->has_address[1])
		json_string("dst", t->address[1]);
	if (t->has_port[1])
		json_u64("dport", t->port[1]);
	if (t->has_protocol)
		json_u64("protocol", t->protocol);
	if (t->fragment)
		json_bool("fragment", true);
}

void flow_print(FILE *out, const struct rtattr *flow)
{
	const struct rtattr *tb[TCA_PFQD_FLOW_MAX + 1];
	char text[VALUE_TEXT_MAX];
	struct tuple tuple;
	const char *tier;
	uint64_t value;
	bool human = !is_json_context();

	attr_parse(tb, TCA_PFQD_FLOW_MAX, flow);
	read_tuple(tb, &tuple);
	open_json_object("flow");
	json_tuple(&tuple);
	if (human) {
		fprintf(out, "  ");
		print_tuple(out, &tuple);
	}
	if (attr_number(tb[TCA_PFQD_FLOW_TIER], sizeof(uint32_t), &value)) {
		tier = tier_name(value);
		if (tier) {
			json_string("tier", tier);
			if (human)
				fprintf(out, " tier %s", tier);
		}
	}
	if (attr_number(tb[TCA_PFQD_FLOW_BAND], sizeof(uint32_t), &value)) {
		json_u64("band", value);
		if (human)
			fprintf(out, " band %" PRIu64, value);
	}
	if (attr_number(tb[TCA_PFQD_FLOW_AGE], sizeof(uint64_t), &value)) {
		json_u64("age_ns", value);
		if (human)
			fprintf(out, " age %s", value_print_ns(value, text));
	}
	if (attr_number(tb[TCA_PFQD_FLOW_MEMORY], sizeof(uint32_t), &value)) {
		json_u64("memory", value);
		if (human)
			fprintf(out, " memory %s", value_print(VALUE_SIZE, value, text));
	}
	close_json_object();
}
