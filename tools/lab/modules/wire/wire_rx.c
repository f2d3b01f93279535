// SPDX-License-Identifier: GPL-2.0-only
/*
 * wire receiver: when the stack sees what arrived.
 *
 * The moment at which a frame goes up is worked out when the far transmitter
 * hands it over, a delay before it arrives (wire_rx_frame). Without moderation
 * that moment is the arrival. With it, a frame that may be held waits until
 * `moderation` ns after the previous interrupt, or joins one that is still to
 * come; any other interrupts at its arrival, and all that wait before it go up
 * with it. So a held frame needs no timer event of its own, and the timer stands
 * only at interrupts (wire_rx_timer).
 *
 * `last_interrupt` is all the state there is: the time of the newest interrupt,
 * past or to come. Frames with one interrupt time are one batch, and only the
 * newest batch can lie behind a new frame's arrival.
 *
 * Lateness is the stack's, not the NIC's: an interrupt's batch, and what has
 * joined it by then, goes up a random time after it. Moderation counts from
 * interrupts, and order is kept, because the queue is only taken from its head.
 */
#include <linux/if_vlan.h>
#include <net/gro.h>

#include "../compat/hrtimer.h"
#include "wire.h"

/* The receiver's times of a frame, while it is queued. */
struct wire_rx_cb {
	u64 interrupt;		/* ns of CLOCK_MONOTONIC at which it goes up */
};

static struct wire_rx_cb *wire_rx_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct wire_rx_cb) > sizeof(skb->cb));
	return (struct wire_rx_cb *)skb->cb;
}

/* Stands the timer at the next interrupt, with that interrupt's lateness. */
static void wire_rx_arm(struct wire_rx *rx)
{
	struct sk_buff *skb = skb_peek(&rx->queue);

	if (!skb)
		return;
	if (rx->lateness && !rx->late_drawn) {
		rx->late = wire_random_below(&rx->random, rx->lateness + 1);
		rx->late_drawn = true;
	}
	hrtimer_start(&rx->timer, ns_to_ktime(wire_rx_cb(skb)->interrupt + rx->late),
		      HRTIMER_MODE_ABS_SOFT);
}

/*
 * A frame interrupts at @arrival: what would have waited longer goes up with
 * it. Each frame is pulled at most once, so this costs a constant per frame.
 */
static void wire_rx_flush(struct wire_rx *rx, u64 arrival)
{
	struct sk_buff *skb;

	skb_queue_reverse_walk(&rx->queue, skb) {
		if (wire_rx_cb(skb)->interrupt <= arrival)
			break;
		wire_rx_cb(skb)->interrupt = arrival;
		rx->stats.flushed++;
	}
}

static bool wire_rx_may_hold(const struct wire_rx *rx, u32 class)
{
	switch (rx->mode) {
	case LAB_WIRE_MODERATION_ALL:
		return true;
	case LAB_WIRE_MODERATION_PSH:
		return class & WIRE_FRAME_BULK;
	default:
		return false;
	}
}

/* When a frame that arrives then goes up. */
static u64 wire_rx_interrupt(struct wire_rx *rx, u64 arrival, u32 class)
{
	if (!wire_rx_may_hold(rx, class)) {
		if (rx->last_interrupt > arrival)
			wire_rx_flush(rx, arrival);
		return arrival;
	}
	if (rx->last_interrupt > arrival)
		return rx->last_interrupt;
	return max(arrival, rx->last_interrupt + rx->moderation);
}

/**
 * wire_rx_frame - a frame is on its way to this end
 * @end: the receiving end
 * @skb: the frame; the receiver's from here on if true is returned
 * @arrival: ns of CLOCK_MONOTONIC, now or later
 * @class: wire_frame_class()
 *
 * Return: false when the end is down.
 */
bool wire_rx_frame(struct wire_end *end, struct sk_buff *skb, u64 arrival, u32 class)
{
	struct wire_rx *rx = &end->rx;
	struct sk_buff *head;
	u64 next;
	bool up;

	spin_lock(&rx->lock);
	up = rx->up;
	if (up) {
		head = skb_peek(&rx->queue);
		next = head ? wire_rx_cb(head)->interrupt : U64_MAX;
		arrival = max(arrival, rx->last_arrival);
		rx->last_arrival = arrival;
		rx->last_interrupt = wire_rx_interrupt(rx, arrival, class);
		rx->stats.held += rx->last_interrupt > arrival;
		wire_rx_cb(skb)->interrupt = rx->last_interrupt;
		__skb_queue_tail(&rx->queue, skb);
		if (wire_rx_cb(skb_peek(&rx->queue))->interrupt < next)
			wire_rx_arm(rx);
	}
	spin_unlock(&rx->lock);
	return up;
}

void wire_rx_vanished(struct wire_end *end)
{
	spin_lock(&end->rx.lock);
	end->rx.stats.vanished++;
	spin_unlock(&end->rx.lock);
}

