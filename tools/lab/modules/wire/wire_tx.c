// SPDX-License-Identifier: GPL-2.0-only
/*
 * wire transmitter: frames become time.
 *
 * A frame enters its ring (wire_tx_frame). When nothing is on the wire it starts
 * at once, else when its turn comes: the rings are served round-robin, a frame
 * at a time, as a NIC serves its hardware queues. The one timer stands at the end
 * of the frame on the wire. There (wire_tx_timer) the next frame starts, at the
 * same fraction of a nanosecond at which this one ended; the sender gets its
 * memory back, BQL lets the stack's queue go on, and the frame goes to the other
 * end, which will see it a delay later.
 *
 * A ring of 0 bytes stops the queue after each frame. Its completion runs the
 * qdisc in the same nanosecond, and the frame that the qdisc then chooses starts
 * where the last one ended: no gap, although nothing was waiting in the ring.
 */
#include "../compat/hrtimer.h"
#include "wire.h"

/* When a frame of that many wire bytes ends that starts at @start. */
static struct wire_time wire_tx_end(const struct wire_tx *tx, struct wire_time start, u32 bytes)
{
	struct wire_time end;
	u64 part;

	end.ns = start.ns + div64_u64_rem((u64)bytes * 8 * NSEC_PER_SEC, tx->rate, &part);
	end.part = start.part + part;
	if (end.part >= tx->rate) {
		end.part -= tx->rate;
		end.ns++;
	}
	return end;
}

static struct sk_buff *wire_tx_next(struct wire_tx *tx)
{
	struct sk_buff *skb;
	u32 ring = tx->last_ring;
	u32 i;

	for (i = 0; i < tx->ring_count; i++) {
		if (++ring >= tx->ring_count)
			ring = 0;
		skb = __skb_dequeue(&tx->rings[ring].frames);
		if (skb) {
			tx->last_ring = ring;
			return skb;
		}
	}
	return NULL;
}

/*
 * Puts the next frame on the wire, if there is one, at @now or, when the wire
 * became free within this very nanosecond, at the fraction at which it did.
 */
static void wire_tx_serialise(struct wire_tx *tx, u64 now)
{
	struct wire_time start = { .ns = now };

	tx->on_wire = wire_tx_next(tx);
	if (!tx->on_wire)
		return;
	tx->on_wire_ring = tx->last_ring;
	if (wire_time_ceil(tx->free) >= now)
		start = tx->free;
	tx->free = wire_tx_end(tx, start, wire_frame_bytes(tx->on_wire));
	hrtimer_start(&tx->timer, ns_to_ktime(wire_time_ceil(tx->free)), HRTIMER_MODE_ABS_SOFT);
}

/**
 * wire_tx_frame - the stack sends
 * @end: of the wire
 * @skb: the frame; its queue mapping names the ring
 *
 * Return: NETDEV_TX_OK, the frame is taken or, when refused, freed.
 */
netdev_tx_t wire_tx_frame(struct wire_end *end, struct sk_buff *skb)
{
	u32 queue = skb_get_queue_mapping(skb);
	u32 bytes = wire_frame_bytes(skb);
	struct wire_tx *tx = &end->tx;
	struct wire_ring *ring;
	bool taken;

	spin_lock(&tx->lock);
	ring = &tx->rings[queue];
	taken = tx->up && pskb_may_pull(skb, ETH_HLEN) &&
		ring->bytes <= tx->ring_limit + WIRE_RING_SLACK;
	if (taken) {
		skb_tx_timestamp(skb);
		ring->bytes += bytes;
		__skb_queue_tail(&ring->frames, skb);
		netdev_tx_sent_queue(netdev_get_tx_queue(end->dev, queue), bytes);
		if (!tx->on_wire)
			wire_tx_serialise(tx, ktime_get_ns());
	} else {
		tx->stats.refused++;
	}
	spin_unlock(&tx->lock);
	if (!taken)
		dev_kfree_skb_any(skb);
	return NETDEV_TX_OK;
}

/* Takes the frame that has ended off the wire; its ring may be filled again. */
static struct sk_buff *wire_tx_complete(struct wire_end *end)
{
	struct wire_tx *tx = &end->tx;
	struct sk_buff *skb = tx->on_wire;
	u32 bytes = wire_frame_bytes(skb);

	tx->on_wire = NULL;
	tx->rings[tx->on_wire_ring].bytes -= bytes;
	tx->stats.frames++;
	tx->stats.bytes += skb->len;
	tx->stats.wire_bytes += bytes;
	netdev_tx_completed_queue(netdev_get_tx_queue(end->dev, tx->on_wire_ring), 1, bytes);
	return skb;
}

static bool wire_tx_loses(struct wire_tx *tx)
{
	if (!tx->loss)
		return false;
	return ((u64)wire_random_u32(&tx->random) * WIRE_LOSS_MAX) >> 32 < tx->loss;
}

/* What became of a frame after its last bit left. */
struct wire_tx_fate {
	bool data;
	bool lost;
	bool peer_down;
};

