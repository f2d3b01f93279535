// SPDX-License-Identifier: GPL-2.0-only
/*
 * rpcload senders: one kernel thread that writes every message at its time.
 *
 * It is a kernel thread and not the process in its ioctl because a timer
 * interrupt on a task with user memory makes User-Mode Linux signal that task's
 * host process. The thread sleeps on a zero-slack timer until the next message
 * is due, picks the connection, and writes the message whole in one
 * non-blocking send (or in chunks, where the experiment asks for it). A short
 * write is counted and ends the message there: the experiment is void then,
 * and its owner says so.
 */
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/uio.h>
#include <net/tcp.h>

#include "rpcload.h"

#define RPCLOAD_PAYLOAD_BYTES	((u32)SZ_1M)
#define RPCLOAD_MAX_KVECS	(RPCLOAD_MAX_BYTES / RPCLOAD_PAYLOAD_BYTES)

/* The n-th of the pair's idle connections, or the least loaded one. */
static u32 rpcload_choose_idle(struct rpcload_pair *pair, u32 pick)
{
	u32 idle[RPCLOAD_MAX_CONNS];
	u32 i, n = 0, best = 0;
	s64 pending, fewest = S64_MAX;

	for (i = 0; i < pair->count; i++) {
		pending = atomic64_read(&pair->pending[i]);
		if (!pending)
			idle[n++] = i;
		if (pending < fewest) {
			fewest = pending;
			best = i;
		}
	}
	return n ? idle[((u64)pick * n) >> 32] : best;
}

static u32 rpcload_choose(struct rpcload *load, struct rpcload_pair *pair, u32 pick)
{
	if (load->choice == RPCLOAD_CHOICE_RANDOM)
		return ((u64)pick * pair->count) >> 32;
	return rpcload_choose_idle(pair, pick);
}

/*
 * A send call during which TCP's window is closed, and opens when all is copied:
 * a stock kernel sends full segments while it still copies, so that the first ones
 * leave before the socket knows how much there is.
 */
static int rpcload_send_whole(struct sock *sk, struct msghdr *hdr, struct kvec *vec, u32 n,
			      u32 bytes)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 window;
	int ret;

	iov_iter_kvec(&hdr->msg_iter, WRITE, vec, n, bytes);
	lock_sock(sk);
	window = tp->snd_wnd;
	tp->snd_wnd = 0;
	ret = tcp_sendmsg_locked(sk, hdr, bytes);
	tp->snd_wnd = window;
	release_sock(sk);
	tcp_sock_set_nodelay(sk);	/* sends what there is */
	return ret;
}

/* One send call of @bytes; the payload is the same zeros over and over. */
static int rpcload_write(struct rpcload *load, struct socket *sock, u32 bytes)
{
	struct msghdr hdr = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	struct kvec vec[RPCLOAD_MAX_KVECS];
	u32 left = bytes;
	u32 n = 0;

	while (left) {
		vec[n].iov_base = load->payload;
		vec[n].iov_len = min(left, RPCLOAD_PAYLOAD_BYTES);
		left -= vec[n++].iov_len;
	}
	if (load->whole)
		return rpcload_send_whole(sock->sk, &hdr, vec, n, bytes);
	return kernel_sendmsg(sock, &hdr, vec, n, bytes);
}

static void rpcload_send_one(struct rpcload *load, u32 id)
{
	struct rpcload_msg *msg = rpcload_msg_at(load, id);
	struct rpcload_pair *pair = load->pairs[msg->rec.src * load->hosts + msg->rec.dst];
	struct rpcload_stream *stream;
	u32 done = 0, part;
	int ret;

	msg->rec.conn = rpcload_choose(load, pair, msg->pick);
	stream = pair->streams[msg->rec.conn];
	rpcload_stream_push(stream, id);

	while (done < msg->rec.bytes) {
		part = msg->rec.bytes - done;
		if (load->chunk)
			part = min(part, load->chunk);
		ret = rpcload_write(load, stream->tx, part);
		if (ret < 0) {
			load->send_errors++;
			break;
		}
		done += ret;
		if (ret < part) {
			load->short_writes++;
			break;
		}
	}
	msg->rec.sent_ns = rpcload_now(load);
}

static int rpcload_sender(void *data)
{
	struct rpcload *load = data;
	u32 id = 0;

	while (!kthread_should_stop() && id < load->msg_count) {
		ktime_t due = ktime_add_ns(load->start, rpcload_msg_at(load, id)->rec.at_ns);

		if (ktime_before(ktime_get(), due)) {
			set_current_state(TASK_INTERRUPTIBLE);
			if (!kthread_should_stop())
				schedule_hrtimeout_range(&due, 0, HRTIMER_MODE_ABS);
			__set_current_state(TASK_RUNNING);
			continue;
		}
		rpcload_send_one(load, id++);
		WRITE_ONCE(load->sent, id);
	}

	/* kthread_stop() needs a thread that is still there */
	set_current_state(TASK_INTERRUPTIBLE);
	while (!kthread_should_stop()) {
		schedule();
		set_current_state(TASK_INTERRUPTIBLE);
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

int rpcload_start_sender(struct rpcload *load)
{
	struct task_struct *task;

	load->payload = kvzalloc(RPCLOAD_PAYLOAD_BYTES, GFP_KERNEL);
	if (!load->payload)
		return -ENOMEM;
	task = kthread_create(rpcload_sender, load, "rpcload");
	if (IS_ERR(task)) {
		kvfree(load->payload);
		load->payload = NULL;
		return PTR_ERR(task);
	}
	load->sender = task;
	load->start = ktime_get();
	wake_up_process(task);
	return 0;
}

void rpcload_stop_sender(struct rpcload *load)
{
	if (load->sender)
		kthread_stop(load->sender);
	load->sender = NULL;
	kvfree(load->payload);
	load->payload = NULL;
}
