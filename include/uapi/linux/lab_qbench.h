/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * lab_qbench: the interface between the lab's qdisc bench (a process) and
 * qbench.ko, which measures what one enqueue and one dequeue cost.
 *
 * The process makes Ethernet devices of the link kind "qbench", whose transmit
 * queue is stopped for good, and sets on each the qdisc that is to be measured.
 * One open file of /dev/qbench is one bench:
 *
 *   QBENCH_SET_SOCKETS  hand over established TCP sockets, one a flow
 *   QBENCH_RUN          build a backlog on one device and drain it; repeat
 *   QBENCH_CLOCKS       how long is a tick, and what does reading a clock cost?
 *
 * Every structure is checked: what is out of range gives -EINVAL and changes
 * nothing.
 */
#ifndef _UAPI_LINUX_LAB_QBENCH_H
#define _UAPI_LINUX_LAB_QBENCH_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define QBENCH_MAX_PACKETS	262144
#define QBENCH_MAX_FLOWS	131072
#define QBENCH_MAX_BATCH	1024

/* Whose packets: this decides what a qdisc can tell flows apart by. */
enum qbench_packets {
	/* TCP of established sockets of this host, as ip_queue_xmit() leaves it:
	 * skb->sk, the socket's hash, its departure time; not forwarded
	 */
	QBENCH_OWNED,
	/* from another interface of this host, whose NIC gave a hash of the ports */
	QBENCH_FORWARDED,
	/* the same without a hash: whoever wants one has to dissect the packet */
	QBENCH_FORWARDED_UNHASHED,
	__QBENCH_PACKETS_MAX
};

/**
 * struct qbench_sockets - QBENCH_SET_SOCKETS
 * @fds: user pointer to @count __s32, established IPv4 TCP sockets
 * @count: 1 .. QBENCH_MAX_FLOWS
 * @pad: 0
 */
struct qbench_sockets {
	__u64 fds;
	__u32 count;
	__u32 pad;
};

/**
 * struct qbench_run - QBENCH_RUN
 * @enqueue_ticks: user pointer to one __u32 a batch: how long it took to enqueue
 * @dequeue_ticks: the same for dequeuing
 * @ifindex: a device of the kind "qbench" that is up and whose qdisc is empty
 * @kind: enum qbench_packets
 * @flows: 1 .. QBENCH_MAX_FLOWS; owned: at most as many as there are sockets
 * @packets: @flows .. QBENCH_MAX_PACKETS, packet i belongs to flow
 *	(i / @burst) % @flows
 * @burst: packets of a flow that come one after the other, 1 ..
 * @batch: operations between two readings of the clock, 1 .. QBENCH_MAX_BATCH;
 *	the last batch of a run may be shorter
 * @enqueued: out: packets that the qdisc accepted
 * @refused: out: packets that enqueue() answered otherwise
 * @dropped: out: packets that came back to be freed
 * @dequeued: out: packets that came out
 * @truesize: out: of each packet
 * @frame: out: bytes of each packet, Ethernet header included
 * @slab_before: out: what the kernel's slabs take before the first enqueue, bytes
 * @slab_peak: out: the same when everything is queued
 * @instance: out: bytes of the qdisc's own structure (struct Qdisc and private data)
 * @left: out: packets that the qdisc still counts as queued
 */
struct qbench_run {
	__u64 enqueue_ticks;
	__u64 dequeue_ticks;
	__u32 ifindex;
	__u32 kind;
	__u32 flows;
	__u32 packets;
	__u32 burst;
	__u32 batch;
	__u32 enqueued;
	__u32 refused;
	__u32 dropped;
	__u32 dequeued;
	__u32 truesize;
	__u32 frame;
	__u64 slab_before;
	__u64 slab_peak;
	__u32 instance;
	__u32 left;
};

/**
 * struct qbench_clocks - QBENCH_CLOCKS
 * @ticks_per_ms: the processor's time stamp counter, which batches are timed by
 * @overhead: ticks that an empty batch takes
 * @ktime_ps: picoseconds that one ktime_get_ns() costs, which qdiscs call
 */
struct qbench_clocks {
	__u64 ticks_per_ms;
	__u32 overhead;
	__u32 ktime_ps;
};

#define QBENCH_SET_SOCKETS	_IOW('q', 1, struct qbench_sockets)
#define QBENCH_RUN		_IOWR('q', 2, struct qbench_run)
#define QBENCH_CLOCKS		_IOR('q', 3, struct qbench_clocks)

#endif /* _UAPI_LINUX_LAB_QBENCH_H */
