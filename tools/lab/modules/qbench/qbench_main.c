// SPDX-License-Identifier: GPL-2.0-only
/*
 * qbench device: /dev/qbench and its calls. The interface is described in
 * <linux/lab_qbench.h>, the module in qbench.h.
 */
#include <linux/capability.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/rtnetlink.h>

#include "qbench.h"

static int qbench_file_open(struct inode *inode, struct file *file)
{
	struct qbench *bench;

	if (!capable(CAP_NET_ADMIN))
		return -EPERM;
	bench = kzalloc(sizeof(*bench), GFP_KERNEL);
	if (!bench)
		return -ENOMEM;
	mutex_init(&bench->lock);
	file->private_data = bench;
	return 0;
}

static int qbench_file_close(struct inode *inode, struct file *file)
{
	struct qbench *bench = file->private_data;

	qbench_pool_free(bench);
	qbench_release_flows(bench);
	kfree(bench);
	return 0;
}

static long qbench_ioctl_sockets(struct qbench *bench, void __user *user)
{
	struct qbench_sockets sockets;

	if (copy_from_user(&sockets, user, sizeof(sockets)))
		return -EFAULT;
	return qbench_set_sockets(bench, &sockets);
}

static long qbench_ioctl_run(struct qbench *bench, void __user *user)
{
	struct qbench_run run;
	int err;

	if (copy_from_user(&run, user, sizeof(run)))
		return -EFAULT;
	err = qbench_run(bench, &run);
	if (!err && copy_to_user(user, &run, sizeof(run)))
		err = -EFAULT;
	return err;
}

static long qbench_ioctl_clocks(void __user *user)
{
	struct qbench_clocks clocks = {};

	qbench_read_clocks(&clocks);
	return copy_to_user(user, &clocks, sizeof(clocks)) ? -EFAULT : 0;
}

static long qbench_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct qbench *bench = file->private_data;
	void __user *user = (void __user *)arg;
	long err = -ENOTTY;

	mutex_lock(&bench->lock);
	switch (cmd) {
	case QBENCH_SET_SOCKETS:
		err = qbench_ioctl_sockets(bench, user);
		break;
	case QBENCH_RUN:
		err = qbench_ioctl_run(bench, user);
		break;
	case QBENCH_CLOCKS:
		err = qbench_ioctl_clocks(user);
		break;
	}
	mutex_unlock(&bench->lock);
	return err;
}

static const struct file_operations qbench_fops = {
	.owner		= THIS_MODULE,
	.open		= qbench_file_open,
	.release	= qbench_file_close,
	.unlocked_ioctl	= qbench_ioctl,
	.llseek		= noop_llseek,
};

static struct miscdevice qbench_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "qbench",
	.fops	= &qbench_fops,
};

static int __init qbench_init(void)
{
	int err = rtnl_link_register(&qbench_link_ops);

	if (err)
		return err;
	err = misc_register(&qbench_device);
	if (err)
		rtnl_link_unregister(&qbench_link_ops);
	return err;
}

static void __exit qbench_exit(void)
{
	misc_deregister(&qbench_device);
	rtnl_link_unregister(&qbench_link_ops);
}

module_init(qbench_init)
module_exit(qbench_exit)
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("PFQD-DC lab: what a qdisc's enqueue and dequeue cost");
