/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The histogram of times spent queued (TCA_PFQD_TIER_SOJOURN): its buckets double,
 * so all that can be said of a percentile is the bucket that it lies in.
 */
#ifndef PFQD_SOJOURN_H
#define PFQD_SOJOURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rtattr;

/* The last bound is 1024 ns * 2^53 = 2^63 ns; what is above it goes together. */
#define SOJOURN_BUCKETS_MAX	55

struct sojourn {
	size_t		buckets;	/* 0: no histogram */
	uint64_t	packets[SOJOURN_BUCKETS_MAX];
	uint64_t	total;
};

void sojourn_read(struct sojourn *s, const struct rtattr *attr);

/* Times in bucket are at least sojourn_from(), and below sojourn_below() ns. */
uint64_t sojourn_from(size_t bucket);
uint64_t sojourn_below(size_t bucket);
/* The last bucket has no upper bound. */
bool sojourn_open(const struct sojourn *s, size_t bucket);

/* The bucket of the percentile; s->buckets if there is none. */
size_t sojourn_percentile(const struct sojourn *s, unsigned int percent);

#endif /* PFQD_SOJOURN_H */
