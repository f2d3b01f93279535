// SPDX-License-Identifier: GPL-2.0-only
/*
 * wire netdev: what the stack calls. An Ethernet device that sums checksums in
 * "hardware" and gathers fragments, but does not segment: a unit of the qdisc is
 * a frame of the wire. Its carrier is up when both ends are.
 */
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/if_vlan.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "wire.h"

static struct wire_end *wire_peer_rtnl(struct wire_end *end)
{
	return rtnl_dereference(end->peer);
}

static int wire_init(struct net_device *dev)
{
	struct wire_end *end = netdev_priv(dev);
	u32 i;

	end->dev = dev;
	end->tx.ring_count = dev->num_tx_queues;
	end->tx.rings = kvcalloc(end->tx.ring_count, sizeof(*end->tx.rings), GFP_KERNEL);
	if (!end->tx.rings)
		return -ENOMEM;
	for (i = 0; i < end->tx.ring_count; i++)
		__skb_queue_head_init(&end->tx.rings[i].frames);
	wire_tx_init(end);
	wire_rx_init(end);
	netif_napi_add(dev, &end->napi, wire_rx_poll);
	return 0;
}

static void wire_free(struct net_device *dev)
{
	struct wire_end *end = netdev_priv(dev);

	kvfree(end->tx.rings);
}

static int wire_open(struct net_device *dev)
{
	struct wire_end *end = netdev_priv(dev);
	struct wire_end *peer = wire_peer_rtnl(end);

	if (!peer)
		return -ENOTCONN;
	wire_rx_start(end);
	wire_tx_start(end);
	if (peer->dev->flags & IFF_UP) {
		netif_carrier_on(dev);
		netif_carrier_on(peer->dev);
	}
	return 0;
}

static int wire_stop(struct net_device *dev)
{
	struct wire_end *end = netdev_priv(dev);
	struct wire_end *peer = wire_peer_rtnl(end);

	netif_carrier_off(dev);
	if (peer)
		netif_carrier_off(peer->dev);
	wire_tx_stop(end);
	wire_rx_stop(end);
	return 0;
}

static netdev_tx_t wire_xmit(struct sk_buff *skb, struct net_device *dev)
{
	return wire_tx_frame(netdev_priv(dev), skb);
}

static int wire_get_iflink(const struct net_device *dev)
{
	struct wire_end *end = netdev_priv(dev);
	struct wire_end *peer;
	int ifindex;

	rcu_read_lock();
	peer = rcu_dereference(end->peer);
	ifindex = peer ? peer->dev->ifindex : 0;
	rcu_read_unlock();
	return ifindex;
}

static const struct net_device_ops wire_netdev_ops = {
	.ndo_init		= wire_init,
	.ndo_open		= wire_open,
	.ndo_stop		= wire_stop,
	.ndo_start_xmit		= wire_xmit,
	.ndo_get_stats64	= wire_get_stats64,
	.ndo_set_mac_address	= eth_mac_addr,
	.ndo_validate_addr	= eth_validate_addr,
	.ndo_get_iflink		= wire_get_iflink,
	.ndo_features_check	= passthru_features_check,
};

#define WIRE_FEATURES (NETIF_F_SG | NETIF_F_HW_CSUM | NETIF_F_HIGHDMA | NETIF_F_FRAGLIST)

void wire_netdev_setup(struct net_device *dev)
{
	ether_setup(dev);
	dev->netdev_ops = &wire_netdev_ops;
	dev->ethtool_ops = &wire_ethtool_ops;
	dev->needs_free_netdev = true;
	dev->priv_destructor = wire_free;
	dev->min_mtu = ETH_MIN_MTU;
	dev->max_mtu = ETH_MAX_MTU;
	/* A frame waits in its own list pointers: it cannot be sent twice at once. */
	dev->priv_flags &= ~IFF_TX_SKB_SHARING;
	dev->priv_flags |= IFF_LIVE_ADDR_CHANGE;
	dev->features |= WIRE_FEATURES;
	dev->hw_features |= WIRE_FEATURES;
	dev->vlan_features |= WIRE_FEATURES;
}

/* As ethtool -K DEV gro on|off; the caller holds RTNL. */
void wire_netdev_set_gro(struct net_device *dev, bool on)
{
	if (on)
		dev->wanted_features |= NETIF_F_GRO;
	else
		dev->wanted_features &= ~NETIF_F_GRO;
	netdev_update_features(dev);
}
