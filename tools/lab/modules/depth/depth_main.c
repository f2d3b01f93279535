// SPDX-License-Identifier: GPL-2.0-only
/*
 * depth: the backlog of ports over time, for the lab. <linux/lab_depth.h> is its
 * interface.
 *
 * A process that wakes up for every sample costs milliseconds of wall time each and
 * reads the clock, which costs virtual time. So a timer takes the samples: it looks
 * the interfaces up by number, reads what their root qdiscs hold, and writes it into
 * memory that was allocated at the start. It takes no lock that a qdisc takes, and a
 * device may go while it is being watched.
 */
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/lab_depth.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>
#include <net/sch_generic.h>

#include "../compat/hrtimer.h"

#define DEPTH_PERIOD_MAX	NSEC_PER_SEC

/**
 * struct depth_series - one open file
 * @lock: calls; the timer takes none
 * @timer: takes the next sample
 * @net: where the interfaces are; none before the start
 * @ports: @count numbers of interfaces
 * @count: interfaces
 * @samples: rows that there is room for
 * @taken: samples that are complete
 * @period: ns between two samples
 * @values: @samples rows of @count values
 */
struct depth_series {
	struct mutex lock; /* calls */
	struct hrtimer timer;
	struct net *net;
	u32 *ports;
	u32 count;
	u32 samples;
	u32 taken;
	u64 period;
	u32 *values;
};

static u32 depth_backlog(struct net *net, u32 ifindex)
{
	struct net_device *dev = dev_get_by_index_rcu(net, ifindex);
	struct Qdisc *qdisc = dev ? rcu_dereference(dev->qdisc) : NULL;

	return qdisc ? READ_ONCE(qdisc->qstats.backlog) : 0;
}

static enum hrtimer_restart depth_timer(struct hrtimer *timer)
{
	struct depth_series *series = container_of(timer, struct depth_series, timer);
	u32 *row = series->values + (size_t)series->taken * series->count;
	u32 i;

	rcu_read_lock();
	for (i = 0; i < series->count; i++)
		row[i] = depth_backlog(series->net, series->ports[i]);
	rcu_read_unlock();

	/* Pairs with depth_read(): the row is there when its number is. */
	smp_store_release(&series->taken, series->taken + 1);
	if (series->taken == series->samples)
		return HRTIMER_NORESTART;
	hrtimer_add_expires_ns(timer, series->period);
	return HRTIMER_RESTART;
}

static int depth_open(struct inode *inode, struct file *file)
{
	struct depth_series *series = kzalloc(sizeof(*series), GFP_KERNEL);

	if (!series)
		return -ENOMEM;
	mutex_init(&series->lock);
	hrtimer_setup(&series->timer, depth_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
	file->private_data = series;
	return 0;
}

static void depth_free(struct depth_series *series)
{
	kvfree(series->values);
	kvfree(series->ports);
	series->values = NULL;
	series->ports = NULL;
}

static int depth_close(struct inode *inode, struct file *file)
{
	struct depth_series *series = file->private_data;

	hrtimer_cancel(&series->timer);
	depth_free(series);
	if (series->net)
		put_net(series->net);
	kfree(series);
	return 0;
}

static int depth_check(const struct lab_depth_start *start)
{
	if (!start->count || start->count > LAB_DEPTH_MAX_PORTS || !start->samples ||
	    (u64)start->count * start->samples > LAB_DEPTH_MAX_VALUES ||
	    start->period_ns < LAB_DEPTH_MIN_PERIOD || start->period_ns > DEPTH_PERIOD_MAX)
		return -EINVAL;
	return 0;
}

static int depth_prepare(struct depth_series *series, const struct lab_depth_start *start)
{
	series->ports = kvmalloc_array(start->count, sizeof(u32), GFP_KERNEL);
	series->values = kvcalloc((size_t)start->count * start->samples, sizeof(u32), GFP_KERNEL);
	if (!series->ports || !series->values)
		return -ENOMEM;
	if (copy_from_user(series->ports, u64_to_user_ptr(start->ports),
			   start->count * sizeof(u32)))
		return -EFAULT;
	series->count = start->count;
	series->samples = start->samples;
	series->period = start->period_ns;
	return 0;
}

/* With interrupts off, so that reading the clock costs no virtual time. */
static void depth_begin(struct depth_series *series)
{
	local_irq_disable();
	hrtimer_start(&series->timer, ktime_add_ns(ktime_get(), series->period),
		      HRTIMER_MODE_ABS_HARD);
	local_irq_enable();
}

static int depth_start(struct depth_series *series, const struct lab_depth_start *start)
{
	int err = series->net ? -EBUSY : depth_check(start);

	if (err)
		return err;
	err = depth_prepare(series, start);
	if (err) {
		depth_free(series);
		return err;
	}
	series->net = get_net(current->nsproxy->net_ns);
	depth_begin(series);
	return 0;
}

static long depth_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct depth_series *series = file->private_data;
	struct lab_depth_start start;
	long err = 0;

	mutex_lock(&series->lock);
	switch (cmd) {
	case LAB_DEPTH_START:
		err = copy_from_user(&start, (void __user *)arg, sizeof(start)) ?
		      -EFAULT : depth_start(series, &start);
		break;
	case LAB_DEPTH_STOP:
		hrtimer_cancel(&series->timer);
		break;
	default:
		err = -ENOTTY;
	}
	mutex_unlock(&series->lock);
	return err;
}

static ssize_t depth_read(struct file *file, char __user *buf, size_t size, loff_t *pos)
{
	struct depth_series *series = file->private_data;
	ssize_t done;
	size_t bytes;

	mutex_lock(&series->lock);
	/* Pairs with depth_timer(). */
	bytes = smp_load_acquire(&series->taken);
	bytes *= series->count * sizeof(u32);
	done = simple_read_from_buffer(buf, size, pos, series->values, bytes);
	mutex_unlock(&series->lock);
	return done;
}

static const struct file_operations depth_fops = {
	.owner		= THIS_MODULE,
	.open		= depth_open,
	.release	= depth_close,
	.read		= depth_read,
	.unlocked_ioctl	= depth_ioctl,
	.llseek		= noop_llseek,
};

static struct miscdevice depth_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "lab_depth",
	.fops	= &depth_fops,
};

module_misc_device(depth_device);
MODULE_DESCRIPTION("The backlog of ports over time, for the PFQD-DC lab");
MODULE_LICENSE("GPL");
