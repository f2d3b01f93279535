// SPDX-License-Identifier: GPL-2.0-only
/*
 * qbench run: the backlog is built, then drained, in timed batches.
 *
 * Between the two readings of the clock stands what the core does for a packet,
 * without its own overhead: a call through sch->enqueue or sch->dequeue. Nothing
 * is subtracted: an empty batch costs QBENCH_CLOCKS' overhead, once a batch.
 *
 * Interrupts are off during a batch, which the core does not do: a tick would cost
 * as much as several batches. What the machine does instead of running the guest
 * cannot be kept out; user space sees each batch and decides.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/rtnetlink.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmstat.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include <net/sock.h>

#include "qbench.h"

#define QBENCH_CALIBRATION_NS	(20 * NSEC_PER_MSEC)
#define QBENCH_CLOCK_READS	10000

struct qbench_state {
	struct qbench		*bench;
	struct qbench_run	*run;
	const struct qbench_flow *flows;
	struct net_device	*dev;
	struct Qdisc		*sch;
	struct sk_buff		*batch[QBENCH_MAX_BATCH];
	struct sk_buff		*out;		/* everything dequeued */
};

static u64 qbench_slab_bytes(void)
{
	return (u64)(global_node_page_state_pages(NR_SLAB_RECLAIMABLE_B) +
		     global_node_page_state_pages(NR_SLAB_UNRECLAIMABLE_B)) << PAGE_SHIFT;
}

/* --- in ------------------------------------------------------------------------- */

static void qbench_dress_batch(struct qbench_state *state, u32 first, u32 count)
{
	const struct qbench_run *run = state->run;
	u32 i, flow;

	for (i = 0; i < count; i++) {
		flow = (first + i) / run->burst % run->flows;
		state->batch[i] = qbench_pool_dress(state->bench, first + i, state->dev,
						    run->kind, &state->flows[flow]);
	}
}

/* Ticks that it took. */
static u32 qbench_enqueue_batch(struct qbench_state *state, u32 count)
{
	spinlock_t *lock = qdisc_lock(state->sch);
	struct sk_buff *to_free = NULL, *next;
	struct Qdisc *sch = state->sch;
	u32 i, refused = 0;
	unsigned long flags;
	u64 start, end;

	spin_lock_bh(lock);
	local_irq_save(flags);
	start = qbench_ticks();
	for (i = 0; i < count; i++)
		refused += sch->enqueue(state->batch[i], sch, &to_free) != NET_XMIT_SUCCESS;
	end = qbench_ticks();
	local_irq_restore(flags);
	spin_unlock_bh(lock);

	state->run->refused += refused;
	state->run->enqueued += count - refused;
	for (; to_free; to_free = next) {
		next = to_free->next;
		state->run->dropped++;
		kfree_skb(to_free);
	}
	return end - start;
}

static int qbench_build(struct qbench_state *state)
{
	struct qbench_run *run = state->run;
	u32 __user *out = u64_to_user_ptr(run->enqueue_ticks);
	u32 first, count;

	for (first = 0; first < run->packets; first += count) {
		count = min(run->batch, run->packets - first);
		qbench_dress_batch(state, first, count);
		if (put_user(qbench_enqueue_batch(state, count), out++))
			return -EFAULT;
	}
	return 0;
}

/* --- out ------------------------------------------------------------------------ */

/* Ticks that it took; the packets are in state->batch, *count of them. */
static u32 qbench_dequeue_batch(struct qbench_state *state, u32 *count)
{
	spinlock_t *lock = qdisc_lock(state->sch);
	struct Qdisc *sch = state->sch;
	unsigned long flags;
	u64 start, end;
	u32 i;

	spin_lock_bh(lock);
	local_irq_save(flags);
	start = qbench_ticks();
	for (i = 0; i < *count; i++) {
		state->batch[i] = sch->dequeue(sch);
		if (unlikely(!state->batch[i]))
			break;
	}
	end = qbench_ticks();
	local_irq_restore(flags);
	spin_unlock_bh(lock);
	*count = i;
	return end - start;
}

