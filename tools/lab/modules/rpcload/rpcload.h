/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rpcload: the applications of the lab, inside the kernel.
 *
 * Userspace costs no virtual time in the lab but much real time: a system call
 * of a User-Mode Linux guest is 23 us of wall clock. So the process that owns
 * the sockets hands them over, and this module does what the applications
 * would: a thread sends every message at its nanosecond with the same
 * sock_sendmsg() that send(2) ends in, and the sockets' data_ready callback
 * reads what arrived, as an application that never sleeps would.
 *
 * One struct rpcload per open file. The schedule is an array of messages in
 * blocks; a connection keeps the messages that it carries in a FIFO through
 * rpcload_msg.next, because a TCP stream delivers them in the order sent.
 */
#ifndef RPCLOAD_H
#define RPCLOAD_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/lab_rpcload.h>
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <net/sock.h>

#define RPCLOAD_BLOCK_SHIFT	10
#define RPCLOAD_BLOCK_MSGS	BIT(RPCLOAD_BLOCK_SHIFT)
#define RPCLOAD_MAX_BLOCKS	16384	/* 16 million messages */
#define RPCLOAD_NO_MSG		U32_MAX

struct rpcload_msg {
	struct rpcload_record rec;
	u64 end;	/* offset of its last byte + 1 in its stream */
	u32 pick;
	u32 next;	/* the next message on the same connection */
};

struct rpcload_pair;

struct rpcload_stream {
	struct socket *tx;
	struct socket *rx;
	struct rpcload *load;
	struct rpcload_pair *pair;
	u32 index;	/* within the pair */

	spinlock_t lock;	/* the FIFO and written */
	u32 head;
	u32 tail;
	u64 written;
	u64 delivered;	/* receive path only */

	void (*saved_data_ready)(struct sock *sk);
};

/* The connections from one host to one other. */
struct rpcload_pair {
	u32 count;
	atomic64_t pending[RPCLOAD_MAX_CONNS];	/* undelivered bytes */
	struct rpcload_stream *streams[RPCLOAD_MAX_CONNS];
};

struct rpcload {
	struct mutex lock;	/* set-up, schedule, run and log calls */

	u32 hosts;
	u32 choice;
	u32 chunk;
	bool whole;
	struct rpcload_pair **pairs;	/* hosts * hosts, NULL where no connection */
	struct rpcload_stream *streams;
	u32 stream_count;

	struct rpcload_msg **blocks;
	u32 msg_count;
	u32 read_pos;

	struct task_struct *sender;
	void *payload;
	ktime_t start;
	wait_queue_head_t wait;
	u32 sent;
	atomic_t finished;
	u64 short_writes;
	u64 send_errors;
	atomic64_t bytes_read;
};

static inline struct rpcload_msg *rpcload_msg_at(struct rpcload *load, u32 id)
{
	return &load->blocks[id >> RPCLOAD_BLOCK_SHIFT][id & (RPCLOAD_BLOCK_MSGS - 1)];
}

static inline u64 rpcload_now(const struct rpcload *load)
{
	return ktime_to_ns(ktime_sub(ktime_get(), load->start));
}

/* rpcload_conns.c */
int rpcload_add_conns(struct rpcload *load, const struct rpcload_setup *setup);
void rpcload_release_conns(struct rpcload *load);
void rpcload_stream_push(struct rpcload_stream *stream, u32 id);

/* rpcload_send.c */
int rpcload_start_sender(struct rpcload *load);
void rpcload_stop_sender(struct rpcload *load);

#endif /* RPCLOAD_H */
