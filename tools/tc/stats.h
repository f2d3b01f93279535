/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PFQD_STATS_H
#define PFQD_STATS_H

#include <stdint.h>
#include <stdio.h>

struct rtattr;

/* TCA_STATS_APP of the qdisc, or of one of its classes. */
void stats_print(FILE *out, const struct rtattr *xstats);

/* TCA_PFQD_STATS_FLOW (flow.c). */
void flow_print(FILE *out, const struct rtattr *flow);

/* NULL: a tier that is not known here. */
const char *tier_name(uint64_t tier);

#endif /* PFQD_STATS_H */
