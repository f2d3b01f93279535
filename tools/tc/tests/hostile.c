// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attributes from a module that is older, newer or malicious: random bytes, and
 * random attributes of the right and of wrong sizes, truncated anywhere. Nothing
 * may be read outside of them (the sanitizers watch), JSON stays well formed, and
 * text for people stays text. In the end every key must have been printed at least
 * once: blobs that are all refused at the door would prove nothing.
 *
 * usage: test-hostile [BLOBS]
 */
#include <ctype.h>
#include <linux/pkt_sch_pfqd.h>

#include "fake_tc.h"
#include "options.h"

extern struct qdisc_util pfqd_qdisc_util;

#define BLOB_MAX	4096

static const char *const keys[] = {
	"pfqd", "tiers", "control", "high", "low", "packets", "bytes", "backlog_packets",
	"backlog_bytes", "sojourn", "unit", "below", "p50", "p99", "from", "drops_limit",
	"drops_memlimit", "drops_budget", "marks", "unmarkable", "demotions", "flows_active",
	"flows_allocated", "overflow_packets", "alloc_failures", "memory", "cycles",
	"segmented", "rate", "rate_source", "completion", "completion_source", "flow", "src",
	"dst", "sport", "dport", "protocol", "ethertype", "fragment", "shared", "tier", "age_ns",
	"band", "bands", "none", "0", "1", "2", "3", "4", "5", "classes", "short", "long",
	"drops", "stamps", "stamp_failures", "serves_banded", "serves_ordinary", "stamp",
	"stamp_source",
};

/* --- randomness ------------------------------------------------------------------- */

static uint64_t state = 0x9e3779b97f4a7c15;

static uint32_t any(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> 16;
}

static uint32_t below(uint32_t n)
{
	return any() % n;
}

static void fill(unsigned char *data, size_t size)
{
	size_t i;

	/* small numbers are what switches and enums are made of */
	for (i = 0; i < size; i++)
		data[i] = below(3) ? any() : 0;
	if (size && !below(2)) {
		memset(data, 0, size);
		data[0] = below(4);
	}
}

/* --- blobs ------------------------------------------------------------------------ */

/* Flags, numbers, an address, histograms: those of numbers most often. */
static const size_t sizes[] = {
	0, 1, 2, 4, 4, 4, 4, 8, 8, 8, 8, 16, 24 * 8, 32 * 8, 60 * 8
};

static size_t pick_size(void)
{
	return below(8) ? sizes[below(sizeof(sizes) / sizeof(*sizes))] : below(64);
}

static void put(unsigned char *blob, size_t *size, int type, size_t payload)
{
	struct rtattr attr = { .rta_len = RTA_LENGTH(payload), .rta_type = type };

	if (*size + RTA_SPACE(payload) > BLOB_MAX)
		return;
	memcpy(blob + *size, &attr, sizeof(attr));
	fill(blob + *size + RTA_LENGTH(0), payload);
	if (type == TCA_PFQD_FLOW_FAMILY && payload == 2 && below(4)) {
		uint16_t family = below(2) ? 0x0800 : 0x86dd;

		memcpy(blob + *size + RTA_LENGTH(0), &family, sizeof(family));
	}
	*size += RTA_SPACE(payload);
}

/* Attributes, nested to a depth, into the rest of the blob. */
static void put_nest(unsigned char *blob, size_t *size, int depth)
{
	int count = below(40);

	while (count--) {
		int type = below(TCA_PFQD_STATS_MAX + 3);
		struct rtattr attr;
		size_t start = *size;

		if (depth && (!below(3) || type == TCA_PFQD_STATS_FLOW) &&
		    *size + RTA_LENGTH(0) <= BLOB_MAX) {
			*size += RTA_LENGTH(0);
			put_nest(blob, size, depth - 1);
			attr = (struct rtattr) {
				.rta_len = *size - start,
				.rta_type = type | (below(2) ? NLA_F_NESTED : 0),
			};
			memcpy(blob + start, &attr, sizeof(attr));
			continue;
		}
		put(blob, size, type,
		    type == TCA_PFQD_FLOW_FAMILY && below(2) ? sizeof(uint16_t) : pick_size());
	}
}

static size_t make_blob(unsigned char *blob)
{
	size_t size = RTA_LENGTH(0), flips;

	switch (below(4)) {
	case 0:		/* noise */
		size += below(256);
		fill(blob + RTA_LENGTH(0), size - RTA_LENGTH(0));
		break;
	case 1:		/* a damaged tree */
		put_nest(blob, &size, 3);
		for (flips = below(8); flips && size > RTA_LENGTH(0); flips--)
			blob[RTA_LENGTH(0) + below(size - RTA_LENGTH(0))] = any();
		break;
	case 2:		/* a truncated tree */
		put_nest(blob, &size, 3);
		size = RTA_LENGTH(0) + below(size - RTA_LENGTH(0) + 1);
		break;
	default:
		put_nest(blob, &size, 3);
	}
	return size;
}

/* --- the plugin with a blob ------------------------------------------------------- */

static void check_text(const char *text, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++) {
		if (!isprint((unsigned char)text[i]) && text[i] != '\n') {
			fprintf(stderr, "not text: byte 0x%02x\n", (unsigned char)text[i]);
			abort();
		}
	}
}

/* In a block of exactly its size, so that one byte more is seen. */
static void feed(const unsigned char *blob, size_t size, bool json)
{
	struct rtattr *attr = malloc(size);
	char *text = NULL;
	size_t text_size;

	memcpy(attr, blob, size);
	attr->rta_len = size;
	attr->rta_type = TCA_OPTIONS;
	fake_json = json;
	fake_out = open_memstream(&text, &text_size);
	if (json)
		open_json_object(NULL);
	pfqd_qdisc_util.print_xstats(&pfqd_qdisc_util, fake_out, attr);
	if (json) {
		close_json_object();
		open_json_object(NULL);
	}
	pfqd_qdisc_util.print_qopt(&pfqd_qdisc_util, fake_out, attr);
	if (json)
		close_json_object();
	fclose(fake_out);
	if (fake_depth)
		fake_fail("something is left open", NULL);
	if (json && text_size) {
		fprintf(stderr, "text between JSON: %s\n", text);
		abort();
	}
	check_text(text, text_size);
	free(text);
	free(attr);
}

static int missing_keys(void)
{
	const struct option *o;
	size_t i;
	int missing = 0;

	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (!fake_has_seen(keys[i])) {
			fprintf(stderr, "never printed: %s\n", keys[i]);
			missing++;
		}
	}
	for (o = pfqd_options; o->name; o++) {
		if (!fake_has_seen(o->name)) {
			fprintf(stderr, "never printed: %s\n", o->name);
			missing++;
		}
	}
	return missing;
}

int main(int argc, char **argv)
{
	long blobs = argc > 1 ? atol(argv[1]) : 100000, i;
	static unsigned char blob[BLOB_MAX];

	/* nothing at all */
	fake_out = stderr;
	pfqd_qdisc_util.print_qopt(&pfqd_qdisc_util, fake_out, NULL);
	for (i = 0; i < blobs; i++) {
		size_t size = make_blob(blob);

		feed(blob, size, true);
		feed(blob, size, false);
	}
	printf("%ld blobs, %u keys printed\n", blobs, fake_seen_count);
	return missing_keys() ? 1 : 0;
}
