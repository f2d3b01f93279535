// SPDX-License-Identifier: GPL-2.0-only
/*
 * wire link type: the pair's birth, change, report and death by rtnetlink.
 *
 * Attributes are checked whole before anything is made or changed: sizes and
 * ranges by the policy, the rest here. A refusal says why in the extended ACK.
 */
#include <linux/device.h>
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <net/netlink.h>
#include <net/rtnetlink.h>

#include "../compat/newlink.h"
#include "wire.h"

/* Not const: until 6.3, nla_policy pointed to ranges that are not. */
static struct netlink_range_validation wire_rate_range = {
	.min = WIRE_RATE_MIN, .max = WIRE_RATE_MAX,
};

static struct netlink_range_validation wire_delay_range = { .max = WIRE_DELAY_MAX };
static struct netlink_range_validation wire_ring_range = { .max = WIRE_RING_MAX };
static struct netlink_range_validation wire_loss_range = { .max = WIRE_LOSS_MAX };
static struct netlink_range_validation wire_hold_range = { .max = WIRE_HOLD_MAX };

static const struct nla_policy wire_policy[IFLA_LAB_WIRE_MAX + 1] = {
	[IFLA_LAB_WIRE_PEER] = { .len = sizeof(struct ifinfomsg) },
	[IFLA_LAB_WIRE_RATE] = NLA_POLICY_FULL_RANGE(NLA_U64, &wire_rate_range),
	[IFLA_LAB_WIRE_DELAY] = NLA_POLICY_FULL_RANGE(NLA_U64, &wire_delay_range),
	[IFLA_LAB_WIRE_RING] = NLA_POLICY_FULL_RANGE(NLA_U64, &wire_ring_range),
	[IFLA_LAB_WIRE_LOSS] = NLA_POLICY_FULL_RANGE(NLA_U32, &wire_loss_range),
	[IFLA_LAB_WIRE_SEED] = { .type = NLA_U32 },
	[IFLA_LAB_WIRE_MODERATION] = NLA_POLICY_FULL_RANGE(NLA_U32, &wire_hold_range),
	[IFLA_LAB_WIRE_MODERATION_MODE] = NLA_POLICY_MAX(NLA_U8, __LAB_WIRE_MODERATION_MAX - 1),
	[IFLA_LAB_WIRE_LATENESS] = NLA_POLICY_FULL_RANGE(NLA_U32, &wire_hold_range),
	[IFLA_LAB_WIRE_GRO] = NLA_POLICY_MAX(NLA_U8, 1),
	[IFLA_LAB_WIRE_BUS] = NLA_POLICY_MAX(NLA_U8, 1),
};

/* The bus of those ends that have one. */
static struct device *wire_bus;

static int wire_validate(struct nlattr *tb[], struct nlattr *data[], struct netlink_ext_ack *extack)
{
	struct nlattr *address = tb[IFLA_ADDRESS];

	if (address && nla_len(address) != ETH_ALEN) {
		NL_SET_ERR_MSG_ATTR(extack, address, "a wire's address has 6 bytes");
		return -EINVAL;
	}
	if (address && !is_valid_ether_addr(nla_data(address))) {
		NL_SET_ERR_MSG_ATTR(extack, address, "a wire's address is unicast and not zero");
		return -EADDRNOTAVAIL;
	}
	if (tb[IFLA_MTU] && (nla_get_u32(tb[IFLA_MTU]) < ETH_MIN_MTU ||
			     nla_get_u32(tb[IFLA_MTU]) > ETH_MAX_MTU)) {
		NL_SET_ERR_MSG_ATTR(extack, tb[IFLA_MTU], "a wire's mtu is 68 to 65535");
		return -EINVAL;
	}
	return 0;
}

static void wire_set_tx(struct wire_end *end, struct nlattr *data[])
{
	struct wire_tx *tx = &end->tx;

	if (data[IFLA_LAB_WIRE_RATE])
		wire_tx_set_rate(tx, nla_get_u64(data[IFLA_LAB_WIRE_RATE]));
	if (data[IFLA_LAB_WIRE_RING])
		wire_tx_set_ring(end, nla_get_u64(data[IFLA_LAB_WIRE_RING]));
	spin_lock_bh(&tx->lock);
	if (data[IFLA_LAB_WIRE_DELAY])
		tx->delay = nla_get_u64(data[IFLA_LAB_WIRE_DELAY]);
	if (data[IFLA_LAB_WIRE_LOSS])
		tx->loss = nla_get_u32(data[IFLA_LAB_WIRE_LOSS]);
	if (data[IFLA_LAB_WIRE_SEED])
		wire_random_seed(&tx->random, end->seed, LAB_WIRE_STREAM_LOSS);
	spin_unlock_bh(&tx->lock);
}

