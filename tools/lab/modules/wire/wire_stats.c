// SPDX-License-Identifier: GPL-2.0-only
/*
 * wire statistics: one table of counters, shown by rtnetlink (IFLA_INFO_XSTATS),
 * by ethtool -S, and summed for ip -s link.
 */
#include <linux/ethtool.h>
#include <linux/string.h>
#include <net/netlink.h>

#include "wire.h"

static const char wire_stat_names[__LAB_WIRE_STAT_MAX][ETH_GSTRING_LEN] = {
	[LAB_WIRE_STAT_TX_FRAMES] = "tx_frames",
	[LAB_WIRE_STAT_TX_BYTES] = "tx_bytes",
	[LAB_WIRE_STAT_TX_WIRE_BYTES] = "tx_wire_bytes",
	[LAB_WIRE_STAT_TX_DATA] = "tx_data",
	[LAB_WIRE_STAT_LOST] = "lost",
	[LAB_WIRE_STAT_PEER_DOWN] = "peer_down",
	[LAB_WIRE_STAT_REFUSED] = "refused",
	[LAB_WIRE_STAT_PURGED] = "purged",
	[LAB_WIRE_STAT_RX_FRAMES] = "rx_frames",
	[LAB_WIRE_STAT_RX_BYTES] = "rx_bytes",
	[LAB_WIRE_STAT_RX_BATCHES] = "rx_batches",
	[LAB_WIRE_STAT_HELD] = "held",
	[LAB_WIRE_STAT_FLUSHED] = "flushed",
	[LAB_WIRE_STAT_OVERSIZE] = "oversize",
	[LAB_WIRE_STAT_NO_MEMORY] = "no_memory",
};

#define WIRE_STAT_FIRST		(LAB_WIRE_STAT_PAD + 1)
#define WIRE_STAT_COUNT		(__LAB_WIRE_STAT_MAX - WIRE_STAT_FIRST)

/* A snapshot of both sides' counters. */
static void wire_read(const struct net_device *dev, struct wire_tx_stats *tx,
		      struct wire_rx_stats *rx)
{
	struct wire_end *end = netdev_priv(dev);

	spin_lock_bh(&end->tx.lock);
	*tx = end->tx.stats;
	spin_unlock_bh(&end->tx.lock);
	spin_lock_bh(&end->rx.lock);
	*rx = end->rx.stats;
	spin_unlock_bh(&end->rx.lock);
}

static void wire_read_all(const struct net_device *dev, u64 out[__LAB_WIRE_STAT_MAX])
{
	struct wire_tx_stats tx;
	struct wire_rx_stats rx;

	wire_read(dev, &tx, &rx);
	out[LAB_WIRE_STAT_TX_FRAMES] = tx.frames;
	out[LAB_WIRE_STAT_TX_BYTES] = tx.bytes;
	out[LAB_WIRE_STAT_TX_WIRE_BYTES] = tx.wire_bytes;
	out[LAB_WIRE_STAT_TX_DATA] = tx.data;
	out[LAB_WIRE_STAT_LOST] = tx.lost;
	out[LAB_WIRE_STAT_PEER_DOWN] = tx.peer_down;
	out[LAB_WIRE_STAT_REFUSED] = tx.refused;
	out[LAB_WIRE_STAT_PURGED] = tx.purged + rx.purged;
	out[LAB_WIRE_STAT_RX_FRAMES] = rx.frames;
	out[LAB_WIRE_STAT_RX_BYTES] = rx.bytes;
	out[LAB_WIRE_STAT_RX_BATCHES] = rx.batches;
	out[LAB_WIRE_STAT_HELD] = rx.held;
	out[LAB_WIRE_STAT_FLUSHED] = rx.flushed;
	out[LAB_WIRE_STAT_OVERSIZE] = rx.oversize;
	out[LAB_WIRE_STAT_NO_MEMORY] = rx.no_memory;
}

/* As a real port would: a lost frame is the receiver's CRC error. */
void wire_get_stats64(struct net_device *dev, struct rtnl_link_stats64 *out)
{
	struct wire_tx_stats tx;
	struct wire_rx_stats rx;

	wire_read(dev, &tx, &rx);
	out->tx_packets = tx.frames;
	out->tx_bytes = tx.bytes;
	out->tx_dropped = tx.refused;
	out->tx_carrier_errors = tx.peer_down;
	out->tx_errors = tx.peer_down;
	out->rx_packets = rx.frames;
	out->rx_bytes = rx.bytes;
	out->rx_dropped = rx.no_memory + rx.purged;
	out->rx_crc_errors = rx.vanished;
	out->rx_length_errors = rx.oversize;
	out->rx_errors = rx.vanished + rx.oversize;
}

size_t wire_xstats_size(const struct net_device *dev)
{
	return nla_total_size(0) + WIRE_STAT_COUNT * nla_total_size_64bit(sizeof(u64));
}

int wire_fill_xstats(struct sk_buff *skb, const struct net_device *dev)
{
	struct nlattr *nest = nla_nest_start(skb, IFLA_INFO_XSTATS);
	u64 values[__LAB_WIRE_STAT_MAX];
	int i;

	if (!nest)
		return -EMSGSIZE;
	wire_read_all(dev, values);
	for (i = WIRE_STAT_FIRST; i < __LAB_WIRE_STAT_MAX; i++) {
		if (nla_put_u64_64bit(skb, i, values[i], LAB_WIRE_STAT_PAD)) {
			nla_nest_cancel(skb, nest);
			return -EMSGSIZE;
		}
	}
	nla_nest_end(skb, nest);
	return 0;
}

static int wire_get_sset_count(struct net_device *dev, int set)
{
	return set == ETH_SS_STATS ? WIRE_STAT_COUNT : -EOPNOTSUPP;
}

static void wire_get_strings(struct net_device *dev, u32 set, u8 *out)
{
	if (set == ETH_SS_STATS)
		memcpy(out, wire_stat_names[WIRE_STAT_FIRST], WIRE_STAT_COUNT * ETH_GSTRING_LEN);
}

static void wire_get_ethtool_stats(struct net_device *dev, struct ethtool_stats *stats, u64 *out)
{
	u64 values[__LAB_WIRE_STAT_MAX];

	wire_read_all(dev, values);
	memcpy(out, &values[WIRE_STAT_FIRST], WIRE_STAT_COUNT * sizeof(u64));
}

static int wire_get_link_ksettings(struct net_device *dev, struct ethtool_link_ksettings *settings)
{
	struct wire_end *end = netdev_priv(dev);

	settings->base.speed = div_u64(end->tx.rate, 1000000);
	settings->base.duplex = DUPLEX_FULL;
	settings->base.port = PORT_OTHER;
	settings->base.autoneg = AUTONEG_DISABLE;
	return 0;
}

static void wire_get_drvinfo(struct net_device *dev, struct ethtool_drvinfo *info)
{
	strscpy(info->driver, WIRE_KIND, sizeof(info->driver));
}

const struct ethtool_ops wire_ethtool_ops = {
	.get_drvinfo		= wire_get_drvinfo,
	.get_link		= ethtool_op_get_link,
	.get_ts_info		= ethtool_op_get_ts_info,
	.get_sset_count		= wire_get_sset_count,
	.get_strings		= wire_get_strings,
	.get_ethtool_stats	= wire_get_ethtool_stats,
	.get_link_ksettings	= wire_get_link_ksettings,
};
