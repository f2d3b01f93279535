// SPDX-License-Identifier: GPL-2.0-only
/*
 * Numbers with units: what each text means, what is refused and why, and that
 * whatever is printed is read as the same number again.
 */
#include <inttypes.h>

#include "fake_tc.h"
#include "value.h"

static const struct {
	enum value_kind kind;
	const char *text;
	enum value_error error;
	uint64_t value;
} texts[] = {
	{ VALUE_COUNT, "0", VALUE_OK, 0 },
	{ VALUE_COUNT, "65536", VALUE_OK, 65536 },
	{ VALUE_COUNT, "18446744073709551615", VALUE_OK, UINT64_MAX },
	{ VALUE_COUNT, "18446744073709551616", VALUE_OVERFLOW, 0 },
	{ VALUE_COUNT, "1.5", VALUE_FRACTION, 0 },
	{ VALUE_COUNT, "8k", VALUE_SYNTAX, 0 },
	{ VALUE_COUNT, "-1", VALUE_SYNTAX, 0 },
	{ VALUE_COUNT, "+1", VALUE_SYNTAX, 0 },
	{ VALUE_COUNT, "", VALUE_SYNTAX, 0 },
	{ VALUE_COUNT, " 1", VALUE_SYNTAX, 0 },
	{ VALUE_COUNT, "1 ", VALUE_SYNTAX, 0 },
	{ VALUE_SIZE, "1514", VALUE_OK, 1514 },
	{ VALUE_SIZE, "1514b", VALUE_OK, 1514 },
	{ VALUE_SIZE, "1k", VALUE_OK, 1024 },
	{ VALUE_SIZE, "1KB", VALUE_OK, 1024 },
	{ VALUE_SIZE, "1.5mb", VALUE_OK, 1572864 },
	{ VALUE_SIZE, "0.0009765625mb", VALUE_OK, 1024 },
	{ VALUE_SIZE, "1gb", VALUE_OK, 1073741824 },
	{ VALUE_SIZE, "8kbit", VALUE_OK, 1024 },
	{ VALUE_SIZE, "1mbit", VALUE_OK, 131072 },
	{ VALUE_SIZE, "1gbit", VALUE_OK, 134217728 },
	{ VALUE_SIZE, "4294967297", VALUE_OK, 4294967297 },
	{ VALUE_SIZE, "17179869183gb", VALUE_OK, 18446744072635809792ULL },
	{ VALUE_SIZE, "17179869184gb", VALUE_OVERFLOW, 0 },
	{ VALUE_SIZE, "0.1b", VALUE_FRACTION, 0 },
	{ VALUE_SIZE, "1.3kb", VALUE_FRACTION, 0 },
	{ VALUE_SIZE, "1mbx", VALUE_SYNTAX, 0 },
	{ VALUE_SIZE, "mb", VALUE_SYNTAX, 0 },
	{ VALUE_SIZE, ".5mb", VALUE_SYNTAX, 0 },
	{ VALUE_SIZE, "1.mb", VALUE_SYNTAX, 0 },
	{ VALUE_SIZE, "1e6", VALUE_SYNTAX, 0 },
	{ VALUE_SIZE, "0x10", VALUE_SYNTAX, 0 },
	{ VALUE_SIZE, "nan", VALUE_SYNTAX, 0 },
	{ VALUE_SIZE, "inf", VALUE_SYNTAX, 0 },
	{ VALUE_TIME, "20", VALUE_OK, 20 },
	{ VALUE_TIME, "20us", VALUE_OK, 20 },
	{ VALUE_TIME, "20usecs", VALUE_OK, 20 },
	{ VALUE_TIME, "0.02ms", VALUE_OK, 20 },
	{ VALUE_TIME, "5msec", VALUE_OK, 5000 },
	{ VALUE_TIME, "1s", VALUE_OK, 1000000 },
	{ VALUE_TIME, "0.5us", VALUE_FRACTION, 0 },
	{ VALUE_TIME, "100ns", VALUE_SYNTAX, 0 },
	{ VALUE_TIME, "5min", VALUE_SYNTAX, 0 },
	{ VALUE_RATE, "8000", VALUE_OK, 1000 },
	{ VALUE_RATE, "8kbit", VALUE_OK, 1000 },
	{ VALUE_RATE, "25gbit", VALUE_OK, 3125000000 },
	{ VALUE_RATE, "2.5Gbit", VALUE_OK, 312500000 },
	{ VALUE_RATE, "1tbit", VALUE_OK, 125000000000 },
	{ VALUE_RATE, "1gbps", VALUE_OK, 1000000000 },
	{ VALUE_RATE, "8kibit", VALUE_OK, 1024 },
	{ VALUE_RATE, "1mibps", VALUE_OK, 1048576 },
	{ VALUE_RATE, "9bit", VALUE_FRACTION, 0 },
	{ VALUE_RATE, "10%", VALUE_SYNTAX, 0 },
	{ VALUE_RATE, "99999999999tbps", VALUE_OVERFLOW, 0 },
};

static int check_texts(void)
{
	size_t i;
	int wrong = 0;

	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		uint64_t value = 0;
		enum value_error error = value_parse(texts[i].kind, texts[i].text, &value);

		if (error == texts[i].error && (error || value == texts[i].value))
			continue;
		printf("'%s': got error %d, %" PRIu64 ", want error %d, %" PRIu64 "\n",
		       texts[i].text, error, value, texts[i].error, texts[i].value);
		wrong++;
	}
	return wrong;
}

static int check_again(enum value_kind kind, uint64_t value)
{
	char text[VALUE_TEXT_MAX];
	uint64_t again = 0;

	if (!value_parse(kind, value_print(kind, value, text), &again) && again == value)
		return 0;
	printf("%" PRIu64 " is printed '%s', which is read as %" PRIu64 "\n", value, text, again);
	return 1;
}

static int check_all_again(unsigned int *count)
{
	static const uint64_t steps[] = { 1, 1000, 1024, 1000000, 1048576, 1000000000 };
	enum value_kind kind;
	uint64_t value;
	size_t i, step;
	int wrong = 0;

	/* what fits 61 bits: sizes and rates are read through their bits */
	for (kind = 0; kind < __VALUE_KINDS; kind++) {
		for (step = 0; step < sizeof(steps) / sizeof(*steps); step++) {
			for (i = 0; i < 2000; i++, ++*count) {
				value = i * 0x9e3779b97f4a7c15 >> (3 + i % 60);
				if (i % 2)
					value = value / steps[step] * steps[step];
				wrong += check_again(kind, value);
			}
		}
	}
	return wrong;
}

static int check_ns(uint64_t ns, const char *want)
{
	char text[VALUE_TEXT_MAX];

	if (!strcmp(value_print_ns(ns, text), want))
		return 0;
	printf("%" PRIu64 " ns is printed '%s', want '%s'\n", ns, text, want);
	return 1;
}

int main(void)
{
	unsigned int again = 0;
	int wrong = check_texts() + check_all_again(&again);

	wrong += check_ns(0, "0ns") + check_ns(999, "999ns") + check_ns(1024, "1.02us") +
		 check_ns(131072, "131us") + check_ns(9999, "10.0us") +
		 check_ns(1048576, "1.05ms") + check_ns(4294967296, "4.29s") +
		 check_ns(1ULL << 50, "1125900s");
	printf("%zu texts, %u numbers printed and read, %d wrong\n",
	       sizeof(texts) / sizeof(*texts), again, wrong);
	return wrong ? 1 : 0;
}
