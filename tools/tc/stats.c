// SPDX-License-Identifier: GPL-2.0-only
/*
 * Statistics: a table of the tiers, then what is counted for the whole qdisc.
 *
 * Programs get everything, in an object of its own: tc puts keys such as "drops"
 * and "rate" beside it, with meanings of their own.
 */
#include "stats.h"

#include <inttypes.h>
#include <linux/pkt_sch_pfqd.h>

#include "attr.h"
#include "options.h"
#include "sojourn.h"
#include "tc.h"

const char *tier_name(uint64_t tier)
{
	static const char *const names[] = {
		[PFQD_TIER_CONTROL]	= "control",
		[PFQD_TIER_HIGH]	= "high",
		[PFQD_TIER_LOW]		= "low",
	};

	return tier < __PFQD_TIER_MAX ? names[tier] : NULL;
}

/* --- one tier --------------------------------------------------------------------- */

static const struct {
	int		attr;
	size_t		size;
	const char	*key;
	const char	*title;
	int		width;
} tier_columns[] = {
	{ TCA_PFQD_TIER_PACKETS, sizeof(uint64_t), "packets", "packets", 13 },
	{ TCA_PFQD_TIER_BYTES, sizeof(uint64_t), "bytes", "bytes", 17 },
	{ TCA_PFQD_TIER_BACKLOG_PACKETS, sizeof(uint32_t), "backlog_packets", "backlog-p", 11 },
	{ TCA_PFQD_TIER_BACKLOG_BYTES, sizeof(uint32_t), "backlog_bytes", "backlog-b", 12 },
};

#define TIER_COLUMNS	(sizeof(tier_columns) / sizeof(*tier_columns))
#define TIER_NAME_WIDTH	8
#define SOJOURN_WIDTH	10

/* A percentile as a bound: "<2.05us", ">=4.40s", "-" when nothing was counted. */
static void print_percentile(FILE *out, const struct sojourn *s, unsigned int percent)
{
	char number[VALUE_TEXT_MAX], text[VALUE_TEXT_MAX + 2];
	size_t bucket = sojourn_percentile(s, percent);

	if (bucket == s->buckets)
		snprintf(text, sizeof(text), "-");
	else if (sojourn_open(s, bucket))
		snprintf(text, sizeof(text), ">=%s",
			 value_print_ns(sojourn_from(bucket), number));
	else
		snprintf(text, sizeof(text), "<%s",
			 value_print_ns(sojourn_below(bucket), number));
	fprintf(out, "%*s", SOJOURN_WIDTH, text);
}

static void json_percentile(const char *key, const struct sojourn *s, unsigned int percent)
{
	size_t bucket = sojourn_percentile(s, percent);

	if (bucket == s->buckets)
		return;
	open_json_object(key);
	json_u64("from", sojourn_from(bucket));
	if (!sojourn_open(s, bucket))
		json_u64("below", sojourn_below(bucket));
	close_json_object();
}

/* below[i] is the bound of packets[i]; the last of packets has none. */
static void json_sojourn(const struct sojourn *s)
{
	size_t i;

	if (!s->buckets)
		return;
	open_json_object("sojourn");
	json_string("unit", "ns");
	open_json_array(PRINT_JSON, "below");
	for (i = 0; i + 1 < s->buckets; i++)
		json_u64(NULL, sojourn_below(i));
	close_json_array(PRINT_JSON, NULL);
	open_json_array(PRINT_JSON, "packets");
	for (i = 0; i < s->buckets; i++)
		json_u64(NULL, s->packets[i]);
	close_json_array(PRINT_JSON, NULL);
	json_percentile("p50", s, 50);
	json_percentile("p99", s, 99);
	close_json_object();
}

static void print_tier_titles(FILE *out)
{
	size_t i;

	fprintf(out, "  %-*s", TIER_NAME_WIDTH, "tier");
	for (i = 0; i < TIER_COLUMNS; i++)
		fprintf(out, "%*s", tier_columns[i].width, tier_columns[i].title);
	fprintf(out, "%*s%*s", SOJOURN_WIDTH, "wait-p50", SOJOURN_WIDTH, "wait-p99");
}

static void print_tier(FILE *out, const char *name, const struct rtattr *nest)
{
	const struct rtattr *tb[TCA_PFQD_TIER_MAX + 1];
	struct sojourn sojourn;
	uint64_t value;
	bool human = !is_json_context();
	size_t i;

	attr_parse(tb, TCA_PFQD_TIER_MAX, nest);
	sojourn_read(&sojourn, tb[TCA_PFQD_TIER_SOJOURN]);
	open_json_object(name);
	print_nl();
	if (human)
		fprintf(out, "  %-*s", TIER_NAME_WIDTH, name);
	for (i = 0; i < TIER_COLUMNS; i++) {
		if (attr_number(tb[tier_columns[i].attr], tier_columns[i].size, &value)) {
			json_u64(tier_columns[i].key, value);
			if (human)
				fprintf(out, "%*" PRIu64, tier_columns[i].width, value);
		} else if (human) {
			fprintf(out, "%*s", tier_columns[i].width, "-");
		}
	}
	if (human) {
		print_percentile(out, &sojourn, 50);
		print_percentile(out, &sojourn, 99);
	}
	json_sojourn(&sojourn);
	close_json_object();
}

static void print_tiers(FILE *out, const struct rtattr *nest)
{
	const struct rtattr *tb[__PFQD_TIER_MAX + 1];
	int tier;

	if (!nest)
		return;
	attr_parse(tb, __PFQD_TIER_MAX, nest);
	if (!is_json_context())
		print_tier_titles(out);
	open_json_object("tiers");
	for (tier = 0; tier < __PFQD_TIER_MAX; tier++) {
		if (tb[tier + 1])
			print_tier(out, tier_name(tier), tb[tier + 1]);
	}
	close_json_object();
	print_nl();
}

