/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * lab_rpcload: the interface between the lab's load generator (a process, owner
 * of every socket) and rpcload.ko, which plays the applications: it sends each
 * message at its nanosecond and notes when its last byte became readable.
 *
 * One open file of /dev/rpcload is one experiment:
 *
 *   RPCLOAD_ADD_CONNS   hand over connected TCP sockets, grouped by host pair
 *   write()             the schedule: struct rpcload_message, sorted by time
 *   RPCLOAD_RUN         run for a stretch of virtual time; repeat until done
 *   read()              the log: struct rpcload_record, one per message
 *
 * All times are nanoseconds of virtual time since the start of traffic (the
 * first RPCLOAD_RUN). Every structure is checked: a bad index, an unsorted
 * schedule or a size out of range gives -EINVAL and changes nothing.
 */
#ifndef _UAPI_LINUX_LAB_RPCLOAD_H
#define _UAPI_LINUX_LAB_RPCLOAD_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define RPCLOAD_MAX_HOSTS	1024
#define RPCLOAD_MAX_CONNS	64		/* per ordered host pair */
#define RPCLOAD_MAX_BYTES	(64U << 20)	/* one message */
#define RPCLOAD_UNFINISHED	(~0ULL)		/* in rpcload_record.done_ns */

/* How a message picks one of its host pair's connections. */
enum rpcload_choice {
	/* a random one with no undelivered byte, else the one with fewest */
	RPCLOAD_CHOICE_IDLE,
	/* any at random, as HomaModule's cp_node does */
	RPCLOAD_CHOICE_RANDOM,
	__RPCLOAD_CHOICE_MAX
};

/**
 * struct rpcload_conn - one connection: two ends, both ours
 * @tx_fd: the end that sends messages
 * @rx_fd: the end that receives them
 * @src: index of the sending host
 * @dst: index of the receiving host
 */
struct rpcload_conn {
	__s32 tx_fd;
	__s32 rx_fd;
	__u16 src;
	__u16 dst;
};

/**
 * struct rpcload_setup - RPCLOAD_ADD_CONNS
 * @conns: user pointer to @count struct rpcload_conn
 * @count: number of connections
 * @hosts: number of hosts, 2 .. RPCLOAD_MAX_HOSTS
 * @choice: enum rpcload_choice
 * @chunk: bytes per send call; 0 writes a message whole
 * @whole: TCP sends nothing of a send call before all of it is copied, which a
 *	stock kernel does not do
 * @cc: congestion control that every socket must really be using; a socket
 *	that runs another fails the call with -ESTALE
 */
struct rpcload_setup {
	__u64 conns;
	__u32 count;
	__u32 hosts;
	__u32 choice;
	__u32 chunk;
	__u32 whole;
	__u32 pad;
	char cc[16];
};

/**
 * struct rpcload_message - one entry of the schedule
 * @at_ns: when the application sends it
 * @bytes: payload, 1 .. RPCLOAD_MAX_BYTES
 * @pick: uniform random number that decides the connection
 * @src: sending host
 * @dst: receiving host, not @src
 */
struct rpcload_message {
	__u64 at_ns;
	__u32 bytes;
	__u32 pick;
	__u16 src;
	__u16 dst;
	__u32 pad;
};

/**
 * struct rpcload_record - one entry of the log, in schedule order
 * @at_ns: arrival time in the schedule
 * @sent_ns: when the send call returned
 * @done_ns: when the last byte became readable, or RPCLOAD_UNFINISHED
 * @id: position in the schedule
 * @bytes: payload
 * @src: sending host
 * @dst: receiving host
 * @conn: connection within the host pair, 0 ..
 * @flags: 0
 */
struct rpcload_record {
	__u64 at_ns;
	__u64 sent_ns;
	__u64 done_ns;
	__u32 id;
	__u32 bytes;
	__u16 src;
	__u16 dst;
	__u16 conn;
	__u16 flags;
};

/**
 * struct rpcload_run - RPCLOAD_RUN: go on until @until_ns or until all is done
 * @until_ns: in: return at this time at the latest
 * @now_ns: out: the time
 * @sent: out: messages sent so far
 * @finished: out: messages whose last byte was read
 * @short_writes: out: send calls that took less than was asked
 * @send_errors: out: send calls that failed
 * @bytes_read: out: payload bytes read by the receivers
 */
struct rpcload_run {
	__u64 until_ns;
	__u64 now_ns;
	__u64 sent;
	__u64 finished;
	__u64 short_writes;
	__u64 send_errors;
	__u64 bytes_read;
};

#define RPCLOAD_ADD_CONNS	_IOW('w', 1, struct rpcload_setup)
#define RPCLOAD_RUN		_IOWR('w', 2, struct rpcload_run)

#endif /* _UAPI_LINUX_LAB_RPCLOAD_H */