/* Takes all frames whose interrupt has come. */
static void wire_rx_take(struct wire_rx *rx, u64 now, struct sk_buff_head *batch)
{
	struct sk_buff *skb;

	while ((skb = skb_peek(&rx->queue)) && wire_rx_cb(skb)->interrupt <= now) {
		__skb_unlink(skb, &rx->queue);
		__skb_queue_tail(batch, skb);
	}
}

/* Leaves in the batch what a driver would hand up, as it would. */
static void wire_rx_prepare(struct wire_end *end, struct sk_buff_head *batch,
			    struct wire_rx_stats *sum)
{
	u32 largest = READ_ONCE(end->dev->mtu) + ETH_HLEN + VLAN_HLEN;
	struct sk_buff *skb, *next;

	skb_queue_walk_safe(batch, skb, next) {
		if (skb->len > largest) {
			sum->oversize++;
		} else if (!wire_frame_freshen(skb, end->dev)) {
			sum->no_memory++;
		} else {
			sum->frames++;
			sum->bytes += skb->len + ETH_HLEN;
			continue;
		}
		__skb_unlink(skb, batch);
		kfree_skb(skb);
	}
}

static void wire_rx_to_stack(struct sk_buff_head *batch)
{
	struct sk_buff *skb;
	LIST_HEAD(list);

	while ((skb = __skb_dequeue(batch)))
		list_add_tail(&skb->list, &list);
	netif_receive_skb_list(&list);
}

static void wire_rx_to_gro(struct wire_end *end, struct sk_buff_head *batch)
{
	struct sk_buff *skb;
	int count = 0;

	/* Held by a busy poller or by wire_rx_stop(): no GRO this time. */
	if (!napi_schedule_prep(&end->napi)) {
		wire_rx_to_stack(batch);
		return;
	}
	while ((skb = __skb_dequeue(batch))) {
		napi_gro_receive(&end->napi, skb);
		count++;
	}
	napi_complete_done(&end->napi, count);
}

static void wire_rx_deliver(struct wire_end *end, struct sk_buff_head *batch)
{
	struct wire_rx_stats sum = {};

	wire_rx_prepare(end, batch, &sum);
	spin_lock(&end->rx.lock);
	end->rx.stats.frames += sum.frames;
	end->rx.stats.bytes += sum.bytes;
	end->rx.stats.batches += sum.frames != 0;
	end->rx.stats.oversize += sum.oversize;
	end->rx.stats.no_memory += sum.no_memory;
	spin_unlock(&end->rx.lock);

	if (skb_queue_empty(batch))
		return;
	if (end->dev->features & NETIF_F_GRO)
		wire_rx_to_gro(end, batch);
	else
		wire_rx_to_stack(batch);
}

static enum hrtimer_restart wire_rx_timer(struct hrtimer *timer)
{
	struct wire_end *end = container_of(timer, struct wire_end, rx.timer);
	struct wire_rx *rx = &end->rx;
	struct sk_buff_head batch;

	__skb_queue_head_init(&batch);
	spin_lock(&rx->lock);
	wire_rx_take(rx, ktime_get_ns(), &batch);
	if (!skb_queue_empty(&batch)) {
		rx->late = 0;
		rx->late_drawn = false;
	}
	wire_rx_arm(rx);
	spin_unlock(&rx->lock);

	if (!skb_queue_empty(&batch))
		wire_rx_deliver(end, &batch);
	return HRTIMER_NORESTART;
}

/* For busy pollers: frames come by timer alone, there is never one to poll. */
int wire_rx_poll(struct napi_struct *napi, int budget)
{
	napi_complete_done(napi, 0);
	return 0;
}

void wire_rx_start(struct wire_end *end)
{
	napi_enable(&end->napi);
	spin_lock_bh(&end->rx.lock);
	end->rx.up = true;
	spin_unlock_bh(&end->rx.lock);
}

/* The netdev goes down: frames on their way or held are gone. */
void wire_rx_stop(struct wire_end *end)
{
	struct wire_rx *rx = &end->rx;
	struct sk_buff_head gone;

	__skb_queue_head_init(&gone);
	spin_lock_bh(&rx->lock);
	rx->up = false;
	skb_queue_splice_init(&rx->queue, &gone);
	rx->stats.purged += gone.qlen;
	rx->last_interrupt = 0;
	rx->last_arrival = 0;
	rx->late = 0;
	rx->late_drawn = false;
	spin_unlock_bh(&rx->lock);
	hrtimer_cancel(&rx->timer);
	napi_disable(&end->napi);
	__skb_queue_purge(&gone);
}

void wire_rx_init(struct wire_end *end)
{
	struct wire_rx *rx = &end->rx;

	spin_lock_init(&rx->lock);
	hrtimer_setup(&rx->timer, wire_rx_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	__skb_queue_head_init(&rx->queue);
	rx->mode = LAB_WIRE_MODERATION_OFF;
	wire_random_seed(&rx->random, 0, LAB_WIRE_STREAM_LATENESS);
}
