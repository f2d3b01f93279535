// SPDX-License-Identifier: GPL-2.0-only
/*
 * The plugin that teaches tc(8) the qdisc pfqd.
 *
 * options.c	the options: typed, explained, shown
 * stats.c	what `tc -s qdisc show` says
 * flow.c	what `tc -s class show` says of a class, which is a backlogged flow
 * value.c	numbers with units, exactly
 * attr.c	reading what the kernel sent, which may be older or newer
 *
 * Flows come and go by themselves, so there is nothing to say to a class.
 */
#include "options.h"
#include "stats.h"
#include "tc.h"

static int pfqd_parse_qopt(const struct qdisc_util *qu, int argc, char **argv,
			   struct nlmsghdr *n, const char *dev)
{
	(void)qu;
	(void)dev;
	return options_parse(argc, argv, n);
}

static int pfqd_print_qopt(const struct qdisc_util *qu, FILE *f, struct rtattr *opt)
{
	(void)qu;
	options_print(f, opt);
	return 0;
}

static int pfqd_print_xstats(const struct qdisc_util *qu, FILE *f, struct rtattr *xstats)
{
	(void)qu;
	stats_print(f, xstats);
	return 0;
}

__attribute__((visibility("default")))
struct qdisc_util pfqd_qdisc_util = {
	.id		= "pfqd",
	.parse_qopt	= pfqd_parse_qopt,
	.print_qopt	= pfqd_print_qopt,
	.print_xstats	= pfqd_print_xstats,
};