static int qbench_drain(struct qbench_state *state)
{
	struct qbench_run *run = state->run;
	u32 __user *out = u64_to_user_ptr(run->dequeue_ticks);
	u32 want, count, ticks, i;

	while (run->dequeued < run->enqueued) {
		want = min(run->batch, run->enqueued - run->dequeued);
		count = want;
		ticks = qbench_dequeue_batch(state, &count);
		for (i = 0; i < count; i++) {
			state->batch[i]->next = state->out;
			state->out = state->batch[i];
		}
		run->dequeued += count;
		if (put_user(ticks, out++))
			return -EFAULT;
		if (count < want)
			break;	/* it keeps some back: the caller sees the counts */
	}
	return 0;
}

static void qbench_return_all(struct qbench_state *state)
{
	struct sk_buff *skb, *next;

	for (skb = state->out; skb; skb = next) {
		next = skb->next;
		qbench_pool_return(state->bench, skb);
	}
	state->out = NULL;
}

/* --- a run ---------------------------------------------------------------------- */

static int qbench_check(const struct qbench *bench, const struct qbench_run *run)
{
	if (run->kind >= __QBENCH_PACKETS_MAX || !run->flows ||
	    run->flows > QBENCH_MAX_FLOWS || run->packets < run->flows ||
	    run->packets > QBENCH_MAX_PACKETS || !run->burst ||
	    !run->batch || run->batch > QBENCH_MAX_BATCH)
		return -EINVAL;
	if (run->kind == QBENCH_OWNED && run->flows > bench->owned_count)
		return -EINVAL;
	return 0;
}

static int qbench_run_locked(struct qbench_state *state)
{
	struct qbench_run *run = state->run;
	int err;

	ASSERT_RTNL();
	state->dev = __dev_get_by_index(current->nsproxy->net_ns, run->ifindex);
	if (!state->dev || state->dev->rtnl_link_ops != &qbench_link_ops ||
	    !netif_running(state->dev))
		return -ENODEV;
	state->sch = rtnl_dereference(netdev_get_tx_queue(state->dev, 0)->qdisc);
	if (!state->sch->enqueue || state->sch->flags & TCQ_F_NOLOCK)
		return -EOPNOTSUPP;
	if (state->sch->q.qlen)
		return -EBUSY;

	run->instance = sizeof(struct Qdisc) + state->sch->ops->priv_size;
	run->slab_before = qbench_slab_bytes();
	err = qbench_build(state);
	run->slab_peak = qbench_slab_bytes();
	if (!err)
		err = qbench_drain(state);
	run->left = state->sch->q.qlen;
	qbench_return_all(state);
	return err;
}

int qbench_run(struct qbench *bench, struct qbench_run *run)
{
	struct qbench_state *state;
	int err = qbench_check(bench, run);

	if (err)
		return err;
	state = kzalloc(sizeof(*state), GFP_KERNEL);
	if (!state)
		return -ENOMEM;
	state->bench = bench;
	state->run = run;
	state->flows = qbench_flows(bench, run);
	err = state->flows ? qbench_pool_fill(bench, run->packets) : -ENOMEM;
	if (err)
		goto out;

	run->enqueued = 0;
	run->refused = 0;
	run->dropped = 0;
	run->dequeued = 0;
	run->truesize = bench->pool[0]->truesize;
	run->frame = bench->pool[0]->len;
	rtnl_lock();
	err = qbench_run_locked(state);
	rtnl_unlock();
out:
	kfree(state);
	return err;
}

/* --- the clocks ----------------------------------------------------------------- */

static u32 qbench_empty_batch(void)
{
	u32 least = U32_MAX, i;
	u64 start;

	for (i = 0; i < QBENCH_CLOCK_READS; i++) {
		start = qbench_ticks();
		least = min_t(u64, least, qbench_ticks() - start);
	}
	return least;
}

void qbench_read_clocks(struct qbench_clocks *clocks)
{
	u64 start = ktime_get_ns(), ticks = qbench_ticks(), ns;
	u32 i;

	do {
		ns = ktime_get_ns() - start;
	} while (ns < QBENCH_CALIBRATION_NS);
	ticks = qbench_ticks() - ticks;
	clocks->ticks_per_ms = div64_u64(ticks * NSEC_PER_MSEC, ns);
	clocks->overhead = qbench_empty_batch();

	ticks = qbench_ticks();
	for (i = 0; i < QBENCH_CLOCK_READS; i++)
		ktime_get_ns();
	ticks = qbench_ticks() - ticks;
	clocks->ktime_ps = div64_u64(ticks * NSEC_PER_MSEC * 1000,
				     clocks->ticks_per_ms * QBENCH_CLOCK_READS);
}
