/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What the edge counts, for the BPF program and for pfqdctl. A packet that GRO
 * has put together counts once. Each packet counts in exactly one of them.
 *
 * The map has one 64-bit number per CPU for each. New ones go to the end: pfqdctl
 * reads the maps of older and newer programs too.
 */
#ifndef PFQDCTL_EDGE_COUNTERS_H
#define PFQDCTL_EDGE_COUNTERS_H

enum edge_counter {
	EDGE_STAMPED,		/* rewritten to the edge's stamp */
	EDGE_KEPT,		/* carried the right stamp already; nothing written */
	EDGE_NOT_IP,		/* neither IPv4 nor IPv6: passed untouched */
	EDGE_MALFORMED,		/* its IP header is short or wrong: passed untouched */
	EDGE_FAILED,		/* no memory to write, or no header where the device has it: untouched */
	EDGE_COUNTERS
};

#endif /* PFQDCTL_EDGE_COUNTERS_H */
