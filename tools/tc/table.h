/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PFQD_TABLE_H
#define PFQD_TABLE_H

#include <stdio.h>

struct rtattr;

/* TCA_PFQD_STATS_TIERS, _BANDS and _CLASSES; NULL prints nothing. */
void tiers_print(FILE *out, const struct rtattr *nest);
void bands_print(FILE *out, const struct rtattr *nest);
void classes_print(FILE *out, const struct rtattr *nest);

#endif /* PFQD_TABLE_H */