/* Gives the frame to the other end, or to nobody. */
static struct wire_tx_fate wire_tx_hand_over(struct wire_end *end, struct sk_buff *skb, u64 arrival,
					     bool lost)
{
	u32 class = wire_frame_class(skb, READ_ONCE(end->dev->mtu));
	struct wire_tx_fate fate = { .data = class & WIRE_FRAME_DATA };
	struct wire_end *peer;

	skb_orphan(skb);
	rcu_read_lock();
	peer = rcu_dereference(end->peer);
	if (lost) {
		fate.lost = true;
		if (peer)
			wire_rx_vanished(peer);
	} else {
		fate.peer_down = !peer || !wire_rx_frame(peer, skb, arrival, class);
	}
	rcu_read_unlock();
	if (fate.lost || fate.peer_down)
		kfree_skb(skb);
	return fate;
}

/* The end of the frame on the wire. */
static enum hrtimer_restart wire_tx_timer(struct hrtimer *timer)
{
	struct wire_end *end = container_of(timer, struct wire_end, tx.timer);
	struct wire_tx *tx = &end->tx;
	struct wire_tx_fate fate;
	struct sk_buff *skb;
	u64 arrival;
	bool lost;

	spin_lock(&tx->lock);
	if (!tx->on_wire) {
		spin_unlock(&tx->lock);
		return HRTIMER_NORESTART;
	}
	arrival = tx->free.ns + tx->delay + (tx->free.part != 0);
	lost = wire_tx_loses(tx);
	skb = wire_tx_complete(end);
	wire_tx_serialise(tx, wire_time_ceil(tx->free));
	spin_unlock(&tx->lock);

	fate = wire_tx_hand_over(end, skb, arrival, lost);

	spin_lock(&tx->lock);
	tx->stats.data += fate.data;
	tx->stats.lost += fate.lost;
	tx->stats.peer_down += fate.peer_down;
	spin_unlock(&tx->lock);
	return HRTIMER_NORESTART;
}

/* A fraction of the old rate's nanosecond means nothing to the new one. */
void wire_tx_set_rate(struct wire_tx *tx, u64 rate)
{
	spin_lock_bh(&tx->lock);
	tx->free.ns = wire_time_ceil(tx->free);
	tx->free.part = 0;
	tx->rate = rate;
	spin_unlock_bh(&tx->lock);
}

/* BQL's limit is the ring, from the first frame on and for good. */
static void wire_tx_limit_queue(struct netdev_queue *queue, u32 limit)
{
	struct dql *dql = &queue->dql;

	dql->min_limit = limit;
	dql->max_limit = limit;
	dql->limit = limit;
	WRITE_ONCE(dql->adj_limit, dql->num_completed + limit);
}

void wire_tx_set_ring(struct wire_end *end, u32 limit)
{
	struct wire_tx *tx = &end->tx;
	u32 i;

	spin_lock_bh(&tx->lock);
	tx->ring_limit = limit;
	for (i = 0; i < tx->ring_count; i++)
		wire_tx_limit_queue(netdev_get_tx_queue(end->dev, i), limit);
	spin_unlock_bh(&tx->lock);
}

void wire_tx_start(struct wire_end *end)
{
	struct wire_tx *tx = &end->tx;

	spin_lock_bh(&tx->lock);
	tx->up = true;
	spin_unlock_bh(&tx->lock);
	netif_tx_start_all_queues(end->dev);
}

/* The netdev goes down: frames in the rings and on the wire are gone. */
void wire_tx_stop(struct wire_end *end)
{
	struct wire_tx *tx = &end->tx;
	struct sk_buff_head gone;
	u32 i;

	netif_tx_disable(end->dev);
	__skb_queue_head_init(&gone);
	spin_lock_bh(&tx->lock);
	tx->up = false;
	if (tx->on_wire)
		__skb_queue_tail(&gone, tx->on_wire);
	tx->on_wire = NULL;
	for (i = 0; i < tx->ring_count; i++) {
		skb_queue_splice_tail_init(&tx->rings[i].frames, &gone);
		tx->rings[i].bytes = 0;
		netdev_tx_reset_queue(netdev_get_tx_queue(end->dev, i));
		wire_tx_limit_queue(netdev_get_tx_queue(end->dev, i), tx->ring_limit);
	}
	tx->stats.purged += gone.qlen;
	tx->free.ns = 0;
	tx->free.part = 0;
	spin_unlock_bh(&tx->lock);
	hrtimer_cancel(&tx->timer);
	__skb_queue_purge(&gone);
}

void wire_tx_init(struct wire_end *end)
{
	struct wire_tx *tx = &end->tx;

	spin_lock_init(&tx->lock);
	hrtimer_setup(&tx->timer, wire_tx_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	tx->rate = WIRE_RATE_DEFAULT;
	tx->delay = WIRE_DELAY_DEFAULT;
	wire_random_seed(&tx->random, 0, LAB_WIRE_STREAM_LOSS);
}
