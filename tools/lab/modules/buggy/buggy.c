// SPDX-License-Identifier: GPL-2.0-only
/*
 * buggy: a module that does what a module must not do, on request.
 *
 * "No splat in the log" proves something only where each detector is known to
 * fire. Writing a bug's name to /sys/module/buggy/parameters/bug commits it;
 * selftests/debug looks for the report. Never load it outside the lab.
 */
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

static DEFINE_SPINLOCK(lock_a);
static DEFINE_SPINLOCK(lock_b);
static DEFINE_SPINLOCK(lock_irq);
static int numbers[8];

/* What the compiler must not see through. */
static noinline int opaque(int value)
{
	barrier();
	return READ_ONCE(value);
}

static void use_after_free(void)
{
	char *memory = kmalloc(64, GFP_KERNEL);

	if (!memory)
		return;
	kfree(memory);
	WRITE_ONCE(memory[opaque(8)], 1);
}

static void out_of_bounds(void)
{
	char *memory = kmalloc(64, GFP_KERNEL);

	if (!memory)
		return;
	WRITE_ONCE(memory[opaque(64)], 1);
	kfree(memory);
}

static void shift(void)
{
	pr_info("buggy: %d\n", 1 << opaque(40));
}

/* Reads inside the module's data whatever the detector does. */
static void array_index(void)
{
	pr_info("buggy: %d\n", numbers[opaque(ARRAY_SIZE(numbers))]);
}

static void lock_order(void)
{
	spin_lock(&lock_a);
	spin_lock(&lock_b);
	spin_unlock(&lock_b);
	spin_unlock(&lock_a);

	spin_lock(&lock_b);
	spin_lock(&lock_a);
	spin_unlock(&lock_a);
	spin_unlock(&lock_b);
}

static void buggy_tasklet(struct tasklet_struct *tasklet)
{
	spin_lock(&lock_irq);
	spin_unlock(&lock_irq);
}

/* Taken in a softirq, and with softirqs on in a process. */
static void lock_softirq(void)
{
	static DECLARE_TASKLET(tasklet, buggy_tasklet);

	tasklet_schedule(&tasklet);
	msleep(20);
	tasklet_kill(&tasklet);
	spin_lock(&lock_irq);
	spin_unlock(&lock_irq);
}

static void sleep_in_atomic(void)
{
	spin_lock(&lock_a);
	might_sleep();
	spin_unlock(&lock_a);
}

static void list_twice(void)
{
	static struct list_head entry;
	LIST_HEAD(head);

	list_add(&entry, &head);
	list_add(&entry, &head);
}

static void warn(void)
{
	WARN(1, "buggy: as asked\n");
}

static const struct {
	const char *name;
	void (*commit)(void);
} bugs[] = {
	{ "use-after-free", use_after_free },
	{ "out-of-bounds", out_of_bounds },
	{ "shift", shift },
	{ "array-index", array_index },
	{ "lock-order", lock_order },
	{ "lock-softirq", lock_softirq },
	{ "sleep-in-atomic", sleep_in_atomic },
	{ "list-twice", list_twice },
	{ "warn", warn },
};

static int buggy_set(const char *value, const struct kernel_param *param)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bugs); i++) {
		if (sysfs_streq(value, bugs[i].name)) {
			bugs[i].commit();
			return 0;
		}
	}
	return -EINVAL;
}

static const struct kernel_param_ops buggy_ops = { .set = buggy_set };

module_param_cb(bug, &buggy_ops, NULL, 0200);
MODULE_PARM_DESC(bug, "name of the bug to commit");

static int __init buggy_init(void)
{
	return 0;
}

static void __exit buggy_exit(void)
{
}

module_init(buggy_init);
module_exit(buggy_exit);
MODULE_DESCRIPTION("PFQD-DC lab: proves that the kernel's detectors fire");
MODULE_LICENSE("GPL");
