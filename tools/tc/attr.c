// SPDX-License-Identifier: GPL-2.0-only
#include "attr.h"

#include <linux/netlink.h>
#include <string.h>

#define HEADER	RTA_ALIGN(sizeof(struct rtattr))

size_t attr_size(const struct rtattr *attr)
{
	return attr && attr->rta_len > HEADER ? attr->rta_len - HEADER : 0;
}

const void *attr_data(const struct rtattr *attr)
{
	return (const char *)attr + HEADER;
}

void attr_parse(const struct rtattr **tb, int max, const struct rtattr *nest)
{
	size_t left = attr_size(nest);
	const char *at;
	int type;

	memset(tb, 0, sizeof(*tb) * (max + 1));
	if (!left)
		return;
	for (at = attr_data(nest); left >= HEADER;) {
		const struct rtattr *attr = (const struct rtattr *)at;
		size_t step = RTA_ALIGN((size_t)attr->rta_len);

		if (attr->rta_len < HEADER || attr->rta_len > left)
			return;
		type = attr->rta_type & NLA_TYPE_MASK;
		if (type <= max)
			tb[type] = attr;
		if (step >= left)
			return;
		at += step;
		left -= step;
	}
}

bool attr_number(const struct rtattr *attr, size_t size, uint64_t *value)
{
	uint64_t u64;
	uint32_t u32;
	uint16_t u16;

	if (!attr || attr_size(attr) != size)
		return false;
	switch (size) {
	case sizeof(uint8_t):
		*value = *(const uint8_t *)attr_data(attr);
		return true;
	case sizeof(u16):
		memcpy(&u16, attr_data(attr), size);
		*value = u16;
		return true;
	case sizeof(u32):
		memcpy(&u32, attr_data(attr), size);
		*value = u32;
		return true;
	case sizeof(u64):
		memcpy(&u64, attr_data(attr), size);
		*value = u64;
		return true;
	}
	return false;
}

uint64_t attr_element(const struct rtattr *attr, size_t index)
{
	uint64_t value;

	memcpy(&value, (const char *)attr_data(attr) + index * sizeof(value), sizeof(value));
	return value;
}
