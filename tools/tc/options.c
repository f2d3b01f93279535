// SPDX-License-Identifier: GPL-2.0-only
/*
 * Options in and out.
 *
 * The kernel checks all of this again. It is checked here so that the text of a
 * refusal can name the option, what was typed and what would be accepted, and
 * because a number that does not fit its attribute would arrive as another one.
 */
#include "options.h"

#include <linux/pkt_sch_pfqd.h>
#include <string.h>

#include "attr.h"
#include "tc.h"

#define SWITCH_TEXT_MAX	40
#define REQUEST_MAX	1024	/* bytes: all options are a sixth of that */

const char *const pfqd_switch_word[] = {
	[PFQD_SWITCH_OFF]	= "off",
	[PFQD_SWITCH_ON]	= "on",
	[PFQD_SWITCH_INHERIT]	= "inherit",
	[PFQD_SWITCH_LOCAL]	= "local",
};

const uint64_t pfqd_switch_words = __PFQD_SWITCH_MAX;

#define RANGE(name)	.min = PFQD_##name##_MIN, .max = PFQD_##name##_MAX
#define BUDGET_RANGE	RANGE(BUDGET)

const struct option pfqd_options[] = {
	{
		.name = "limit", .what = "bytes of queued packets",
		.value = VALUE_SIZE, .attr = TCA_PFQD_LIMIT, .size = sizeof(uint32_t),
		RANGE(LIMIT), .initial = PFQD_LIMIT_DEFAULT,
	}, {
		.name = "memlimit", .what = "bytes of memory that queued packets take",
		.value = VALUE_SIZE, .attr = TCA_PFQD_MEMLIMIT, .size = sizeof(uint32_t),
		RANGE(MEMLIMIT), .initial = PFQD_MEMLIMIT_DEFAULT,
	}, {
		.name = "flows", .what = "flows that have a FIFO of their own",
		.value = VALUE_COUNT, .attr = TCA_PFQD_FLOWS, .size = sizeof(uint32_t),
		RANGE(FLOWS), .initial = PFQD_FLOWS_DEFAULT,
	}, {
		.name = "quantum", .what = "bytes of a turn; auto: one packet of the device's MTU",
		.value = VALUE_SIZE, .automatic = true,
		.attr = TCA_PFQD_QUANTUM, .size = sizeof(uint32_t),
		RANGE(QUANTUM), .initial = PFQD_QUANTUM_DEFAULT,
	}, {
		.name = "demote", .what = "time without an empty moment that makes a flow low",
		.value = VALUE_TIME, .attr = TCA_PFQD_DEMOTE, .size = sizeof(uint32_t),
		RANGE(DEMOTE), .initial = PFQD_DEMOTE_DEFAULT,
	}, {
		.name = "control", .what = "control packets a service cycle",
		.value = VALUE_COUNT, .attr = TCA_PFQD_CONTROL, .size = sizeof(uint32_t),
		RANGE(CONTROL), .initial = PFQD_CONTROL_DEFAULT,
	}, {
		.name = "budget", .what = "queueing time of forwarded packets without an RTT class",
		.value = VALUE_TIME, .attr = TCA_PFQD_BUDGET, .size = sizeof(uint32_t),
		BUDGET_RANGE, .initial = PFQD_BUDGET_DEFAULT,
	}, {
		.name = "short", .what = "that of the short RTT class, with completion",
		.value = VALUE_TIME, .attr = TCA_PFQD_BUDGET_SHORT, .size = sizeof(uint32_t),
		BUDGET_RANGE, .initial = PFQD_BUDGET_SHORT_DEFAULT,
	}, {
		.name = "long", .what = "that of the long RTT class, with completion",
		.value = VALUE_TIME, .attr = TCA_PFQD_BUDGET_LONG, .size = sizeof(uint32_t),
		BUDGET_RANGE, .initial = PFQD_BUDGET_LONG_DEFAULT,
	}, {
		.name = "ecn", .off_name = "noecn",
		.what = "above its budget a flow is marked if it can be; noecn: always dropped",
		.kind = OPTION_FLAG, .attr = TCA_PFQD_ECN, .size = sizeof(uint8_t),
		.max = 1, .initial = PFQD_ECN_DEFAULT,
	}, {
		.name = "rate", .what = "rate that budgets are computed from; auto: found out",
		.value = VALUE_RATE, .automatic = true,
		.attr = TCA_PFQD_RATE, .size = sizeof(uint64_t),
		RANGE(RATE), .initial = PFQD_RATE_DEFAULT,
	}, {
		.name = "split_gso", .off_name = "no_split_gso",
		.what = "GSO packets are segmented when they are queued",
		.kind = OPTION_FLAG, .attr = TCA_PFQD_SPLIT_GSO, .size = sizeof(uint8_t),
		.max = 1, .initial = PFQD_SPLIT_GSO_DEFAULT,
	}, {
		.name = "completion",
		.what = "whether stamps are read; inherit: as the module's parameter says",
		.kind = OPTION_SWITCH, .attr = TCA_PFQD_COMPLETION, .size = sizeof(uint8_t),
		.max = PFQD_SWITCH_INHERIT, .initial = PFQD_COMPLETION_DEFAULT,
	}, {
		.name = "stamp",
		.what = "whether this host's TCP is stamped; local: for this queue alone",
		.kind = OPTION_SWITCH, .attr = TCA_PFQD_STAMP, .size = sizeof(uint8_t),
		.max = PFQD_SWITCH_LOCAL, .initial = PFQD_STAMP_DEFAULT,
	},
	{ .name = NULL }
};

