/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * The stamp of PFQD-DC: what a sending host writes into the DSCP of a TCP packet,
 * for every pfqd on the way. One place for module, tc plugin, BPF and tests.
 *
 *	DSCP  = code << 2 | 3		(pool 2 of RFC 2474: xxxx11, local use)
 *	code  = class << 3 | band	(4 bits)
 *
 * band	how many bytes the flow has left after this packet, by the edges below;
 *	7: no band. 6 is not used: a packet with it is not stamped.
 * class	the RTT class: 0 short, 1 long.
 *
 * Source of edges and threshold: PFQD-DC's design, section 3.2.
 */
#ifndef _UAPI_LINUX_PFQD_STAMP_H
#define _UAPI_LINUX_PFQD_STAMP_H

#define PFQD_STAMP_DSCP_SHIFT	2	/* of the code in the DSCP */
#define PFQD_STAMP_POOL		3	/* the DSCP's low bits */
#define PFQD_STAMP_POOL_MASK	3
#define PFQD_STAMP_CLASS_SHIFT	3	/* of the class in the code */
#define PFQD_STAMP_BAND_MASK	7

#define PFQD_STAMP_CODE(class, band)	((class) << PFQD_STAMP_CLASS_SHIFT | (band))
#define PFQD_STAMP_DSCP(code)	((code) << PFQD_STAMP_DSCP_SHIFT | PFQD_STAMP_POOL)

#define PFQD_BANDS		6	/* bands 0 .. 5 */
#define PFQD_BAND_NONE		7

/* The largest number of bytes left that still is in band 0, 1, ..., 4. */
#define PFQD_BAND_EDGES		{ 3000, 12000, 48000, 192000, 768000 }

enum pfqd_rtt_class {
	PFQD_RTT_SHORT,		/* min RTT below the threshold, or no sample */
	PFQD_RTT_LONG,
	PFQD_RTT_NONE,		/* not stamped */
	__PFQD_RTT_MAX
};

#define PFQD_RTT_LONG_US	1000	/* us: long from here */

/* What the datacenter's edge writes into all that enters (design, section 3.5). */
#define PFQD_STAMP_EDGE		PFQD_STAMP_CODE(PFQD_RTT_LONG, PFQD_BAND_NONE)

#endif /* _UAPI_LINUX_PFQD_STAMP_H */
