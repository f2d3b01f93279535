// SPDX-License-Identifier: GPL-2.0-only
/*
 * rpcload device: /dev/rpcload, its calls, the schedule and the log.
 * The interface is described in <linux/lab_rpcload.h>, the module in rpcload.h.
 */
#include <linux/hrtimer.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "rpcload.h"

static int rpcload_open(struct inode *inode, struct file *file)
{
	struct rpcload *load = kzalloc(sizeof(*load), GFP_KERNEL);

	if (!load)
		return -ENOMEM;
	load->blocks = kvcalloc(RPCLOAD_MAX_BLOCKS, sizeof(*load->blocks), GFP_KERNEL);
	if (!load->blocks) {
		kfree(load);
		return -ENOMEM;
	}
	mutex_init(&load->lock);
	init_waitqueue_head(&load->wait);
	file->private_data = load;
	return 0;
}

static int rpcload_close(struct inode *inode, struct file *file)
{
	struct rpcload *load = file->private_data;
	u32 i;

	rpcload_stop_sender(load);
	rpcload_release_conns(load);
	for (i = 0; i < RPCLOAD_MAX_BLOCKS && load->blocks[i]; i++)
		kvfree(load->blocks[i]);
	kvfree(load->blocks);
	kfree(load);
	return 0;
}

static int rpcload_add_message(struct rpcload *load, const struct rpcload_message *in)
{
	u32 id = load->msg_count;
	u32 block = id >> RPCLOAD_BLOCK_SHIFT;
	struct rpcload_msg *msg;

	if (!in->bytes || in->bytes > RPCLOAD_MAX_BYTES ||
	    in->src >= load->hosts || in->dst >= load->hosts ||
	    !load->pairs[in->src * load->hosts + in->dst] || in->pad)
		return -EINVAL;
	if (id && rpcload_msg_at(load, id - 1)->rec.at_ns > in->at_ns)
		return -EINVAL;
	if (block >= RPCLOAD_MAX_BLOCKS)
		return -E2BIG;
	if (!load->blocks[block])
		load->blocks[block] = kvcalloc(RPCLOAD_BLOCK_MSGS, sizeof(*msg), GFP_KERNEL);
	if (!load->blocks[block])
		return -ENOMEM;

	msg = rpcload_msg_at(load, id);
	msg->rec.at_ns = in->at_ns;
	msg->rec.done_ns = RPCLOAD_UNFINISHED;
	msg->rec.sent_ns = RPCLOAD_UNFINISHED;
	msg->rec.id = id;
	msg->rec.bytes = in->bytes;
	msg->rec.src = in->src;
	msg->rec.dst = in->dst;
	msg->pick = in->pick;
	load->msg_count++;
	return 0;
}

static ssize_t rpcload_write(struct file *file, const char __user *buf,
			     size_t size, loff_t *pos)
{
	struct rpcload *load = file->private_data;
	struct rpcload_message msg;
	size_t done;
	int err = 0;

	if (!size || size % sizeof(msg))
		return -EINVAL;

	mutex_lock(&load->lock);
	if (load->sender || !load->streams)
		err = -EBUSY;
	for (done = 0; !err && done < size; done += sizeof(msg)) {
		if (copy_from_user(&msg, buf + done, sizeof(msg)))
			err = -EFAULT;
		else
			err = rpcload_add_message(load, &msg);
		if (err)
			break;
	}
	mutex_unlock(&load->lock);
	return done ?: err;
}

static ssize_t rpcload_read(struct file *file, char __user *buf, size_t size,
			    loff_t *pos)
{
	struct rpcload *load = file->private_data;
	size_t done = 0;

	if (size < sizeof(struct rpcload_record))
		return -EINVAL;

	mutex_lock(&load->lock);
	while (load->read_pos < load->msg_count &&
	       size - done >= sizeof(struct rpcload_record)) {
		if (copy_to_user(buf + done, &rpcload_msg_at(load, load->read_pos)->rec,
				 sizeof(struct rpcload_record))) {
			mutex_unlock(&load->lock);
			return done ?: -EFAULT;
		}
		load->read_pos++;
		done += sizeof(struct rpcload_record);
	}
	mutex_unlock(&load->lock);
	return done;
}

static bool rpcload_all_done(struct rpcload *load)
{
	return READ_ONCE(load->sent) == load->msg_count &&
	       atomic_read(&load->finished) == load->msg_count;
}

static int rpcload_run(struct rpcload *load, struct rpcload_run *run)
{
	u64 now;
	int err;

	if (!load->streams || !load->msg_count)
		return -EINVAL;
	if (!load->sender) {
		err = rpcload_start_sender(load);
		if (err)
			return err;
	}
	now = rpcload_now(load);
	if (now < run->until_ns) {
		err = wait_event_interruptible_hrtimeout(load->wait, rpcload_all_done(load),
							 ns_to_ktime(run->until_ns - now));
		if (err == -ERESTARTSYS)
			return -EINTR;
	}
	run->now_ns = rpcload_now(load);
	run->sent = READ_ONCE(load->sent);
	run->finished = atomic_read(&load->finished);
	run->short_writes = load->short_writes;
	run->send_errors = load->send_errors;
	run->bytes_read = atomic64_read(&load->bytes_read);
	return 0;
}

static long rpcload_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct rpcload *load = file->private_data;
	void __user *user = (void __user *)arg;
	struct rpcload_setup setup;
	struct rpcload_run run;
	long err = -ENOTTY;

	mutex_lock(&load->lock);
	switch (cmd) {
	case RPCLOAD_ADD_CONNS:
		err = copy_from_user(&setup, user, sizeof(setup)) ? -EFAULT :
		      rpcload_add_conns(load, &setup);
		break;
	case RPCLOAD_RUN:
		err = copy_from_user(&run, user, sizeof(run)) ? -EFAULT :
		      rpcload_run(load, &run);
		if (!err && copy_to_user(user, &run, sizeof(run)))
			err = -EFAULT;
		break;
	}
	mutex_unlock(&load->lock);
	return err;
}

static const struct file_operations rpcload_fops = {
	.owner		= THIS_MODULE,
	.open		= rpcload_open,
	.release	= rpcload_close,
	.read		= rpcload_read,
	.write		= rpcload_write,
	.unlocked_ioctl	= rpcload_ioctl,
};

static struct miscdevice rpcload_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "rpcload",
	.fops	= &rpcload_fops,
};

module_misc_device(rpcload_device);

MODULE_DESCRIPTION("PFQD-DC lab: message load over TCP sockets in virtual time");
MODULE_LICENSE("GPL");
