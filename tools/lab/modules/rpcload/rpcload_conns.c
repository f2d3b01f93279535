// SPDX-License-Identifier: GPL-2.0-only
/*
 * rpcload connections: taking sockets over from the process, and the receivers.
 *
 * rpcload_add_conns() checks every socket (TCP, established, running the
 * expected congestion control) before it changes one. From then on the
 * receiving end's data_ready reads whatever is in order, under the socket lock
 * that the stack already holds there, and the message at the head of the
 * connection's FIFO is done when the stream has passed its end.
 */
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>

#include "rpcload.h"

/* Appends a message that is about to be written to its connection. */
void rpcload_stream_push(struct rpcload_stream *stream, u32 id)
{
	struct rpcload *load = stream->load;
	struct rpcload_msg *msg = rpcload_msg_at(load, id);

	atomic64_add(msg->rec.bytes, &stream->pair->pending[stream->index]);
	spin_lock_bh(&stream->lock);
	stream->written += msg->rec.bytes;
	msg->end = stream->written;
	msg->next = RPCLOAD_NO_MSG;
	if (stream->head == RPCLOAD_NO_MSG)
		stream->head = id;
	else
		rpcload_msg_at(load, stream->tail)->next = id;
	stream->tail = id;
	spin_unlock_bh(&stream->lock);
}

/* Marks done what the stream has passed; the time is the same for all of it. */
static void rpcload_complete(struct rpcload_stream *stream)
{
	struct rpcload *load = stream->load;
	struct rpcload_msg *msg;
	u64 now = rpcload_now(load);
	u32 done = 0;

	spin_lock_bh(&stream->lock);
	while (stream->head != RPCLOAD_NO_MSG) {
		msg = rpcload_msg_at(load, stream->head);
		if (msg->end > stream->delivered)
			break;
		msg->rec.done_ns = now;
		stream->head = msg->next;
		done++;
	}
	spin_unlock_bh(&stream->lock);

	if (done && atomic_add_return(done, &load->finished) == load->msg_count)
		wake_up(&load->wait);
}

static int rpcload_consume(read_descriptor_t *desc, struct sk_buff *skb,
			   unsigned int offset, size_t len)
{
	return len;
}

