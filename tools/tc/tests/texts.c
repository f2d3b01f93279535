// SPDX-License-Identifier: GPL-2.0-only
/*
 * What people read, to the character, from modules of several ages: one that counts
 * nothing, one that knows no stamp, today's with the stamp and the completion tier off
 * (not a word more than needed), on, and off again. And the same once more as JSON,
 * where nothing may be left out.
 */
#include <linux/gen_stats.h>
#include <linux/pfqd_stamp.h>
#include <linux/pkt_sch_pfqd.h>

#include "fake_tc.h"

extern struct qdisc_util pfqd_qdisc_util;

#define MESSAGE_MAX	4096
#define BUCKETS		4

static union {
	struct nlmsghdr	header;
	char		space[MESSAGE_MAX];
} message;

/* --- a module's attributes -------------------------------------------------------- */

static void put(int attr, const void *data, size_t size)
{
	if (addattr_l(&message.header, MESSAGE_MAX, attr, data, size))
		abort();
}

static void put_u32(int attr, uint32_t value) { put(attr, &value, sizeof(value)); }
static void put_u64(int attr, uint64_t value) { put(attr, &value, sizeof(value)); }

static struct rtattr *nest(int attr) { return addattr_nest(&message.header, MESSAGE_MAX, attr); }
static void nest_end(struct rtattr *attr) { addattr_nest_end(&message.header, attr); }

/* All packets waited for less than 2048 ns. */
static void put_served(uint64_t packets)
{
	uint64_t sojourn[BUCKETS] = { [1] = packets };

	put_u64(TCA_PFQD_TIER_PACKETS, packets);
	put_u64(TCA_PFQD_TIER_BYTES, packets * 1000);
	put(TCA_PFQD_TIER_SOJOURN, sojourn, sizeof(sojourn));
}

static void put_tiers(void)
{
	struct rtattr *tiers = nest(TCA_PFQD_STATS_TIERS), *tier = nest(1 + PFQD_TIER_HIGH);

	put_served(7);
	put_u32(TCA_PFQD_TIER_BACKLOG_PACKETS, 1);
	put_u32(TCA_PFQD_TIER_BACKLOG_BYTES, 60);
	nest_end(tier);
	nest_end(tiers);
}

static void put_old(void)
{
	put_tiers();
	put_u64(TCA_PFQD_STATS_MARKS, 2);
	put_u64(TCA_PFQD_STATS_UNMARKABLE, 0);
	put_u32(TCA_PFQD_STATS_MEMORY, 2048);
	put_u64(TCA_PFQD_STATS_SEGMENTED, 3);
	put_u64(TCA_PFQD_STATS_RATE, 1000);
	put_u32(TCA_PFQD_STATS_RATE_SOURCE, PFQD_RATE_OPTION);
	put_u32(TCA_PFQD_STATS_COMPLETION, PFQD_SWITCH_OFF);
	put_u32(TCA_PFQD_STATS_COMPLETION_SOURCE, PFQD_SWITCH_INHERIT);
}

/* Packets in the bands 2 and none, and in the classes long and none. */
static void put_bands(uint64_t banded, uint64_t none)
{
	struct rtattr *table = nest(TCA_PFQD_STATS_BANDS), *row;
	int i;

	for (i = 0; i <= PFQD_BANDS; i++) {
		row = nest(1 + i);
		put_served(i == 2 ? banded : i == PFQD_BANDS ? none : 0);
		nest_end(row);
	}
	nest_end(table);
	table = nest(TCA_PFQD_STATS_CLASSES);
	for (i = 0; i < __PFQD_RTT_MAX; i++) {
		uint64_t packets = i == PFQD_RTT_LONG ? banded : i == PFQD_RTT_NONE ? none : 0;

		row = nest(1 + i);
		put_u64(TCA_PFQD_CLASS_PACKETS, packets);
		put_u64(TCA_PFQD_CLASS_BYTES, packets * 1000);
		put_u64(TCA_PFQD_CLASS_MARKS, packets ? 1 : 0);
		put_u64(TCA_PFQD_CLASS_DROPS, packets ? 2 : 0);
		nest_end(row);
	}
	nest_end(table);
}

static void put_new(enum pfqd_switch completion, enum pfqd_switch stamp, uint64_t banded)
{
	put_u32(TCA_PFQD_STATS_COMPLETION, completion);
	put_u32(TCA_PFQD_STATS_COMPLETION_SOURCE, completion);
	put_u32(TCA_PFQD_STATS_STAMP, stamp);
	put_u32(TCA_PFQD_STATS_STAMP_SOURCE, PFQD_SWITCH_INHERIT);
	put_u64(TCA_PFQD_STATS_STAMPS, 5);
	put_u64(TCA_PFQD_STATS_STAMP_FAILURES, 1);
	put_u64(TCA_PFQD_STATS_SERVES_BANDED, banded);
	put_u64(TCA_PFQD_STATS_SERVES_ORDINARY, 9);
	put_bands(banded, 3);
}

