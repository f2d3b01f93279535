/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Timers across kernels: newer ones set the clock and the function of a timer
 * in one call and hide the function's field. Found out by looking (../wire/Kbuild).
 */
#ifndef _LAB_COMPAT_HRTIMER_H
#define _LAB_COMPAT_HRTIMER_H

#include <linux/hrtimer.h>

#ifndef LAB_HAVE_HRTIMER_SETUP
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *timer),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

#endif /* _LAB_COMPAT_HRTIMER_H */
