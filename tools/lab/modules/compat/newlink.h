/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rtnl_link_ops::newlink across kernels, found out by looking (the Kbuild of
 * the module that includes this), not by version: newer kernels pass their
 * arguments in a struct, where the namespaces are told apart.
 *
 * A driver writes one function with the arguments that a pair needs and lets
 * LAB_DEFINE_NEWLINK() make the operation from it.
 */
#ifndef _LAB_COMPAT_NEWLINK_H
#define _LAB_COMPAT_NEWLINK_H

#include <net/rtnetlink.h>

#ifdef LAB_HAVE_NEWLINK_PARAMS
#define LAB_DEFINE_NEWLINK(name, make)						\
static int name(struct net_device *dev, struct rtnl_newlink_params *params,	\
		struct netlink_ext_ack *extack)					\
{										\
	return make(rtnl_newlink_peer_net(params), dev, params->tb, params->data, extack); \
}
#else
#define LAB_DEFINE_NEWLINK(name, make)						\
static int name(struct net *net, struct net_device *dev, struct nlattr *tb[],	\
		struct nlattr *data[], struct netlink_ext_ack *extack)		\
{										\
	return make(net, dev, tb, data, extack);				\
}
#endif

#endif /* _LAB_COMPAT_NEWLINK_H */
