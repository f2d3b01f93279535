// SPDX-License-Identifier: GPL-2.0-only
/*
 * split_gso: a GSO packet is cut into the frames that it stands for when it is
 * queued, so that a turn can end between them. It costs what the device's
 * segmentation would have saved, and is off by default: without it a GSO packet
 * counts as its segments, and its flow waits for as many turns.
 */
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include "compat/gso.h"
#include "pfqd.h"

/*
 * The segments, a list, each with its qdisc packet length; NULL: could not be
 * done, the packet is as it was. The caller lets go of the packet. A size table
 * (stab) has no say in the lengths: modules cannot ask it.
 */
struct sk_buff *pfqd_gso_split(struct sk_buff *skb)
{
	netdev_features_t features = netif_skb_features(skb) & ~NETIF_F_GSO_MASK;
	struct sk_buff *segments, *segment;

	segments = skb_gso_segment(skb, features);
	if (IS_ERR_OR_NULL(segments))
		return NULL;
	for (segment = segments; segment; segment = segment->next) {
		qdisc_skb_cb(segment)->pkt_len = segment->len;
		pfqd_set_pkt_segs(segment, 1);
	}
	return segments;
}