/* --- the whole qdisc -------------------------------------------------------------- */

static const char *rate_source_word(uint64_t source)
{
	static const char *const words[] = {
		[PFQD_RATE_OPTION]	= "option",
		[PFQD_RATE_LINK]	= "link",
		[PFQD_RATE_ASSUMED]	= "assumed",
		[PFQD_RATE_MEASURED]	= "measured",
	};

	return source < __PFQD_RATE_SOURCE_MAX ? words[source] : NULL;
}

static void show_rate(FILE *out, const struct rtattr *rate, const struct rtattr *source)
{
	char text[VALUE_TEXT_MAX];
	const char *word = NULL;
	uint64_t value;

	if (attr_number(source, sizeof(uint32_t), &value))
		word = rate_source_word(value);
	if (!attr_number(rate, sizeof(uint64_t), &value))
		return;
	json_u64("rate", value);
	if (word)
		json_string("rate_source", word);
	if (!is_json_context())
		fprintf(out, " rate %s%s%s%s", value_print(VALUE_RATE, value, text),
			word ? " (" : "", word ? word : "", word ? ")" : "");
}

static void show_completion(FILE *out, const struct rtattr *state, const struct rtattr *source)
{
	const char *decider = NULL, *word = NULL;
	uint64_t value;

	if (attr_number(source, sizeof(uint32_t), &value) && value < pfqd_switch_words) {
		word = pfqd_switch_word[value];
		decider = value == PFQD_SWITCH_INHERIT ? "module parameter" : "option";
	}
	if (!attr_number(state, sizeof(uint32_t), &value) || value > 1)
		return;
	json_bool("completion", value);
	if (word)
		json_string("completion_source", word);
	if (!is_json_context())
		fprintf(out, " completion %s%s%s%s", value ? "on" : "off",
			decider ? " (" : "", decider ? decider : "", decider ? ")" : "");
}

/* Numbers in the order in which they are shown. */
static const struct number {
	int		attr;
	size_t		size;
	const char	*key;
	const char	*before;	/* text for people, around the number */
	const char	*after;
	bool		bytes;
	bool		newline;
} numbers[] = {
	{ TCA_PFQD_STATS_MARKS, sizeof(uint64_t), "marks", " marks ", "", false, false },
	{ TCA_PFQD_STATS_DROPS_LIMIT, sizeof(uint64_t), "drops_limit", " drops: limit ", "",
	  false, false },
	{ TCA_PFQD_STATS_DROPS_MEMLIMIT, sizeof(uint64_t), "drops_memlimit", " memlimit ", "",
	  false, false },
	{ TCA_PFQD_STATS_DROPS_BUDGET, sizeof(uint64_t), "drops_budget", " budget ", "",
	  false, false },
	{ TCA_PFQD_STATS_UNMARKABLE, sizeof(uint64_t), "unmarkable", " (unmarkable ", ")",
	  false, true },
	{ TCA_PFQD_STATS_FLOWS_ACTIVE, sizeof(uint32_t), "flows_active", " flows: active ", "",
	  false, false },
	{ TCA_PFQD_STATS_FLOWS_ALLOCATED, sizeof(uint32_t), "flows_allocated", " allocated ",
	  "", false, false },
	{ TCA_PFQD_STATS_DEMOTIONS, sizeof(uint64_t), "demotions", " demotions ", "",
	  false, false },
	{ TCA_PFQD_STATS_OVERFLOW_PACKETS, sizeof(uint64_t), "overflow_packets",
	  " overflow ", "p", false, false },
	{ TCA_PFQD_STATS_ALLOC_FAILURES, sizeof(uint64_t), "alloc_failures",
	  " alloc_failures ", "", false, true },
	{ TCA_PFQD_STATS_MEMORY, sizeof(uint32_t), "memory", " memory ", "", true, false },
	{ TCA_PFQD_STATS_CYCLES, sizeof(uint64_t), "cycles", " cycles ", "", false, false },
	{ TCA_PFQD_STATS_SEGMENTED, sizeof(uint64_t), "segmented", " segmented ", "",
	  false, true },
};

static void show_number(FILE *out, const struct number *n, const struct rtattr *attr)
{
	char text[VALUE_TEXT_MAX];
	uint64_t value;

	if (attr_number(attr, n->size, &value)) {
		json_u64(n->key, value);
		if (!is_json_context())
			fprintf(out, "%s%s%s", n->before,
				value_print(n->bytes ? VALUE_SIZE : VALUE_COUNT, value, text),
				n->after);
	}
	if (n->newline) {
		print_nl();
		if (!is_json_context())
			fputc(' ', out);
	}
}

void stats_print(FILE *out, const struct rtattr *xstats)
{
	const struct rtattr *tb[TCA_PFQD_STATS_MAX + 1];
	size_t i;

	attr_parse(tb, TCA_PFQD_STATS_MAX, xstats);
	if (tb[TCA_PFQD_STATS_FLOW]) {
		flow_print(out, tb[TCA_PFQD_STATS_FLOW]);
		return;
	}
	open_json_object("pfqd");
	print_tiers(out, tb[TCA_PFQD_STATS_TIERS]);
	if (!is_json_context())
		fputc(' ', out);
	for (i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		show_number(out, &numbers[i], tb[numbers[i].attr]);
	show_rate(out, tb[TCA_PFQD_STATS_RATE], tb[TCA_PFQD_STATS_RATE_SOURCE]);
	show_completion(out, tb[TCA_PFQD_STATS_COMPLETION],
			tb[TCA_PFQD_STATS_COMPLETION_SOURCE]);
	close_json_object();
}
