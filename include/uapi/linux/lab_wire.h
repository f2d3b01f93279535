/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * lab_wire: link attributes of "wire", the lab's point-to-point Ethernet link.
 *
 * A wire is a pair of netdevs, made by one RTM_NEWLINK of kind "wire" (the peer
 * is described in IFLA_LAB_WIRE_PEER) and changed by RTM_NEWLINK on either end.
 * Each end has its own transmitter (rate, delay, ring, loss) and receiver
 * (moderation, lateness, GRO): a link may be asymmetric. What is not given
 * keeps its value; a new end is a switch's port: 25 Gbit/s, 1 us, room for one
 * frame, no loss, no moderation, no GRO.
 *
 * The wire time of a frame is exact, carried below the nanosecond:
 *
 *	max(length + LAB_WIRE_OVERHEAD, LAB_WIRE_MIN_FRAME) * 8 / rate
 *
 * Random numbers are splitmix64 streams, so that a test can foretell them: a
 * stream starts with state = seed ^ (LAB_WIRE_STREAM_x << 32), and each draw is
 *
 *	state += 0x9e3779b97f4a7c15
 *	z = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9
 *	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
 *	draw = z ^ (z >> 31)
 *
 * A frame is lost when (draw >> 32) * 1000000 >> 32 < loss, one draw a frame
 * while loss is not 0. Setting the seed restarts both streams of that end.
 */
#ifndef _UAPI_LINUX_LAB_WIRE_H
#define _UAPI_LINUX_LAB_WIRE_H

#include <linux/types.h>

#define LAB_WIRE_OVERHEAD	24	/* bytes: FCS 4, preamble 8, gap 12 (IEEE 802.3) */
#define LAB_WIRE_MIN_FRAME	84	/* bytes: 64 with FCS, preamble 8, gap 12 */

#define LAB_WIRE_STREAM_LOSS		1
#define LAB_WIRE_STREAM_LATENESS	2

/* Which frames a receiver may hold back, IFLA_LAB_WIRE_MODERATION_MODE. */
enum lab_wire_moderation {
	/* none */
	LAB_WIRE_MODERATION_OFF,
	/* full-sized TCP frames without PSH, and pure ACKs */
	LAB_WIRE_MODERATION_PSH,
	/* every frame */
	LAB_WIRE_MODERATION_ALL,
	__LAB_WIRE_MODERATION_MAX
};

/* Attributes in IFLA_INFO_DATA. */
enum {
	IFLA_LAB_WIRE_UNSPEC,
	IFLA_LAB_WIRE_PAD,
	/* struct ifinfomsg, then IFLA_* of the other end; at creation only */
	IFLA_LAB_WIRE_PEER,
	/* u64, bit/s, 1000 .. 10^13 */
	IFLA_LAB_WIRE_RATE,
	/* u64, ns from the end of serialisation to arrival, 0 .. 10^10 */
	IFLA_LAB_WIRE_DELAY,
	/* u64, wire bytes that stop a queue, 0 .. 2^30; 0 stops after each frame */
	IFLA_LAB_WIRE_RING,
	/* u32, frames in a million that vanish, 0 .. 1000000 */
	IFLA_LAB_WIRE_LOSS,
	/* u32, of this end's random numbers */
	IFLA_LAB_WIRE_SEED,
	/* u32, ns after the previous delivery, 0 .. 10^9 */
	IFLA_LAB_WIRE_MODERATION,
	/* u8, enum lab_wire_moderation */
	IFLA_LAB_WIRE_MODERATION_MODE,
	/* u32, ns at most from the interrupt to the stack, 0 .. 10^9 */
	IFLA_LAB_WIRE_LATENESS,
	/* u8, 0 or 1: receive offload (what ethtool -K DEV gro sets) */
	IFLA_LAB_WIRE_GRO,
	/*
	 * u8, 0 or 1, at creation only: this end has a parent on a bus, as a network
	 * card has, and says so when its rate changes
	 */
	IFLA_LAB_WIRE_BUS,
	__IFLA_LAB_WIRE_MAX
};

#define IFLA_LAB_WIRE_MAX (__IFLA_LAB_WIRE_MAX - 1)

/* Counters of one end, u64 attributes in IFLA_INFO_XSTATS; ethtool -S has them too. */
enum {
	LAB_WIRE_STAT_UNSPEC,
	LAB_WIRE_STAT_PAD,
	/* frames serialised, their bytes, and with all of Ethernet's overhead */
	LAB_WIRE_STAT_TX_FRAMES,
	LAB_WIRE_STAT_TX_BYTES,
	LAB_WIRE_STAT_TX_WIRE_BYTES,
	/* of those: TCP with payload, or UDP */
	LAB_WIRE_STAT_TX_DATA,
	/* of those: vanished by IFLA_LAB_WIRE_LOSS */
	LAB_WIRE_STAT_LOST,
	/* of those: the other end was down or gone */
	LAB_WIRE_STAT_PEER_DOWN,
	/* refused: no Ethernet header, or a sender ignored the stopped queue */
	LAB_WIRE_STAT_REFUSED,
	/* thrown away, sending or receiving, because this end went down */
	LAB_WIRE_STAT_PURGED,
	/* frames and bytes handed to the stack */
	LAB_WIRE_STAT_RX_FRAMES,
	LAB_WIRE_STAT_RX_BYTES,
	/* hand-overs of one or more frames */
	LAB_WIRE_STAT_RX_BATCHES,
	/* frames that did not go up at their arrival */
	LAB_WIRE_STAT_HELD,
	/* of those: sent up early by a frame that must not wait */
	LAB_WIRE_STAT_FLUSHED,
	/* arrived larger than this end's MTU and dropped */
	LAB_WIRE_STAT_OVERSIZE,
	/* arrived and dropped for want of memory */
	LAB_WIRE_STAT_NO_MEMORY,
	__LAB_WIRE_STAT_MAX
};

#define LAB_WIRE_STAT_MAX (__LAB_WIRE_STAT_MAX - 1)

#endif /* _UAPI_LINUX_LAB_WIRE_H */
