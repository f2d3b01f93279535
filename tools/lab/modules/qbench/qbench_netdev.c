// SPDX-License-Identifier: GPL-2.0-only
/*
 * qbench netdev: an Ethernet device that carries a qdisc and never asks it for a
 * packet. Its one transmit queue is stopped from the moment it comes up.
 */
#include <linux/etherdevice.h>
#include <net/rtnetlink.h>

#include "qbench.h"

#define QBENCH_QUEUE_LEN	1000

static int qbench_open(struct net_device *dev)
{
	netif_tx_stop_all_queues(dev);
	return 0;
}

static int qbench_stop(struct net_device *dev)
{
	return 0;
}

/* Only reached if somebody wakes the queue. */
static netdev_tx_t qbench_xmit(struct sk_buff *skb, struct net_device *dev)
{
	dev_kfree_skb_any(skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops qbench_netdev_ops = {
	.ndo_open		= qbench_open,
	.ndo_stop		= qbench_stop,
	.ndo_start_xmit		= qbench_xmit,
	.ndo_set_mac_address	= eth_mac_addr,
	.ndo_validate_addr	= eth_validate_addr,
};

static void qbench_setup(struct net_device *dev)
{
	ether_setup(dev);
	dev->netdev_ops = &qbench_netdev_ops;
	dev->needs_free_netdev = true;
	/* no neighbours are asked for: nothing but the bench's packets is queued */
	dev->flags |= IFF_NOARP;
	dev->flags &= ~(IFF_MULTICAST | IFF_BROADCAST);
	dev->tx_queue_len = QBENCH_QUEUE_LEN;
	eth_hw_addr_random(dev);
}

struct rtnl_link_ops qbench_link_ops __read_mostly = {
	.kind	= "qbench",
	.setup	= qbench_setup,
};
