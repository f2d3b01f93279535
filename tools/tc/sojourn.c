// SPDX-License-Identifier: GPL-2.0-only
#include "sojourn.h"

#include "attr.h"

#define FIRST_BOUND	1024ULL	/* ns */

/* Counters may hold anything: a sum that does not fit stays at its largest. */
static uint64_t add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

void sojourn_read(struct sojourn *s, const struct rtattr *attr)
{
	size_t count = attr_size(attr) / sizeof(uint64_t), i, bucket;

	*s = (struct sojourn) { .buckets = 0 };
	if (attr_size(attr) % sizeof(uint64_t))
		return;
	s->buckets = count < SOJOURN_BUCKETS_MAX ? count : SOJOURN_BUCKETS_MAX;
	for (i = 0; i < count; i++) {
		bucket = i < SOJOURN_BUCKETS_MAX ? i : SOJOURN_BUCKETS_MAX - 1;
		s->packets[bucket] = add(s->packets[bucket], attr_element(attr, i));
		s->total = add(s->total, attr_element(attr, i));
	}
}

uint64_t sojourn_from(size_t bucket)
{
	return bucket ? FIRST_BOUND << (bucket - 1) : 0;
}

uint64_t sojourn_below(size_t bucket)
{
	return FIRST_BOUND << bucket;
}

bool sojourn_open(const struct sojourn *s, size_t bucket)
{
	return bucket + 1 == s->buckets;
}

size_t sojourn_percentile(const struct sojourn *s, unsigned int percent)
{
	/* ceil(total * percent / 100), without overflow */
	uint64_t rank = s->total / 100 * percent + (s->total % 100 * percent + 99) / 100;
	uint64_t seen = 0;
	size_t bucket;

	if (!s->total)
		return s->buckets;
	for (bucket = 0; bucket < s->buckets; bucket++) {
		seen = add(seen, s->packets[bucket]);
		if (seen >= rank)
			break;
	}
	return bucket;
}
