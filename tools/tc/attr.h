/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Netlink attributes of a kernel module that may be older or newer than this
 * plugin, and of whoever else answers on a socket: nothing in them is trusted.
 *
 * An attribute that is not known here is skipped; one whose length is not what
 * the interface says is taken for absent; what does not fit its container ends it.
 */
#ifndef PFQD_ATTR_H
#define PFQD_ATTR_H

#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fills tb[0 .. max] with the attributes inside nest, which may be NULL. */
void attr_parse(const struct rtattr **tb, int max, const struct rtattr *nest);

/* The payload's bytes; 0 for NULL. */
size_t attr_size(const struct rtattr *attr);
const void *attr_data(const struct rtattr *attr);

/* False, and *value untouched: there is no such number of that many bytes. */
bool attr_number(const struct rtattr *attr, size_t size, uint64_t *value);

/* Element index of an array of __u64, which netlink aligns to 4 bytes only. */
uint64_t attr_element(const struct rtattr *attr, size_t index);

#endif /* PFQD_ATTR_H */
