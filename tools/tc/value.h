/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sizes, times and rates as tc(8) writes them, exactly.
 *
 * tc's own get_size() and get_rate() go through double and cut what does not fit
 * their type; sprint_size() shows 33,554,000 bytes as 32Mb. Here a text stands for
 * one number or is refused, and a number is printed in the largest unit that needs
 * no fraction, so that what is shown can be typed again and means the same.
 */
#ifndef PFQD_VALUE_H
#define PFQD_VALUE_H

#include <stdint.h>

enum value_kind {
	VALUE_COUNT,	/* no unit */
	VALUE_SIZE,	/* bytes; k, m, g are powers of 1024 */
	VALUE_TIME,	/* microseconds */
	VALUE_RATE,	/* bytes/s, written in bits/s; k, m, g, t are powers of 1000 */
	__VALUE_KINDS
};

enum value_error {
	VALUE_OK,
	VALUE_SYNTAX,	/* not a number with a unit of that kind */
	VALUE_FRACTION,	/* not a whole number of bytes, microseconds, bytes/s */
	VALUE_OVERFLOW,	/* does not fit 64 bits */
};

/* What the number counts, and an example: for error texts. */
extern const char *const value_unit[__VALUE_KINDS];
extern const char *const value_example[__VALUE_KINDS];

enum value_error value_parse(enum value_kind kind, const char *text, uint64_t *value);

#define VALUE_TEXT_MAX	32

/* Returns text, which has room for VALUE_TEXT_MAX. */
const char *value_print(enum value_kind kind, uint64_t value, char *text);

/* A duration in ns to three digits, for statistics: "1.05ms". */
const char *value_print_ns(uint64_t ns, char *text);

#endif /* PFQD_VALUE_H */
