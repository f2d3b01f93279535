/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The options, one entry each: what is typed, sent, accepted, explained and shown
 * all comes from here, and the numbers come from the header that the kernel
 * module is built with.
 */
#ifndef PFQD_OPTIONS_H
#define PFQD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "value.h"

struct nlmsghdr;
struct rtattr;

enum option_kind {
	OPTION_VALUE,	/* name VALUE */
	OPTION_FLAG,	/* name, or off_name */
	OPTION_SWITCH,	/* name WORD, of the words up to max */
};

struct option {
	const char	*name;
	const char	*off_name;	/* of a flag */
	const char	*what;		/* for help */
	enum option_kind kind;
	enum value_kind	value;
	bool		automatic;	/* "auto" is sent as 0 */
	int		attr;		/* TCA_PFQD_* */
	size_t		size;		/* of the attribute */
	uint64_t	min;
	uint64_t	max;
	uint64_t	initial;	/* the default */
};

/* Ends with an entry without a name. */
extern const struct option pfqd_options[];

/* Words of OPTION_SWITCH by enum pfqd_switch; NULL from pfqd_switch_words on. */
extern const char *const pfqd_switch_word[];
extern const uint64_t pfqd_switch_words;

void options_help(FILE *out);

/* Appends what argv asks for. -1, and a text on stderr: it is not understood. */
int options_parse(int argc, char **argv, struct nlmsghdr *n);

/* Prints the attributes inside opt, as text that options_parse() understands. */
void options_print(FILE *out, const struct rtattr *opt);

#endif /* PFQD_OPTIONS_H */
