/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Segmentation across kernels, found out by looking (see ../Kbuild), not by
 * version: skb_gso_segment() moved to a header of its own, and newer kernels
 * keep the number of segments beside the packet length.
 */
#ifndef _SCH_PFQD_COMPAT_GSO_H
#define _SCH_PFQD_COMPAT_GSO_H

#include <linux/skbuff.h>
#include <net/sch_generic.h>
#ifdef PFQD_HAVE_GSO_H
#include <net/gso.h>
#endif

static inline void pfqd_set_pkt_segs(struct sk_buff *skb, u16 segments)
{
#ifdef PFQD_HAVE_PKT_SEGS
	qdisc_skb_cb(skb)->pkt_segs = segments;
#endif
}

#endif /* _SCH_PFQD_COMPAT_GSO_H */
