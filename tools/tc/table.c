// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tables of the statistics: tiers, bands, RTT classes. A table is a nest with a
 * nest for each row, a row has a number for each column, and in some tables a
 * histogram of the time spent queued.
 *
 * People see rows that have something to tell: of bands and classes only those that
 * a packet was in, and none of them where no packet had a stamp. Programs see all.
 */
#include "table.h"

#include <inttypes.h>
#include <linux/pfqd_stamp.h>
#include <linux/pkt_sch_pfqd.h>

#include "attr.h"
#include "sojourn.h"
#include "stats.h"
#include "tc.h"
#include "value.h"

#define NAME_WIDTH	8
#define SOJOURN_WIDTH	10

struct column {
	int		attr;
	size_t		size;
	const char	*key;
	const char	*title;
	int		width;
};

struct row {
	int		attr;
	const char	*key;
	bool		plain;	/* what packets without a stamp are counted under */
};

/* Columns end with one without a key, rows with one without a key. */
struct table {
	const char		*key;
	const char		*title;
	const struct column	*columns;
	const struct row	*rows;
	int			last_row;	/* the largest attribute of a row */
	int			last_column;	/* and of a column */
	int			packets;	/* the column that says whether a row is empty */
	int			sojourn;	/* 0: there is no histogram */
	bool			sparse;		/* people need not see empty rows */
};

/* --- tiers, bands, classes -------------------------------------------------------- */

#define PACKETS(attr)	{ attr, sizeof(uint64_t), "packets", "packets", 13 }
#define BYTES(attr)	{ attr, sizeof(uint64_t), "bytes", "bytes", 17 }

static const struct column tier_columns[] = {
	PACKETS(TCA_PFQD_TIER_PACKETS),
	BYTES(TCA_PFQD_TIER_BYTES),
	{ TCA_PFQD_TIER_BACKLOG_PACKETS, sizeof(uint32_t), "backlog_packets", "backlog-p", 11 },
	{ TCA_PFQD_TIER_BACKLOG_BYTES, sizeof(uint32_t), "backlog_bytes", "backlog-b", 12 },
	{ .key = NULL }
};

static const struct row tier_rows[] = {
	{ 1 + PFQD_TIER_CONTROL, "control", false },
	{ 1 + PFQD_TIER_HIGH, "high", false },
	{ 1 + PFQD_TIER_LOW, "low", false },
	{ .key = NULL }
};

static const struct table tiers = {
	.key = "tiers", .title = "tier", .columns = tier_columns, .rows = tier_rows,
	.last_row = __PFQD_TIER_MAX, .last_column = TCA_PFQD_TIER_MAX,
	.packets = TCA_PFQD_TIER_PACKETS, .sojourn = TCA_PFQD_TIER_SOJOURN,
};

static const struct column band_columns[] = {
	PACKETS(TCA_PFQD_TIER_PACKETS),
	BYTES(TCA_PFQD_TIER_BYTES),
	{ .key = NULL }
};

_Static_assert(PFQD_BANDS == 6, "a row for each band");

static const struct row band_rows[] = {
	{ 1, "0", false }, { 2, "1", false }, { 3, "2", false }, { 4, "3", false },
	{ 5, "4", false }, { 6, "5", false },
	{ 1 + PFQD_BANDS, "none", true },
	{ .key = NULL }
};

static const struct table bands = {
	.key = "bands", .title = "band", .columns = band_columns, .rows = band_rows,
	.last_row = 1 + PFQD_BANDS, .last_column = TCA_PFQD_TIER_MAX,
	.packets = TCA_PFQD_TIER_PACKETS, .sojourn = TCA_PFQD_TIER_SOJOURN, .sparse = true,
};

static const struct column class_columns[] = {
	PACKETS(TCA_PFQD_CLASS_PACKETS),
	BYTES(TCA_PFQD_CLASS_BYTES),
	{ TCA_PFQD_CLASS_MARKS, sizeof(uint64_t), "marks", "marks", 11 },
	{ TCA_PFQD_CLASS_DROPS, sizeof(uint64_t), "drops", "drops", 12 },
	{ .key = NULL }
};

static const struct row class_rows[] = {
	{ 1 + PFQD_RTT_SHORT, "short", false },
	{ 1 + PFQD_RTT_LONG, "long", false },
	{ 1 + PFQD_RTT_NONE, "none", true },
	{ .key = NULL }
};