static void rpcload_data_ready(struct sock *sk)
{
	struct rpcload_stream *stream;
	read_descriptor_t desc = { .count = SIZE_MAX };
	int copied;

	read_lock_bh(&sk->sk_callback_lock);
	stream = sk->sk_user_data;
	if (stream) {
		copied = tcp_read_sock(sk, &desc, rpcload_consume);
		if (copied > 0) {
			stream->delivered += copied;
			atomic64_sub(copied, &stream->pair->pending[stream->index]);
			atomic64_add(copied, &stream->load->bytes_read);
			rpcload_complete(stream);
		}
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

static void rpcload_hook(struct rpcload_stream *stream)
{
	struct sock *sk = stream->rx->sk;

	write_lock_bh(&sk->sk_callback_lock);
	stream->saved_data_ready = sk->sk_data_ready;
	sk->sk_user_data = stream;
	sk->sk_data_ready = rpcload_data_ready;
	write_unlock_bh(&sk->sk_callback_lock);

	tcp_sock_set_nodelay(stream->tx->sk);
}

static void rpcload_unhook(struct rpcload_stream *stream)
{
	struct sock *sk = stream->rx->sk;

	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_data_ready = stream->saved_data_ready;
	sk->sk_user_data = NULL;
	write_unlock_bh(&sk->sk_callback_lock);
}

static int rpcload_check_socket(const struct socket *sock, const char *cc)
{
	const struct sock *sk = sock->sk;

	if (!sk_is_tcp(sk) || sk->sk_state != TCP_ESTABLISHED)
		return -EINVAL;
	if (sk->sk_user_data)
		return -EBUSY;
	if (strcmp(inet_csk(sk)->icsk_ca_ops->name, cc))
		return -ESTALE;
	return 0;
}

/* Whether these are the two ends of one connection. */
static bool rpcload_is_pair(const struct socket *tx, const struct socket *rx)
{
	const struct inet_sock *a = inet_sk(tx->sk), *b = inet_sk(rx->sk);

	return tx->sk->sk_family == AF_INET && rx->sk->sk_family == AF_INET &&
	       a->inet_saddr == b->inet_daddr && a->inet_sport == b->inet_dport &&
	       a->inet_daddr == b->inet_saddr && a->inet_dport == b->inet_sport;
}

static struct rpcload_pair *rpcload_get_pair(struct rpcload *load, u32 src, u32 dst)
{
	struct rpcload_pair **slot = &load->pairs[src * load->hosts + dst];

	if (!*slot)
		*slot = kvzalloc(sizeof(**slot), GFP_KERNEL);
	return *slot;
}

static int rpcload_take(struct rpcload *load, struct rpcload_stream *stream,
			const struct rpcload_conn *conn, const char *cc)
{
	struct rpcload_pair *pair;
	int err;

	if (conn->src >= load->hosts || conn->dst >= load->hosts ||
	    conn->src == conn->dst)
		return -EINVAL;
	pair = rpcload_get_pair(load, conn->src, conn->dst);
	if (!pair)
		return -ENOMEM;
	if (pair->count == RPCLOAD_MAX_CONNS)
		return -E2BIG;

	stream->tx = sockfd_lookup(conn->tx_fd, &err);
	if (!stream->tx)
		return err;
	stream->rx = sockfd_lookup(conn->rx_fd, &err);
	if (!stream->rx)
		return err;
	err = rpcload_check_socket(stream->tx, cc) ?:
	      rpcload_check_socket(stream->rx, cc);
	if (err)
		return err;
	if (!rpcload_is_pair(stream->tx, stream->rx))
		return -EINVAL;

	spin_lock_init(&stream->lock);
	stream->load = load;
	stream->head = RPCLOAD_NO_MSG;
	stream->tail = RPCLOAD_NO_MSG;
	stream->pair = pair;
	stream->index = pair->count;
	pair->streams[pair->count++] = stream;
	return 0;
}

static void rpcload_free(struct rpcload *load)
{
	u32 i;

	for (i = 0; load->streams && i < load->stream_count; i++) {
		if (load->streams[i].tx)
			sockfd_put(load->streams[i].tx);
		if (load->streams[i].rx)
			sockfd_put(load->streams[i].rx);
	}
	for (i = 0; load->pairs && i < load->hosts * load->hosts; i++)
		kvfree(load->pairs[i]);
	kvfree(load->pairs);
	kvfree(load->streams);
	load->pairs = NULL;
	load->streams = NULL;
	load->stream_count = 0;
	load->hosts = 0;
}

static int rpcload_take_all(struct rpcload *load, const struct rpcload_setup *setup)
{
	const struct rpcload_conn __user *conns = u64_to_user_ptr(setup->conns);
	struct rpcload_conn conn;
	int err;
	u32 i;

	for (i = 0; i < setup->count; i++) {
		if (copy_from_user(&conn, &conns[i], sizeof(conn)))
			return -EFAULT;
		err = rpcload_take(load, &load->streams[i], &conn, setup->cc);
		if (err)
			return err;
	}
	return 0;
}

int rpcload_add_conns(struct rpcload *load, const struct rpcload_setup *setup)
{
	int err;
	u32 i;

	if (load->streams)
		return -EBUSY;
	if (setup->hosts < 2 || setup->hosts > RPCLOAD_MAX_HOSTS ||
	    setup->choice >= __RPCLOAD_CHOICE_MAX || setup->whole > 1 || setup->pad ||
	    !setup->count ||
	    setup->count > setup->hosts * setup->hosts * RPCLOAD_MAX_CONNS ||
	    strnlen(setup->cc, sizeof(setup->cc)) == sizeof(setup->cc))
		return -EINVAL;

	load->hosts = setup->hosts;
	load->choice = setup->choice;
	load->chunk = setup->chunk;
	load->whole = setup->whole;
	load->stream_count = setup->count;
	load->pairs = kvcalloc(setup->hosts * setup->hosts, sizeof(*load->pairs),
			       GFP_KERNEL);
	load->streams = kvcalloc(setup->count, sizeof(*load->streams), GFP_KERNEL);
	err = load->pairs && load->streams ? rpcload_take_all(load, setup) : -ENOMEM;
	if (err) {
		rpcload_free(load);
		return err;
	}
	for (i = 0; i < load->stream_count; i++)
		rpcload_hook(&load->streams[i]);
	return 0;
}

void rpcload_release_conns(struct rpcload *load)
{
	u32 i;

	for (i = 0; i < load->stream_count; i++)
		rpcload_unhook(&load->streams[i]);
	rpcload_free(load);
}