/* --- help ------------------------------------------------------------------------- */

static const char *const placeholder[__VALUE_KINDS] = {
	[VALUE_COUNT]	= "N",
	[VALUE_SIZE]	= "SIZE",
	[VALUE_TIME]	= "TIME",
	[VALUE_RATE]	= "RATE",
};

#define RANGE_TEXT_MAX	(2 * VALUE_TEXT_MAX + sizeof(" .. , or auto"))

static const char *range_text(const struct option *o, char *text)
{
	char min[VALUE_TEXT_MAX], max[VALUE_TEXT_MAX];

	snprintf(text, RANGE_TEXT_MAX, "%s .. %s%s", value_print(o->value, o->min, min),
		 value_print(o->value, o->max, max), o->automatic ? ", or auto" : "");
	return text;
}

/* "off|on|inherit", or with other separators. */
static void switch_words(const struct option *o, const char *separator, const char *last,
			 char *text, size_t size)
{
	size_t used = 0;
	uint64_t word;

	*text = '\0';
	for (word = 0; word <= o->max && used < size; word++) {
		used += snprintf(text + used, size - used, "%s%s",
				 !word ? "" : word == o->max ? last : separator,
				 pfqd_switch_word[word]);
	}
}

/* "limit SIZE": what to type. */
static const char *syntax_text(const struct option *o, char *text, size_t size)
{
	char words[SWITCH_TEXT_MAX];

	switch (o->kind) {
	case OPTION_VALUE:
		snprintf(text, size, "%s %s%s", o->name, placeholder[o->value],
			 o->automatic ? "|auto" : "");
		break;
	case OPTION_FLAG:
		snprintf(text, size, "%s|%s", o->name, o->off_name);
		break;
	case OPTION_SWITCH:
		switch_words(o, "|", "|", words, sizeof(words));
		snprintf(text, size, "%s %s", o->name, words);
		break;
	}
	return text;
}

static const char *default_text(const struct option *o, char *text)
{
	switch (o->kind) {
	case OPTION_VALUE:
		if (o->initial || !o->automatic)
			return value_print(o->value, o->initial, text);
		return "auto";
	case OPTION_FLAG:
		return o->initial ? o->name : o->off_name;
	case OPTION_SWITCH:
		return pfqd_switch_word[o->initial];
	}
	return "";
}

void options_help(FILE *out)
{
	char syntax[80], range[RANGE_TEXT_MAX], initial[VALUE_TEXT_MAX];
	const struct option *o;

	fprintf(out, "Usage: ... pfqd");
	for (o = pfqd_options; o->name; o++)
		fprintf(out, "%s[ %s ]", (o - pfqd_options) % 4 ? " " : "\n\t",
			syntax_text(o, syntax, sizeof(syntax)));
	fprintf(out, "\n\n");
	for (o = pfqd_options; o->name; o++) {
		fprintf(out, "  %-30s%s\n%32s", syntax_text(o, syntax, sizeof(syntax)),
			o->what, "");
		if (o->kind == OPTION_VALUE)
			fprintf(out, "%s; ", range_text(o, range));
		fprintf(out, "default %s\n", default_text(o, initial));
	}
	fprintf(out, "\nSIZE, TIME and RATE as in tc(8), fractions allowed; more in tc-pfqd(8)\n");
}

/* --- options in ------------------------------------------------------------------- */

/* NULL: no option is called that. */
static const struct option *find_option(const char *name, uint64_t *flag)
{
	const struct option *o;

	for (o = pfqd_options; o->name; o++) {
		*flag = 1;
		if (!strcmp(name, o->name))
			return o;
		*flag = 0;
		if (o->off_name && !strcmp(name, o->off_name))
			return o;
	}
	return NULL;
}

static int refuse_value(const struct option *o, const char *text, const char *why)
{
	char range[RANGE_TEXT_MAX];

	fprintf(stderr, "pfqd: %s '%s' %s; accepted: %s\n", o->name, text, why,
		range_text(o, range));
	return -1;
}

static int parse_value(const struct option *o, const char *text, uint64_t *value)
{
	char why[128];

	if (o->automatic && !strcmp(text, "auto")) {
		*value = 0;
		return 0;
	}
	switch (value_parse(o->value, text, value)) {
	case VALUE_SYNTAX:
		snprintf(why, sizeof(why), "is not a number like %s", value_example[o->value]);
		return refuse_value(o, text, why);
	case VALUE_FRACTION:
		snprintf(why, sizeof(why), "is not a whole number%s%s",
			 *value_unit[o->value] ? " of " : "", value_unit[o->value]);
		return refuse_value(o, text, why);
	case VALUE_OVERFLOW:
		return refuse_value(o, text, "is out of range");
	case VALUE_OK:
		break;
	}
	if (*value < o->min || *value > o->max)
		return refuse_value(o, text, "is out of range");
	return 0;
}

