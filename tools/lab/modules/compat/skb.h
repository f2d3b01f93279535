/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fields of a packet that not every kernel has. Found out by looking
 * (../wire/Kbuild).
 */
#ifndef _LAB_COMPAT_SKB_H
#define _LAB_COMPAT_SKB_H

#include <linux/skbuff.h>

/* How often traffic control has duplicated or redirected the packet so far. */
static inline void lab_skb_clear_tc_depth(struct sk_buff *skb)
{
#ifdef LAB_HAVE_TC_DEPTH
	skb->tc_depth = 0;
#endif
}

#endif /* _LAB_COMPAT_SKB_H */
