// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rate that budgets are computed from: how fast does this queue drain?
 *
 *   1. What the operator says (`rate`).
 *   2. The root of a physical device: the speed of its link. Speeds are asked for
 *      in a work item, because asking needs locks that init and notifiers hold or
 *      not, depending on the kernel; it runs when an instance appears and whenever
 *      a link comes up or changes.
 *   3. Below a parent (one queue of many, a shaper's class) and on virtual devices,
 *      whose speeds are fictions: measured. Never more than the physical link.
 *   4. Not measured yet: the link's speed, or what veth and tun claim, 10 Gbit/s.
 *
 * Measuring: a window counts what leaves while there is backlog all the time. It
 * starts with a packet that leaves and ends with a later one that is not counted:
 * that is the time which the counted packets took. The first window of a busy
 * period fills the device's ring, which says nothing about the link: it is thrown
 * away.
 */
#include <linux/ethtool.h>
#include <linux/math64.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/workqueue.h>
#include "pfqd.h"

#define PFQD_RATE_ASSUMED_BPS	1250000000ULL	/* bytes/s: 10 Gbit/s */
#define PFQD_RATE_BPS_PER_MBIT	125000

/* Long enough to be a mean over interrupts that coalesce for 50 us. */
#define PFQD_METER_WINDOW	(200 * NSEC_PER_USEC)
#define PFQD_METER_WEIGHT	2	/* a window counts 1 / 2^2 */

/* --- the rate in force ---------------------------------------------------------- */

static bool pfqd_rate_is_link(const struct Qdisc *sch, const struct pfqd_rate *rate)
{
	return rate->link && sch->parent == TC_H_ROOT;
}

static u64 pfqd_rate_choose(const struct Qdisc *sch, const struct pfqd_rate *rate,
			    u64 option, enum pfqd_rate_source *source)
{
	if (option) {
		*source = PFQD_RATE_OPTION;
		return option;
	}
	if (pfqd_rate_is_link(sch, rate)) {
		*source = PFQD_RATE_LINK;
		return rate->link;
	}
	if (!rate->measured) {
		*source = PFQD_RATE_ASSUMED;
		return rate->link ?: PFQD_RATE_ASSUMED_BPS;
	}
	*source = PFQD_RATE_MEASURED;
	return rate->link ? min(rate->link, rate->measured) : rate->measured;
}

/* Under the root lock, or before anyone else knows the qdisc. */
void pfqd_rate_update(struct Qdisc *sch)
{
	struct pfqd_qdisc *q = qdisc_priv(sch);
	struct pfqd_rate *rate = &q->rate;
	enum pfqd_rate_source source;
	u64 bps = pfqd_rate_choose(sch, rate, q->params.rate, &source);
	int i;

	WRITE_ONCE(rate->bps, bps);
	WRITE_ONCE(rate->source, source);
	rate->metering = source == PFQD_RATE_ASSUMED || source == PFQD_RATE_MEASURED;
	if (!rate->metering)
		rate->window = 0;
	/* at most 10^6 us * 10^12 bytes/s: 10^18 */
	for (i = 0; i < __PFQD_RTT_MAX; i++)
		q->budget[i] = div_u64(q->params.budget[i] * bps, USEC_PER_SEC);
}

/* --- measuring ------------------------------------------------------------------ */

static void pfqd_meter_sample(struct Qdisc *sch, u64 bps)
{
	struct pfqd_qdisc *q = qdisc_priv(sch);
	u64 *mean = &q->rate.measured;

	bps = clamp_t(u64, bps, 1, PFQD_RATE_MAX);
	if (!*mean)
		*mean = bps;
	else
		*mean += (s64)(bps - *mean) / (1 << PFQD_METER_WEIGHT);
	*mean = max_t(u64, *mean, 1);
	pfqd_rate_update(sch);
}

/* A packet of that length has left the queue, which holds others or none. */
void pfqd_meter(struct Qdisc *sch, u32 len, u64 now)
{
	struct pfqd_qdisc *q = qdisc_priv(sch);
	struct pfqd_rate *rate = &q->rate;

	if (!rate->metering)
		return;
	if (!rate->window) {
		rate->window = now;
		rate->window_bytes = 0;
		rate->ring_full = false;
	} else if (now - rate->window >= PFQD_METER_WINDOW) {
		if (rate->ring_full)
			pfqd_meter_sample(sch, div64_u64(rate->window_bytes * NSEC_PER_SEC,
							 now - rate->window));
		rate->window = now;
		rate->window_bytes = 0;
		rate->ring_full = true;
	}
	/* what fits u64 as bytes * 10^9: 4 GB a window are 2 * 10^13 bytes/s */
	rate->window_bytes = min_t(u64, rate->window_bytes + len, U32_MAX);
	if (!q->packets)
		rate->window = 0;
}

/* --- the speed of links --------------------------------------------------------- */

/* All instances. Taken inside rtnl by the work, with or without it elsewhere. */
static DEFINE_MUTEX(pfqd_instances_lock);
static LIST_HEAD(pfqd_instances);

/* 0: unknown, or a device that no bus carries. Called with rtnl held. */
static u64 pfqd_link_speed(struct net_device *dev)
{
	struct ethtool_link_ksettings link;

	if (!dev->dev.parent || __ethtool_get_link_ksettings(dev, &link))
		return 0;
	if (!link.base.speed || link.base.speed == (u32)SPEED_UNKNOWN)
		return 0;
	return (u64)link.base.speed * PFQD_RATE_BPS_PER_MBIT;
}

static void pfqd_links_look(struct work_struct *work)
{
	struct pfqd_qdisc *q;

	rtnl_lock();
	mutex_lock(&pfqd_instances_lock);
	list_for_each_entry(q, &pfqd_instances, rate.instance) {
		struct Qdisc *sch = q->rate.sch;
		u64 link = pfqd_link_speed(qdisc_dev(sch));

		if (link == q->rate.link)
			continue;
		sch_tree_lock(sch);
		q->rate.link = link;
		pfqd_rate_update(sch);
		sch_tree_unlock(sch);
	}
	mutex_unlock(&pfqd_instances_lock);
	rtnl_unlock();
}

static DECLARE_WORK(pfqd_links_work, pfqd_links_look);

static int pfqd_link_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct net_device *dev = netdev_notifier_info_to_dev(ptr);

	if ((event == NETDEV_UP || event == NETDEV_CHANGE) && dev->dev.parent)
		schedule_work(&pfqd_links_work);
	return NOTIFY_DONE;
}

static struct notifier_block pfqd_link_notifier = { .notifier_call = pfqd_link_event };

void pfqd_rate_init(struct Qdisc *sch)
{
	struct pfqd_qdisc *q = qdisc_priv(sch);

	q->rate.sch = sch;
	pfqd_rate_update(sch);
	mutex_lock(&pfqd_instances_lock);
	list_add_tail(&q->rate.instance, &pfqd_instances);
	mutex_unlock(&pfqd_instances_lock);
	if (qdisc_dev(sch)->dev.parent)
		schedule_work(&pfqd_links_work);
}

/* Also right when pfqd_rate_init() was never reached. */
void pfqd_rate_destroy(struct pfqd_qdisc *q)
{
	if (!q->rate.sch)
		return;
	mutex_lock(&pfqd_instances_lock);
	list_del(&q->rate.instance);
	mutex_unlock(&pfqd_instances_lock);
	q->rate.sch = NULL;
}

int pfqd_links_start(void)
{
	return register_netdevice_notifier(&pfqd_link_notifier);
}

void pfqd_links_stop(void)
{
	unregister_netdevice_notifier(&pfqd_link_notifier);
	cancel_work_sync(&pfqd_links_work);
}