static int parse_switch(const struct option *o, const char *text, uint64_t *value)
{
	char words[SWITCH_TEXT_MAX];

	for (*value = 0; *value <= o->max; ++*value) {
		if (!strcmp(text, pfqd_switch_word[*value]))
			return 0;
	}
	switch_words(o, ", ", " or ", words, sizeof(words));
	fprintf(stderr, "pfqd: %s '%s' is not known; accepted: %s\n", o->name, text, words);
	return -1;
}

static int refuse_missing(const struct option *o)
{
	char syntax[80], range[RANGE_TEXT_MAX];

	fprintf(stderr, "pfqd: %s: the value is missing; accepted: %s\n", o->name,
		o->kind == OPTION_VALUE ? range_text(o, range) :
		syntax_text(o, syntax, sizeof(syntax)));
	return -1;
}

static int refuse_unknown(const char *name)
{
	const struct option *o;

	fprintf(stderr, "pfqd: there is no option '%s'; accepted:", name);
	for (o = pfqd_options; o->name; o++)
		fprintf(stderr, " %s%s%s", o->name, o->off_name ? " " : "",
			o->off_name ? o->off_name : "");
	fprintf(stderr, " help\n");
	return -1;
}

static int put_number(struct nlmsghdr *n, const struct option *o, uint64_t value)
{
	const uint8_t u8 = value;
	const uint32_t u32 = value;

	switch (o->size) {
	case sizeof(u8):
		return addattr_l(n, REQUEST_MAX, o->attr, &u8, sizeof(u8));
	case sizeof(u32):
		return addattr_l(n, REQUEST_MAX, o->attr, &u32, sizeof(u32));
	default:
		return addattr_l(n, REQUEST_MAX, o->attr, &value, sizeof(value));
	}
}

/* Takes one option and its value; returns how many words that were, or -1. */
static int parse_one(int argc, char **argv, struct nlmsghdr *n, uint32_t *seen)
{
	const struct option *o;
	uint64_t value;
	int words = 1;

	o = find_option(argv[0], &value);
	if (!o)
		return refuse_unknown(argv[0]);
	if (*seen & 1U << o->attr) {
		fprintf(stderr, "pfqd: '%s': %s was given before\n", argv[0], o->name);
		return -1;
	}
	*seen |= 1U << o->attr;
	if (o->kind != OPTION_FLAG) {
		if (argc < 2)
			return refuse_missing(o);
		if (o->kind == OPTION_SWITCH ? parse_switch(o, argv[1], &value) :
		    parse_value(o, argv[1], &value))
			return -1;
		words = 2;
	}
	return put_number(n, o, value) ? -1 : words;
}

_Static_assert(TCA_PFQD_MAX < 32, "a bit for each option");

int options_parse(int argc, char **argv, struct nlmsghdr *n)
{
	struct rtattr *nest = addattr_nest(n, REQUEST_MAX, TCA_OPTIONS | NLA_F_NESTED);
	uint32_t seen = 0;
	int words;

	for (; argc > 0; argc -= words, argv += words) {
		if (!strcmp(*argv, "help")) {
			options_help(stderr);
			return -1;
		}
		words = parse_one(argc, argv, n, &seen);
		if (words < 0)
			return -1;
	}
	addattr_nest_end(n, nest);
	return 0;
}

/* --- options out ------------------------------------------------------------------ */

static void print_value(FILE *out, const struct option *o, uint64_t value)
{
	char text[VALUE_TEXT_MAX];

	json_u64(o->name, value);
	if (!is_json_context())
		fprintf(out, "%s %s ", o->name,
			o->automatic && !value ? "auto" : value_print(o->value, value, text));
}

static void print_flag(FILE *out, const struct option *o, uint64_t value)
{
	json_bool(o->name, value);
	if (!is_json_context())
		fprintf(out, "%s ", value ? o->name : o->off_name);
}

static void print_switch(FILE *out, const struct option *o, uint64_t value)
{
	json_string(o->name, pfqd_switch_word[value]);
	if (!is_json_context())
		fprintf(out, "%s %s ", o->name, pfqd_switch_word[value]);
}

void options_print(FILE *out, const struct rtattr *opt)
{
	const struct rtattr *tb[TCA_PFQD_MAX + 1];
	const struct option *o;
	uint64_t value;

	attr_parse(tb, TCA_PFQD_MAX, opt);
	for (o = pfqd_options; o->name; o++) {
		if (!attr_number(tb[o->attr], o->size, &value))
			continue;
		if (o->kind == OPTION_VALUE)
			print_value(out, o, value);
		else if (value > o->max)
			continue;	/* a word that is not known here */
		else if (o->kind == OPTION_FLAG)
			print_flag(out, o, value);
		else
			print_switch(out, o, value);
	}
}
