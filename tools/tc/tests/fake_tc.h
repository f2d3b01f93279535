/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A tc to test the plugin in: it has the functions that the plugin calls, and ends
 * the program when they are called in an order that makes no valid JSON.
 *
 * Included once, by the test program itself.
 */
#ifndef PFQD_FAKE_TC_H
#define PFQD_FAKE_TC_H

#include <stdlib.h>
#include <string.h>

#include "tc.h"

#define DEPTH_MAX	8
#define KEYS_MAX	64

static bool fake_json;
static FILE *fake_out;

/* What is open: an object's keys so far, or an array. */
static struct {
	bool		array;
	unsigned int	keys;
	const char	*key[KEYS_MAX];
} fake_open[DEPTH_MAX];
static unsigned int fake_depth;

/* Every key that was ever printed. */
static const char *fake_seen[4 * KEYS_MAX];
static unsigned int fake_seen_count;

static void fake_fail(const char *what, const char *key)
{
	fprintf(stderr, "not valid JSON: %s, key '%s'\n", what, key ? key : "(none)");
	abort();
}

static bool fake_has_seen(const char *key)
{
	unsigned int i;

	for (i = 0; i < fake_seen_count; i++) {
		if (!strcmp(fake_seen[i], key))
			return true;
	}
	return false;
}

static void fake_key(const char *key)
{
	unsigned int i, depth = fake_depth - 1;

	if (!fake_depth)
		fake_fail("a value outside of everything", key);
	if (fake_open[depth].array) {
		if (key)
			fake_fail("a key in an array", key);
		return;
	}
	if (!key)
		fake_fail("no key in an object", key);
	for (i = 0; i < fake_open[depth].keys; i++) {
		if (!strcmp(fake_open[depth].key[i], key))
			fake_fail("the same key twice", key);
	}
	if (i == KEYS_MAX)
		fake_fail("too many keys", key);
	fake_open[depth].key[fake_open[depth].keys++] = key;
	if (!fake_has_seen(key))
		fake_seen[fake_seen_count++] = key;
}

static void fake_start(const char *key, bool array)
{
	if (!fake_json)
		return;
	if (fake_depth)
		fake_key(key);
	if (fake_depth == DEPTH_MAX)
		fake_fail("too deep", key);
	fake_open[fake_depth].array = array;
	fake_open[fake_depth++].keys = 0;
}

static void fake_end(bool array)
{
	if (!fake_json)
		return;
	if (!fake_depth || fake_open[fake_depth - 1].array != array)
		fake_fail("an end without a start", NULL);
	fake_depth--;
}

bool is_json_context(void) { return fake_json; }
void open_json_object(const char *key) { fake_start(key, false); }
void close_json_object(void) { fake_end(false); }

void open_json_array(enum output_type type, const char *key)
{
	(void)type;
	fake_start(key, true);
}

void close_json_array(enum output_type type, const char *key)
{
	(void)type;
	(void)key;
	fake_end(true);
}

void print_nl(void)
{
	if (!fake_json)
		fputc('\n', fake_out);
}

int print_color_u64(enum output_type t, enum color_attr color, const char *key,
		    const char *fmt, uint64_t value)
{
	(void)t;
	(void)color;
	(void)fmt;
	(void)value;
	if (fake_json)
		fake_key(key);
	return 0;
}

int print_color_bool(enum output_type t, enum color_attr color, const char *key,
		     const char *fmt, bool value)
{
	return print_color_u64(t, color, key, fmt, value);
}

int print_color_string(enum output_type t, enum color_attr color, const char *key,
		       const char *fmt, const char *value)
{
	return print_color_u64(t, color, key, fmt, strlen(value));
}

/* Requests: appended as tc does it, to a message that the test made. */
int addattr_l(struct nlmsghdr *n, int maxlen, int type, const void *data, int alen)
{
	struct rtattr *attr = (void *)((char *)n + NLMSG_ALIGN(n->nlmsg_len));
	int len = RTA_LENGTH(alen);

	if (NLMSG_ALIGN(n->nlmsg_len) + RTA_ALIGN(len) > (unsigned int)maxlen)
		return -1;
	attr->rta_type = type;
	attr->rta_len = len;
	if (alen)
		memcpy(RTA_DATA(attr), data, alen);
	n->nlmsg_len = NLMSG_ALIGN(n->nlmsg_len) + RTA_ALIGN(len);
	return 0;
}

struct rtattr *addattr_nest(struct nlmsghdr *n, int maxlen, int type)
{
	struct rtattr *nest = (void *)((char *)n + NLMSG_ALIGN(n->nlmsg_len));

	addattr_l(n, maxlen, type, NULL, 0);
	return nest;
}

int addattr_nest_end(struct nlmsghdr *n, struct rtattr *nest)
{
	nest->rta_len = (char *)n + NLMSG_ALIGN(n->nlmsg_len) - (char *)nest;
	return n->nlmsg_len;
}

#endif /* PFQD_FAKE_TC_H */
