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
	{ TCA_PFQD_STATS_STAMPS, sizeof(uint64_t), "stamps", " stamps ", "", false, false },
	{ TCA_PFQD_STATS_STAMP_FAILURES, sizeof(uint64_t), "stamp_failures", " failures ", "",
	  false, false },
	{ TCA_PFQD_STATS_SERVES_BANDED, sizeof(uint64_t), "serves_banded",
	  " serves: banded ", "", false, false },
	{ TCA_PFQD_STATS_SERVES_ORDINARY, sizeof(uint64_t), "serves_ordinary", " ordinary ", "",
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
	tiers_print(out, tb[TCA_PFQD_STATS_TIERS]);
	bands_print(out, tb[TCA_PFQD_STATS_BANDS]);
	classes_print(out, tb[TCA_PFQD_STATS_CLASSES]);
	if (!is_json_context())
		fputc(' ', out);
	for (i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		show_number(out, &numbers[i], tb[numbers[i].attr]);
	show_rate(out, tb[TCA_PFQD_STATS_RATE], tb[TCA_PFQD_STATS_RATE_SOURCE]);
	show_completion(out, tb[TCA_PFQD_STATS_COMPLETION],
			tb[TCA_PFQD_STATS_COMPLETION_SOURCE]);
	show_stamp(out, tb[TCA_PFQD_STATS_STAMP], tb[TCA_PFQD_STATS_STAMP_SOURCE]);
	close_json_object();
}