static void wire_set_rx(struct wire_end *end, struct nlattr *data[])
{
	struct wire_rx *rx = &end->rx;

	spin_lock_bh(&rx->lock);
	if (data[IFLA_LAB_WIRE_MODERATION])
		rx->moderation = nla_get_u32(data[IFLA_LAB_WIRE_MODERATION]);
	if (data[IFLA_LAB_WIRE_MODERATION_MODE])
		rx->mode = nla_get_u8(data[IFLA_LAB_WIRE_MODERATION_MODE]);
	if (data[IFLA_LAB_WIRE_LATENESS])
		rx->lateness = nla_get_u32(data[IFLA_LAB_WIRE_LATENESS]);
	if (data[IFLA_LAB_WIRE_SEED])
		wire_random_seed(&rx->random, end->seed, LAB_WIRE_STREAM_LATENESS);
	spin_unlock_bh(&rx->lock);
}

/* Cannot fail: all was checked. */
static void wire_set(struct wire_end *end, struct nlattr *data[])
{
	if (!data)
		return;
	if (data[IFLA_LAB_WIRE_SEED])
		end->seed = nla_get_u32(data[IFLA_LAB_WIRE_SEED]);
	wire_set_tx(end, data);
	wire_set_rx(end, data);
	if (data[IFLA_LAB_WIRE_GRO])
		wire_netdev_set_gro(end->dev, nla_get_u8(data[IFLA_LAB_WIRE_GRO]));
}

/* What the creating request says of the other end, checked. */
struct wire_peer_request {
	const struct ifinfomsg *header;		/* NULL: nothing was said */
	struct nlattr *tb[IFLA_MAX + 1];
	struct nlattr *data[IFLA_LAB_WIRE_MAX + 1];
};

static int wire_parse_peer_data(struct wire_peer_request *peer, struct netlink_ext_ack *extack)
{
	struct nlattr *info[IFLA_INFO_MAX + 1];
	int err;

	if (!peer->tb[IFLA_LINKINFO])
		return 0;
	err = nla_parse_nested_deprecated(info, IFLA_INFO_MAX, peer->tb[IFLA_LINKINFO], NULL,
					  extack);
	if (err < 0)
		return err;
	if (info[IFLA_INFO_KIND] && nla_strcmp(info[IFLA_INFO_KIND], WIRE_KIND)) {
		NL_SET_ERR_MSG_ATTR(extack, info[IFLA_INFO_KIND], "the peer of a wire is a wire");
		return -EINVAL;
	}
	if (!info[IFLA_INFO_DATA])
		return 0;
	err = nla_parse_nested_deprecated(peer->data, IFLA_LAB_WIRE_MAX, info[IFLA_INFO_DATA],
					  wire_policy, extack);
	if (err < 0)
		return err;
	if (peer->data[IFLA_LAB_WIRE_PEER]) {
		NL_SET_ERR_MSG_ATTR(extack, peer->data[IFLA_LAB_WIRE_PEER], "a wire has two ends");
		return -EINVAL;
	}
	return 0;
}

static int wire_parse_peer(struct wire_peer_request *peer, const struct nlattr *attr,
			   struct netlink_ext_ack *extack)
{
	int err;

	memset(peer, 0, sizeof(*peer));
	if (!attr)
		return 0;
	err = rtnl_nla_parse_ifinfomsg(peer->tb, attr, extack);
	if (err < 0)
		return err;
	peer->header = nla_data(attr);
	if (peer->header->ifi_index < 0) {
		NL_SET_ERR_MSG_ATTR(extack, attr, "an interface index is not negative");
		return -EINVAL;
	}
	err = wire_validate(peer->tb, NULL, extack);
	return err < 0 ? err : wire_parse_peer_data(peer, extack);
}

static struct rtnl_link_ops wire_link_ops;

static int wire_check_queues(const struct net_device *dev, struct netlink_ext_ack *extack)
{
	if (dev->num_tx_queues <= WIRE_QUEUES_MAX)
		return 0;
	NL_SET_ERR_MSG_MOD(extack, "a wire has at most 256 transmit queues");
	return -EINVAL;
}

/* Before it is registered. */
static void wire_set_bus(struct net_device *dev, struct nlattr *data[])
{
	if (data && data[IFLA_LAB_WIRE_BUS] && nla_get_u8(data[IFLA_LAB_WIRE_BUS]))
		SET_NETDEV_DEV(dev, wire_bus);
}

