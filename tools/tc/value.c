// SPDX-License-Identifier: GPL-2.0-only
/*
 * A number with a unit is digits / 10^places * unit / divisor. Fractions are
 * cancelled before anything is multiplied, so the result is exact whenever it
 * fits 64 bits, with integers alone.
 */
#include "value.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <strings.h>

#define KI	1024ULL
#define K	1000ULL
#define BITS	8	/* a byte */

/* 10^18 * BITS fits 64 bits. */
#define PLACES_MAX	18

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit count_units[] = {
	{ "", 1 },
	{ NULL, 0 }
};

/* In bits, because tc has kbit among its sizes. */
static const struct unit size_units[] = {
	{ "", BITS }, { "b", BITS },
	{ "k", BITS * KI }, { "kb", BITS * KI }, { "kbit", KI },
	{ "m", BITS * KI * KI }, { "mb", BITS * KI * KI }, { "mbit", KI * KI },
	{ "g", BITS * KI * KI * KI }, { "gb", BITS * KI * KI * KI },
	{ "gbit", KI * KI * KI },
	{ NULL, 0 }
};

static const struct unit time_units[] = {
	{ "", 1 }, { "us", 1 }, { "usec", 1 }, { "usecs", 1 },
	{ "ms", K }, { "msec", K }, { "msecs", K },
	{ "s", K * K }, { "sec", K * K }, { "secs", K * K },
	{ NULL, 0 }
};

/* In bits/s. */
static const struct unit rate_units[] = {
	{ "", 1 }, { "bit", 1 },
	{ "kbit", K }, { "mbit", K * K }, { "gbit", K * K * K }, { "tbit", K * K * K * K },
	{ "kibit", KI }, { "mibit", KI * KI }, { "gibit", KI * KI * KI },
	{ "tibit", KI * KI * KI * KI },
	{ "bps", BITS },
	{ "kbps", BITS * K }, { "mbps", BITS * K * K }, { "gbps", BITS * K * K * K },
	{ "tbps", BITS * K * K * K * K },
	{ "kibps", BITS * KI }, { "mibps", BITS * KI * KI },
	{ "gibps", BITS * KI * KI * KI }, { "tibps", BITS * KI * KI * KI * KI },
	{ NULL, 0 }
};

/* Largest first: the units that are printed, in what the kernel counts. */
static const struct unit count_print[] = {
	{ "", 1 }, { NULL, 0 }
};

static const struct unit size_print[] = {
	{ "Gb", KI * KI * KI }, { "Mb", KI * KI }, { "Kb", KI }, { "b", 1 }, { NULL, 0 }
};

static const struct unit time_print[] = {
	{ "s", K * K }, { "ms", K }, { "us", 1 }, { NULL, 0 }
};

static const struct unit rate_print[] = {
	{ "Tbit", K * K * K * K }, { "Gbit", K * K * K }, { "Mbit", K * K },
	{ "Kbit", K }, { "bit", 1 }, { NULL, 0 }
};

static const struct {
	const struct unit *units;	/* understood */
	const struct unit *print;
	uint64_t divisor;		/* of the units understood */
} kinds[__VALUE_KINDS] = {
	[VALUE_COUNT]	= { count_units, count_print, 1 },
	[VALUE_SIZE]	= { size_units, size_print, BITS },
	[VALUE_TIME]	= { time_units, time_print, 1 },
	[VALUE_RATE]	= { rate_units, rate_print, BITS },
};

const char *const value_unit[__VALUE_KINDS] = {
	[VALUE_COUNT]	= "",
	[VALUE_SIZE]	= "bytes",
	[VALUE_TIME]	= "microseconds",
	[VALUE_RATE]	= "bytes a second",
};

const char *const value_example[__VALUE_KINDS] = {
	[VALUE_COUNT]	= "16",
	[VALUE_SIZE]	= "1514b, 64kb or 1mb",
	[VALUE_TIME]	= "20us, 5ms or 1s",
	[VALUE_RATE]	= "100mbit or 25gbit",
};

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Appends a run of digits; false when they do not fit. */
static bool take_digits(const char **at, uint64_t *number, int *count)
{
	for (*count = 0; is_digit(**at); (*at)++, (*count)++) {
		if (__builtin_mul_overflow(*number, 10, number) ||
		    __builtin_add_overflow(*number, **at - '0', number))
			return false;
	}
	return true;
}

static const struct unit *find_unit(const struct unit *units, const char *name)
{
	for (; units->name; units++) {
		if (!strcasecmp(units->name, name))
			return units;
	}
	return NULL;
}

/* Only the syntax: are there digits, perhaps a fraction, and a unit? */
static const struct unit *check_syntax(const struct unit *units, const char *text)
{
	if (!is_digit(*text))
		return NULL;
	while (is_digit(*text))
		text++;
	if (*text == '.') {
		if (!is_digit(*++text))
			return NULL;
		while (is_digit(*text))
			text++;
	}
	return find_unit(units, text);
}

enum value_error value_parse(enum value_kind kind, const char *text, uint64_t *value)
{
	const struct unit *unit = check_syntax(kinds[kind].units, text);
	uint64_t number = 0, below = kinds[kind].divisor, factor, common;
	int whole, places = 0;

	if (!unit)
		return VALUE_SYNTAX;
	if (!take_digits(&text, &number, &whole))
		return VALUE_OVERFLOW;
	if (*text == '.') {
		text++;
		if (!take_digits(&text, &number, &places) || places > PLACES_MAX)
			return VALUE_FRACTION;
	}
	while (places--)
		below *= 10;
	factor = unit->factor;
	common = gcd(factor, below);
	factor /= common;
	below /= common;
	if (number % below)
		return VALUE_FRACTION;
	number /= below;
	return __builtin_mul_overflow(number, factor, value) ? VALUE_OVERFLOW : VALUE_OK;
}

const char *value_print(enum value_kind kind, uint64_t value, char *text)
{
	const struct unit *unit = kinds[kind].print;

	if (kind == VALUE_RATE) {
		/* too much for bits: nothing that a kernel says, but it must not wrap */
		if (value > UINT64_MAX / BITS) {
			snprintf(text, VALUE_TEXT_MAX, "%" PRIu64 "bps", value);
			return text;
		}
		value *= BITS;
	}
	while (unit[1].name && (!value || value % unit->factor))
		unit++;
	snprintf(text, VALUE_TEXT_MAX, "%" PRIu64 "%s", value / unit->factor, unit->name);
	return text;
}

const char *value_print_ns(uint64_t ns, char *text)
{
	static const struct unit units[] = {
		{ "s", K * K * K }, { "ms", K * K }, { "us", K }, { "ns", 1 }
	};
	const struct unit *unit = units;
	double number;

	while (unit->factor > 1 && ns < unit->factor)
		unit++;
	number = (double)ns / (double)unit->factor;
	snprintf(text, VALUE_TEXT_MAX, "%.*f%s",
		 unit->factor == 1 || number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2,
		 number, unit->name);
	return text;
}