static void bare(void) { }
static void unstamped(void) { put_old(); }
static void off(void) { put_new(PFQD_SWITCH_OFF, PFQD_SWITCH_OFF, 0); }
static void plain(void) { put_new(PFQD_SWITCH_ON, PFQD_SWITCH_LOCAL, 0); }
static void on(void) { put_new(PFQD_SWITCH_ON, PFQD_SWITCH_ON, 4); }
static void off_again(void) { put_new(PFQD_SWITCH_OFF, PFQD_SWITCH_ON, 4); }

static void flow(void)
{
	struct rtattr *attr = nest(TCA_PFQD_STATS_FLOW);

	put_u32(TCA_PFQD_FLOW_TIER, PFQD_TIER_LOW);
	put_u32(TCA_PFQD_FLOW_BAND, 3);
	nest_end(attr);
}

static void flow_unstamped(void)
{
	struct rtattr *attr = nest(TCA_PFQD_STATS_FLOW);

	put_u32(TCA_PFQD_FLOW_TIER, PFQD_TIER_LOW);
	nest_end(attr);
}

/* --- what is made of them --------------------------------------------------------- */

#define BANDS \
	"  band          packets            bytes  wait-p50  wait-p99\n" \
	"  2                   4             4000   <2.05us   <2.05us\n" \
	"  none                3             3000   <2.05us   <2.05us\n" \
	"  class         packets            bytes      marks       drops\n" \
	"  long                4             4000          1           2\n" \
	"  none                3             3000          1           2\n"

static const struct {
	const char	*name;
	void		(*make)(void);
	const char	*text;
} cases[] = {
	{ "nothing is counted", bare, " " },
	{ "a module without stamps", unstamped,
	  "  tier          packets            bytes  backlog-p   backlog-b  wait-p50  wait-p99\n"
	  "  high                7             7000          1          60   <2.05us   <2.05us\n"
	  "  marks 2 (unmarkable 0)\n"
	  "  memory 2Kb segmented 3\n"
	  "  rate 8Kbit (option) completion off (module parameter)" },
	{ "off", off,
	  "  stamps 5 failures 1\n"
	  "  completion off (option) stamp off (module parameter)" },
	{ "on, without a packet that has a stamp", plain,
	  "  stamps 5 failures 1 serves: banded 0 ordinary 9\n"
	  "  completion on (option) stamp local (module parameter)" },
	{ "on", on, BANDS
	  "  stamps 5 failures 1 serves: banded 4 ordinary 9\n"
	  "  completion on (option) stamp on (module parameter)" },
	{ "off again", off_again, BANDS
	  "  stamps 5 failures 1\n"
	  "  completion off (option) stamp on (module parameter)" },
	{ "a flow", flow, "  unknown flow tier low band 3" },
	{ "a flow without a band", flow_unstamped, "  unknown flow tier low" },
};

static char *print(void (*make)(void), bool json)
{
	struct rtattr *attr;
	char *text = NULL;
	size_t size;

	message.header.nlmsg_len = NLMSG_LENGTH(0);
	attr = nest(TCA_STATS_APP);
	make();
	nest_end(attr);
	fake_json = json;
	fake_seen_count = 0;
	fake_out = open_memstream(&text, &size);
	if (json)
		open_json_object(NULL);
	pfqd_qdisc_util.print_xstats(&pfqd_qdisc_util, fake_out, attr);
	if (json)
		close_json_object();
	fclose(fake_out);
	return text;
}

static int check_text(size_t i)
{
	char *text = print(cases[i].make, false);
	int wrong = strcmp(text, cases[i].text) != 0;

	if (wrong)
		printf("%s: got\n%s\nwant\n%s\n", cases[i].name, text, cases[i].text);
	free(text);
	return wrong;
}

/* What people are spared is in JSON, on or off. */
static int check_json(void (*make)(void))
{
	static const char *const keys[] = {
		"bands", "0", "1", "2", "3", "4", "5", "none", "sojourn", "classes", "short",
		"long", "marks", "drops", "stamps", "stamp_failures", "serves_banded",
		"serves_ordinary", "completion", "completion_source", "stamp", "stamp_source",
	};
	int wrong = 0;
	size_t i;

	free(print(make, true));
	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (fake_has_seen(keys[i]))
			continue;
		printf("not in JSON: %s\n", keys[i]);
		wrong++;
	}
	return wrong;
}

int main(void)
{
	size_t i, count = sizeof(cases) / sizeof(*cases);
	int wrong = check_json(off) + check_json(on);

	for (i = 0; i < count; i++)
		wrong += check_text(i);
	printf("%zu texts, %d wrong\n", count, wrong);
	return wrong ? 1 : 0;
}
