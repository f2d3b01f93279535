/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rtnl_link_ops::newlink of wire across kernels, found out by looking
 * (../wire/Kbuild), not by version: newer kernels pass its arguments in a
 * struct, where the namespaces are told apart. Included by wire_link.c alone,
 * which writes the one function that both forms call.
 */
#ifndef _LAB_COMPAT_NEWLINK_H
#define _LAB_COMPAT_NEWLINK_H

#include <net/rtnetlink.h>

static int wire_make_pair(struct net *src_net, struct net_device *dev, struct nlattr *tb[],
			  struct nlattr *data[], struct netlink_ext_ack *extack);

#ifdef LAB_HAVE_NEWLINK_PARAMS
static int wire_newlink(struct net_device *dev, struct rtnl_newlink_params *params,
			struct netlink_ext_ack *extack)
{
	return wire_make_pair(rtnl_newlink_peer_net(params), dev, params->tb, params->data, extack);
}
#else
static int wire_newlink(struct net *src_net, struct net_device *dev, struct nlattr *tb[],
			struct nlattr *data[], struct netlink_ext_ack *extack)
{
	return wire_make_pair(src_net, dev, tb, data, extack);
}
#endif

#endif /* _LAB_COMPAT_NEWLINK_H */