static const struct table classes = {
	.key = "classes", .title = "class", .columns = class_columns, .rows = class_rows,
	.last_row = __PFQD_RTT_MAX, .last_column = TCA_PFQD_CLASS_MAX,
	.packets = TCA_PFQD_CLASS_PACKETS, .sparse = true,
};

#define ROW_MAX		(1 + PFQD_BANDS)
#define COLUMN_MAX	TCA_PFQD_TIER_MAX

_Static_assert(__PFQD_TIER_MAX <= ROW_MAX && __PFQD_RTT_MAX <= ROW_MAX, "rows of all tables");
_Static_assert(TCA_PFQD_CLASS_MAX <= COLUMN_MAX, "columns of all tables");

const char *tier_name(uint64_t tier)
{
	return tier < __PFQD_TIER_MAX ? tier_rows[tier].key : NULL;
}

/* --- sojourn ---------------------------------------------------------------------- */

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

/* --- a table ---------------------------------------------------------------------- */

static bool row_empty(const struct table *table, const struct rtattr *nest)
{
	const struct rtattr *tb[COLUMN_MAX + 1];
	uint64_t packets = 0;

	attr_parse(tb, table->last_column, nest);
	attr_number(tb[table->packets], sizeof(packets), &packets);
	return !packets;
}

/* Whether a packet was in a row that takes a stamp. */
static bool table_has_stamps(const struct table *table, const struct rtattr **rows)
{
	const struct row *row;

	for (row = table->rows; row->key; row++) {
		if (!row->plain && rows[row->attr] && !row_empty(table, rows[row->attr]))
			return true;
	}
	return false;
}

static void print_titles(FILE *out, const struct table *table)
{
	const struct column *column;

	fprintf(out, "  %-*s", NAME_WIDTH, table->title);
	for (column = table->columns; column->key; column++)
		fprintf(out, "%*s", column->width, column->title);
	if (table->sojourn)
		fprintf(out, "%*s%*s", SOJOURN_WIDTH, "wait-p50", SOJOURN_WIDTH, "wait-p99");
}

static void print_row(FILE *out, const struct table *table, const char *name,
		      const struct rtattr *nest, bool human)
{
	const struct rtattr *tb[COLUMN_MAX + 1];
	const struct column *column;
	struct sojourn sojourn;
	uint64_t value;

	attr_parse(tb, table->last_column, nest);
	open_json_object(name);
	if (human) {
		print_nl();
		fprintf(out, "  %-*s", NAME_WIDTH, name);
	}
	for (column = table->columns; column->key; column++) {
		if (attr_number(tb[column->attr], column->size, &value)) {
			json_u64(column->key, value);
			if (human)
				fprintf(out, "%*" PRIu64, column->width, value);
		} else if (human) {
			fprintf(out, "%*s", column->width, "-");
		}
	}
	if (table->sojourn) {
		sojourn_read(&sojourn, tb[table->sojourn]);
		if (human) {
			print_percentile(out, &sojourn, 50);
			print_percentile(out, &sojourn, 99);
		}
		json_sojourn(&sojourn);
	}
	close_json_object();
}

static void table_print(FILE *out, const struct table *table, const struct rtattr *nest)
{
	const struct rtattr *tb[ROW_MAX + 1];
	bool human = !is_json_context();
	const struct row *row;

	if (!nest)
		return;
	attr_parse(tb, table->last_row, nest);
	if (human && table->sparse && !table_has_stamps(table, tb))
		return;
	if (human)
		print_titles(out, table);
	open_json_object(table->key);
	for (row = table->rows; row->key; row++) {
		if (!tb[row->attr])
			continue;
		if (human && table->sparse && row_empty(table, tb[row->attr]))
			continue;
		print_row(out, table, row->key, tb[row->attr], human);
	}
	close_json_object();
	print_nl();
}

void tiers_print(FILE *out, const struct rtattr *nest)
{
	table_print(out, &tiers, nest);
}

void bands_print(FILE *out, const struct rtattr *nest)
{
	table_print(out, &bands, nest);
}

void classes_print(FILE *out, const struct rtattr *nest)
{
	table_print(out, &classes, nest);
}