/* Registered, down, and without a peer yet. */
static struct net_device *wire_make_peer(struct net *src_net, struct wire_peer_request *request,
					 struct netlink_ext_ack *extack)
{
	struct net *net = rtnl_link_get_net(src_net, request->tb);
	unsigned char assign = NET_NAME_ENUM;
	char name[IFNAMSIZ] = WIRE_KIND "%d";
	struct net_device *dev;
	int err;

	if (IS_ERR(net))
		return ERR_CAST(net);
	if (!ns_capable(net->user_ns, CAP_NET_ADMIN)) {
		put_net(net);
		NL_SET_ERR_MSG_MOD(extack, "the peer's namespace is not yours to administer");
		return ERR_PTR(-EPERM);
	}
	if (request->tb[IFLA_IFNAME]) {
		nla_strscpy(name, request->tb[IFLA_IFNAME], IFNAMSIZ);
		assign = NET_NAME_USER;
	}
	dev = rtnl_create_link(net, name, assign, &wire_link_ops, request->tb, extack);
	put_net(net);
	if (IS_ERR(dev))
		return dev;
	wire_set_bus(dev, request->data);
	if (!request->tb[IFLA_ADDRESS])
		eth_hw_addr_random(dev);
	if (request->header)
		dev->ifindex = request->header->ifi_index;
	err = wire_check_queues(dev, extack);
	if (!err)
		err = register_netdevice(dev);
	if (err < 0) {
		free_netdev(dev);
		return ERR_PTR(err);
	}
	netif_carrier_off(dev);
	return dev;
}

static int wire_register(struct net_device *dev, struct nlattr *tb[],
			 struct nlattr *data[], struct netlink_ext_ack *extack)
{
	int err = wire_check_queues(dev, extack);

	if (err)
		return err;
	wire_set_bus(dev, data);
	if (!tb[IFLA_ADDRESS])
		eth_hw_addr_random(dev);
	if (tb[IFLA_IFNAME])
		nla_strscpy(dev->name, tb[IFLA_IFNAME], IFNAMSIZ);
	else
		snprintf(dev->name, IFNAMSIZ, WIRE_KIND "%%d");
	err = register_netdevice(dev);
	if (!err)
		netif_carrier_off(dev);
	return err;
}

static void wire_join(struct net_device *dev, struct net_device *peer)
{
	struct wire_end *end = netdev_priv(dev);
	struct wire_end *other = netdev_priv(peer);

	wire_netdev_set_gro(dev, false);
	wire_netdev_set_gro(peer, false);
	wire_tx_set_ring(end, 0);
	wire_tx_set_ring(other, 0);
	rcu_assign_pointer(end->peer, other);
	rcu_assign_pointer(other->peer, end);
}

/* The peer's flags, when the pair is whole: one end cannot come up alone. */
static int wire_set_flags(struct net_device *dev, const struct ifinfomsg *header,
			  struct netlink_ext_ack *extack)
{
	unsigned int flags;

	if (!header || !header->ifi_change)
		return 0;
	flags = (dev->flags & ~header->ifi_change) | (header->ifi_flags & header->ifi_change);
	return dev_change_flags(dev, flags, extack);
}

/* The peer is made in src_net, unless its own attributes name a namespace. */
static int wire_make_pair(struct net *src_net, struct net_device *dev, struct nlattr *tb[],
			  struct nlattr *data[], struct netlink_ext_ack *extack)
{
	struct wire_peer_request *request = kmalloc(sizeof(*request), GFP_KERNEL);
	struct net_device *peer;
	int err;

	if (!request)
		return -ENOMEM;
	err = wire_parse_peer(request, data ? data[IFLA_LAB_WIRE_PEER] : NULL, extack);
	if (err < 0)
		goto out;
	peer = wire_make_peer(src_net, request, extack);
	err = PTR_ERR_OR_ZERO(peer);
	if (err)
		goto out;
	err = rtnl_configure_link(peer, NULL, 0, NULL);
	if (!err)
		err = wire_register(dev, tb, data, extack);
	if (err) {
		unregister_netdevice(peer);
		goto out;
	}
	wire_join(dev, peer);
	wire_set(netdev_priv(dev), data);
	wire_set(netdev_priv(peer), request->data);
	err = wire_set_flags(peer, request->header, extack);
	if (err) {
		unregister_netdevice(dev);
		unregister_netdevice(peer);
	}
out:
	kfree(request);
	return err;
}

