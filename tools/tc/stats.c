// SPDX-License-Identifier: GPL-2.0-only
/*
 * Statistics: the tables (table.c), then what is counted for the whole qdisc.
 *
 * Programs get everything, in an object of its own: tc puts keys such as "drops"
 * and "rate" beside it, with meanings of their own.
 */
#include "stats.h"

#include <inttypes.h>
#include <linux/pkt_sch_pfqd.h>
#include <string.h>

#include "attr.h"
#include "options.h"
#include "table.h"
#include "tc.h"

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

/* A switch in force, and who decided. */
static const char *switch_state(const struct rtattr *state, uint64_t *value)
{
	if (!attr_number(state, sizeof(uint32_t), value) || *value >= pfqd_switch_words ||
	    *value == PFQD_SWITCH_INHERIT)
		return NULL;
	return pfqd_switch_word[*value];
}

static const char *switch_source(const struct rtattr *source)
{
	uint64_t value;

	if (!attr_number(source, sizeof(uint32_t), &value) || value >= pfqd_switch_words)
		return NULL;
	return pfqd_switch_word[value];
}

static void print_switch_state(FILE *out, const char *name, const char *state,
			       const char *source)
{
	const char *decider = "option";

	if (is_json_context())
		return;
	if (source && !strcmp(source, pfqd_switch_word[PFQD_SWITCH_INHERIT]))
		decider = "module parameter";
	fprintf(out, " %s %s", name, state);
	if (source)
		fprintf(out, " (%s)", decider);
}

/* Of the two states that it can have, JSON makes a boolean. */
static void show_completion(FILE *out, const struct rtattr *state, const struct rtattr *source)
{
	uint64_t value;
	const char *word = switch_state(state, &value), *from = switch_source(source);

	if (!word || value > PFQD_SWITCH_ON)
		return;
	json_bool("completion", value);
	if (from)
		json_string("completion_source", from);
	print_switch_state(out, "completion", word, from);
}

static void show_stamp(FILE *out, const struct rtattr *state, const struct rtattr *source)
{
	uint64_t value;
	const char *word = switch_state(state, &value), *from = switch_source(source);

	if (!word)
		return;
	json_string("stamp", word);
	if (from)
		json_string("stamp_source", from);
	print_switch_state(out, "stamp", word, from);
}

#define COUNTER(name, ...)	{ TCA_PFQD_STATS_##name, sizeof(uint64_t), __VA_ARGS__ }
#define GAUGE(name, ...)	{ TCA_PFQD_STATS_##name, sizeof(uint32_t), __VA_ARGS__ }

/* Numbers in the order in which they are shown. */
static const struct number {
	int		attr;
	size_t		size;
	const char	*key;
	const char	*before;	/* text for people, around the number */
	const char	*after;
	bool		bytes;
	bool		newline;
	bool		completion;	/* for people only where stamps are read */
} numbers[] = {
	COUNTER(MARKS, "marks", " marks ", .after = ""),
	COUNTER(DROPS_LIMIT, "drops_limit", " drops: limit ", .after = ""),
	COUNTER(DROPS_MEMLIMIT, "drops_memlimit", " memlimit ", .after = ""),
	COUNTER(DROPS_BUDGET, "drops_budget", " budget ", .after = ""),
	COUNTER(UNMARKABLE, "unmarkable", " (unmarkable ", .after = ")", .newline = true),
	GAUGE(FLOWS_ACTIVE, "flows_active", " flows: active ", .after = ""),
	GAUGE(FLOWS_ALLOCATED, "flows_allocated", " allocated ", .after = ""),
	COUNTER(DEMOTIONS, "demotions", " demotions ", .after = ""),
	COUNTER(OVERFLOW_PACKETS, "overflow_packets", " overflow ", .after = "p"),
	COUNTER(ALLOC_FAILURES, "alloc_failures", " alloc_failures ", .after = "",
		.newline = true),
	GAUGE(MEMORY, "memory", " memory ", .after = "", .bytes = true),
	COUNTER(CYCLES, "cycles", " cycles ", .after = ""),
	COUNTER(SEGMENTED, "segmented", " segmented ", .after = "", .newline = true),
	COUNTER(STAMPS, "stamps", " stamps ", .after = ""),
	COUNTER(STAMP_FAILURES, "stamp_failures", " failures ", .after = ""),
	COUNTER(SERVES_BANDED, "serves_banded", " serves: banded ", .after = "",
		.completion = true),
	COUNTER(SERVES_ORDINARY, "serves_ordinary", " ordinary ", .after = "",
		.newline = true, .completion = true),
};

/* True: people have seen it. */
static bool show_number(FILE *out, const struct number *n, const struct rtattr *attr,
			bool completion)
{
	char text[VALUE_TEXT_MAX];
	uint64_t value;

	if (!attr_number(attr, n->size, &value))
		return false;
	json_u64(n->key, value);
	if (is_json_context() || (n->completion && !completion))
		return false;
	fprintf(out, "%s%s%s", n->before,
		value_print(n->bytes ? VALUE_SIZE : VALUE_COUNT, value, text), n->after);
	return true;
}

/* A line ends only if something stands in it: older modules count less. */
static void show_numbers(FILE *out, const struct rtattr *const *tb)
{
	uint64_t state;
	bool completion = switch_state(tb[TCA_PFQD_STATS_COMPLETION], &state) &&
			  state == PFQD_SWITCH_ON;
	bool written = false;
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		const struct number *n = &numbers[i];

		written |= show_number(out, n, tb[n->attr], completion);
		if (!n->newline || !written)
			continue;
		print_nl();
		fputc(' ', out);
		written = false;
	}
}

void stats_print(FILE *out, const struct rtattr *xstats)
{
	const struct rtattr *tb[TCA_PFQD_STATS_MAX + 1];

	attr_parse(tb, TCA_PFQD_STATS_MAX, xstats);
	if (tb[TCA_PFQD_STATS_FLOW]) {
		flow_print(out, tb[TCA_PFQD_STATS_FLOW]);
		return;
	}
	open_json_object("pfqd");
	tiers_print(out, tb[TCA_PFQD_STATS_TIERS]);
	bands_print(out, tb[TCA_PFQD_STATS_BANDS]);
	classes_print(out, tb[TCA_PFQD_STATS_CLASSES]);
	if (!is_json_context())
		fputc(' ', out);
	show_numbers(out, tb);
	show_rate(out, tb[TCA_PFQD_STATS_RATE], tb[TCA_PFQD_STATS_RATE_SOURCE]);
	show_completion(out, tb[TCA_PFQD_STATS_COMPLETION],
			tb[TCA_PFQD_STATS_COMPLETION_SOURCE]);
	show_stamp(out, tb[TCA_PFQD_STATS_STAMP], tb[TCA_PFQD_STATS_STAMP_SOURCE]);
	close_json_object();
}
