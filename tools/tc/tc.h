/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What tc(8) and its plugins say to each other.
 *
 * iproute2 installs no header for plugins, so this one states the part of its
 * interface that is used here. All of it has been in tc, unchanged for the
 * linker, from iproute2 6.1 to 7.2; scripts/tests/tc.sh looks that up in the tc
 * of each supported Debian release.
 *
 * tc looks for the qdisc KIND in the object q_KIND.so, in /usr/lib/tc, its own
 * library directory or $TC_LIB_DIR, and there for the symbol KIND_qdisc_util.
 *
 * Text for people is written to stdout here and not through print_*(): their
 * colours are an enum that may be renumbered, and their sizes and rates are
 * rounded, so that what they print is not what was set.
 */
#ifndef PFQD_TC_H
#define PFQD_TC_H

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Until iproute2 6.8 the callbacks' first argument was not const: same ABI. */
struct qdisc_util {
	struct qdisc_util *next;
	const char *id;
	int (*parse_qopt)(const struct qdisc_util *qu, int argc, char **argv,
			  struct nlmsghdr *n, const char *dev);
	int (*print_qopt)(const struct qdisc_util *qu, FILE *f, struct rtattr *opt);
	int (*print_xstats)(const struct qdisc_util *qu, FILE *f, struct rtattr *xstats);
	int (*parse_copt)(const struct qdisc_util *qu, int argc, char **argv,
			  struct nlmsghdr *n, const char *dev);
	int (*print_copt)(const struct qdisc_util *qu, FILE *f, struct rtattr *opt);
	int (*has_block)(const struct qdisc_util *qu, struct rtattr *opt,
			 uint32_t block_idx, bool *p_has);
};

/* A request: attributes are appended as long as the message stays below maxlen. */
int addattr_l(struct nlmsghdr *n, int maxlen, int type, const void *data, int alen);
struct rtattr *addattr_nest(struct nlmsghdr *n, int maxlen, int type);
int addattr_nest_end(struct nlmsghdr *n, struct rtattr *nest);

/* Output. PRINT_JSON prints nothing unless tc was called with -j. */
enum output_type {
	PRINT_JSON = 2,
};

/* Has no meaning in JSON. */
enum color_attr {
	COLOR_FIRST = 0,
};

bool is_json_context(void);
void print_nl(void);
void open_json_object(const char *key);
void close_json_object(void);
void open_json_array(enum output_type type, const char *key);
void close_json_array(enum output_type type, const char *key);
int print_color_u64(enum output_type t, enum color_attr color, const char *key,
		    const char *fmt, uint64_t value);
int print_color_string(enum output_type t, enum color_attr color, const char *key,
		       const char *fmt, const char *value);
int print_color_bool(enum output_type t, enum color_attr color, const char *key,
		     const char *fmt, bool value);

static inline void json_u64(const char *key, uint64_t value)
{
	print_color_u64(PRINT_JSON, COLOR_FIRST, key, NULL, value);
}

static inline void json_string(const char *key, const char *value)
{
	print_color_string(PRINT_JSON, COLOR_FIRST, key, NULL, value);
}

static inline void json_bool(const char *key, bool value)
{
	print_color_bool(PRINT_JSON, COLOR_FIRST, key, NULL, value);
}

#endif /* PFQD_TC_H */