static int wire_changelink(struct net_device *dev, struct nlattr *tb[], struct nlattr *data[],
			   struct netlink_ext_ack *extack)
{
	if (data && data[IFLA_LAB_WIRE_PEER]) {
		NL_SET_ERR_MSG_ATTR(extack, data[IFLA_LAB_WIRE_PEER],
				    "a wire keeps the peer it was made with");
		return -EOPNOTSUPP;
	}
	if (data && data[IFLA_LAB_WIRE_BUS] &&
	    nla_get_u8(data[IFLA_LAB_WIRE_BUS]) != !!dev->dev.parent) {
		NL_SET_ERR_MSG_ATTR(extack, data[IFLA_LAB_WIRE_BUS],
				    "a wire keeps the bus it was made with");
		return -EOPNOTSUPP;
	}
	wire_set(netdev_priv(dev), data);
	if (data && data[IFLA_LAB_WIRE_RATE] && dev->dev.parent)
		netdev_state_change(dev);	/* as a link that was negotiated anew */
	return 0;
}

static void wire_dellink(struct net_device *dev, struct list_head *head)
{
	struct wire_end *end = netdev_priv(dev);
	struct wire_end *peer = rtnl_dereference(end->peer);

	/* Whoever still sees the peer does so in RCU; it is freed after that. */
	RCU_INIT_POINTER(end->peer, NULL);
	unregister_netdevice_queue(dev, head);
	if (peer) {
		RCU_INIT_POINTER(peer->peer, NULL);
		unregister_netdevice_queue(peer->dev, head);
	}
}

static size_t wire_get_size(const struct net_device *dev)
{
	return 3 * nla_total_size_64bit(sizeof(u64)) +	/* rate, delay, ring */
	       4 * nla_total_size(sizeof(u32)) +	/* loss, seed, moderation, lateness */
	       3 * nla_total_size(sizeof(u8));		/* mode, gro, bus */
}

static int wire_fill_info(struct sk_buff *skb, const struct net_device *dev)
{
	const struct wire_end *end = netdev_priv(dev);

	if (nla_put_u64_64bit(skb, IFLA_LAB_WIRE_RATE, end->tx.rate, IFLA_LAB_WIRE_PAD) ||
	    nla_put_u64_64bit(skb, IFLA_LAB_WIRE_DELAY, end->tx.delay, IFLA_LAB_WIRE_PAD) ||
	    nla_put_u64_64bit(skb, IFLA_LAB_WIRE_RING, end->tx.ring_limit, IFLA_LAB_WIRE_PAD) ||
	    nla_put_u32(skb, IFLA_LAB_WIRE_LOSS, end->tx.loss) ||
	    nla_put_u32(skb, IFLA_LAB_WIRE_SEED, end->seed) ||
	    nla_put_u32(skb, IFLA_LAB_WIRE_MODERATION, end->rx.moderation) ||
	    nla_put_u8(skb, IFLA_LAB_WIRE_MODERATION_MODE, end->rx.mode) ||
	    nla_put_u32(skb, IFLA_LAB_WIRE_LATENESS, end->rx.lateness) ||
	    nla_put_u8(skb, IFLA_LAB_WIRE_GRO, !!(dev->features & NETIF_F_GRO)) ||
	    nla_put_u8(skb, IFLA_LAB_WIRE_BUS, !!dev->dev.parent))
		return -EMSGSIZE;
	return 0;
}

static struct net *wire_get_link_net(const struct net_device *dev)
{
	struct wire_end *end = netdev_priv(dev);
	struct wire_end *peer = rtnl_dereference(end->peer);

	return dev_net(peer ? peer->dev : dev);
}

static struct rtnl_link_ops wire_link_ops = {
	.kind			= WIRE_KIND,
	.priv_size		= sizeof(struct wire_end),
	.setup			= wire_netdev_setup,
	.validate		= wire_validate,
	.newlink		= wire_newlink,
	.changelink		= wire_changelink,
	.dellink		= wire_dellink,
	.policy			= wire_policy,
	.maxtype		= IFLA_LAB_WIRE_MAX,
	.get_size		= wire_get_size,
	.fill_info		= wire_fill_info,
	.get_xstats_size	= wire_xstats_size,
	.fill_xstats		= wire_fill_xstats,
	.get_link_net		= wire_get_link_net,
};

static int __init wire_module_init(void)
{
	int err;

	wire_bus = root_device_register("lab_wire");
	if (IS_ERR(wire_bus))
		return PTR_ERR(wire_bus);
	err = rtnl_link_register(&wire_link_ops);
	if (err)
		root_device_unregister(wire_bus);
	return err;
}

static void __exit wire_module_exit(void)
{
	rtnl_link_unregister(&wire_link_ops);
	root_device_unregister(wire_bus);
}

module_init(wire_module_init);
module_exit(wire_module_exit);
MODULE_DESCRIPTION("Point-to-point Ethernet link in exact virtual time, for the PFQD-DC lab");
MODULE_LICENSE("GPL");
MODULE_ALIAS_RTNL_LINK(WIRE_KIND);
