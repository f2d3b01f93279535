/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * lab_depth: how deep queues are over time. depth.ko reads the backlog of the root
 * qdiscs of some interfaces at a fixed period of virtual time, from a timer, so that
 * no process runs for a sample. A sample in an idle moment costs a few ns of virtual
 * time all the same (the kernel reads the clock when it goes idle again): a run that is
 * sampled is not the run that is not, to the bit, but as good.
 *
 * One open file of /dev/lab_depth is one series:
 *
 *   LAB_DEPTH_START	begin; the first sample is taken one period from now
 *   LAB_DEPTH_STOP	end; also what close() does
 *   read()		the samples so far, oldest first: for each sample one __u32
 *			for each interface, bytes; 0 where there is no interface
 *
 * Sampling also ends when as many samples as were asked for have been taken.
 */
#ifndef _UAPI_LINUX_LAB_DEPTH_H
#define _UAPI_LINUX_LAB_DEPTH_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define LAB_DEPTH_MAX_PORTS	1024
#define LAB_DEPTH_MAX_VALUES	(1U << 24)	/* samples times ports */
#define LAB_DEPTH_MIN_PERIOD	100		/* ns */

/**
 * struct lab_depth_start - LAB_DEPTH_START
 * @ports: user pointer to @count __u32 interface numbers of the caller's
 *	network namespace
 * @count: 1 .. LAB_DEPTH_MAX_PORTS
 * @samples: at most; @count times @samples are at most LAB_DEPTH_MAX_VALUES
 * @period_ns: from LAB_DEPTH_MIN_PERIOD to 10^9
 */
struct lab_depth_start {
	__u64 ports;
	__u32 count;
	__u32 samples;
	__u64 period_ns;
};

#define LAB_DEPTH_START	_IOW('d', 1, struct lab_depth_start)
#define LAB_DEPTH_STOP	_IO('d', 2)

#endif /* _UAPI_LINUX_LAB_DEPTH_H */
