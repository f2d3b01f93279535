// SPDX-License-Identifier: GPL-2.0-only
/*
 * The flow table: from a key to its flow. Memory grows with the flows in use.
 *
 * Finding: linear hashing with a secret, full keys compared, so two live flows
 * never share a FIFO. The table grows by one bucket with each new flow (one
 * bucket's flows are split in two: bounded work, no rehash of everything); its
 * buckets lie in pages that are made on demand. If a page cannot be had, chains
 * get longer, nothing else.
 *
 * Keeping: an empty flow holds no state but the turns that it still owes, so
 * forgetting it is harmless. It is kept for PFQD_IDLE_NS all the same, to be found
 * when its next packet comes: in steady state nothing is allocated. Whoever empties
 * frees two that have been idle for longer; at the limit a new flow takes the one
 * that has been idle for longest.
 *
 * No flow to be had (all busy, or no memory, or the qdisc is crowded): the packet
 * goes to one of 64 shared FIFOs, by source address: whoever floods with random
 * tuples shares with himself. While such a FIFO is backlogged, new tuples of its
 * sources stay with it even if flows have become free, so that no flow is ever
 * reordered.
 */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include "pfqd.h"

static struct kmem_cache *pfqd_flow_cache;

int pfqd_flow_cache_create(void)
{
	pfqd_flow_cache = KMEM_CACHE(pfqd_flow, 0);
	return pfqd_flow_cache ? 0 : -ENOMEM;
}

void pfqd_flow_cache_destroy(void)
{
	kmem_cache_destroy(pfqd_flow_cache);
}

void pfqd_flow_init(struct pfqd_flow *flow)
{
	memset(flow, 0, sizeof(*flow));
	flow->tier = PFQD_TIER_HIGH;
	flow->band = PFQD_BAND_NONE;
	INIT_LIST_HEAD(&flow->bytes.link);
	INIT_LIST_HEAD(&flow->memory.link);
	INIT_LIST_HEAD(&flow->age);
	INIT_LIST_HEAD(&flow->turn.link);
	INIT_LIST_HEAD(&flow->banded.link);
	INIT_HLIST_NODE(&flow->node);
}

/* --- buckets ----------------------------------------------------------------- */

/*
 * Of the buckets [0, buckets) the first (buckets - half) are already split, where
 * half is the largest power of two that fits: their flows are told apart by one
 * more bit of the hash.
 */
static u32 pfqd_bucket_index(const struct pfqd_table *table, u32 hash)
{
	u32 half = 1U << (fls(table->buckets) - 1);
	u32 index = hash & (2 * half - 1);

	return index < table->buckets ? index : index - half;
}

static bool pfqd_table_add_bucket(struct pfqd_table *table)
{
	u32 at = table->buckets / PFQD_SEGMENT_BUCKETS;

	if (at >= table->segments)
		return false;
	if (!table->segment[at])
		table->segment[at] = kzalloc(sizeof(**table->segment),
					     GFP_ATOMIC | __GFP_NOWARN);
	return table->segment[at];
}

/* One bucket more: half of the flows of bucket `from` belong to it. */
static void pfqd_table_grow(struct pfqd_table *table)
{
	u32 index = table->buckets, from;
	struct pfqd_flow *flow;
	struct hlist_node *next;

	if (table->flows <= table->buckets || !pfqd_table_add_bucket(table))
		return;
	from = index - (1U << (fls(index) - 1));
	table->buckets++;
	hlist_for_each_entry_safe(flow, next, pfqd_bucket(table, from), node) {
		if (pfqd_bucket_index(table, flow->hash) == from)
			continue;
		hlist_del(&flow->node);
		hlist_add_head(&flow->node, pfqd_bucket(table, index));
	}
}

static u32 pfqd_directory_size(u32 limit)
{
	return DIV_ROUND_UP(limit, (u32)PFQD_SEGMENT_BUCKETS);
}

struct pfqd_segment **pfqd_table_directory(u32 limit)
{
	return kvcalloc(pfqd_directory_size(limit), sizeof(void *), GFP_KERNEL);
}

/*
 * Under the lock. A smaller limit keeps the directory: flows above the limit
 * leave the table as they empty. Returns what is to be freed after the lock.
 */
struct pfqd_segment **pfqd_table_resize(struct pfqd_table *table,
					struct pfqd_segment **directory, u32 limit)
{
	u32 size = pfqd_directory_size(limit);

	table->limit = limit;
	if (size <= table->segments)
		return directory;
	memcpy(directory, table->segment, table->segments * sizeof(*directory));
	swap(directory, table->segment);
	table->segments = size;
	return directory;
}

/* --- flows ------------------------------------------------------------------- */

static bool pfqd_key_equal(const struct pfqd_key *a, const struct pfqd_key *b)
{
	const u64 *x = (const u64 *)a, *y = (const u64 *)b;

	BUILD_BUG_ON(sizeof(struct pfqd_key) != 5 * sizeof(u64));
	return !((x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2]) | (x[3] ^ y[3]) |
		 (x[4] ^ y[4]));
}

/* IPv4 leaves most of the key zero; inside of IPv4 there may be IPv6 addresses. */
static u32 pfqd_key_hash(const struct pfqd_table *table, const struct pfqd_key *key)
{
	const __be32 *s = key->saddr.s6_addr32, *d = key->daddr.s6_addr32;

	if (s[1] | s[2] | s[3] | d[1] | d[2] | d[3])
		return hsiphash(key, sizeof(*key), &table->secret);
	return hsiphash_4u32((__force u32)s[0], (__force u32)d[0],
			     (__force u32)key->ports,
			     (__force u32)key->l3 << 16 | key->l4 << 8 | key->fragment,
			     &table->secret);
}

static struct pfqd_flow *pfqd_table_lookup(struct pfqd_table *table, u32 hash,
					   const struct pfqd_key *key)
{
	struct hlist_head *bucket;
	struct pfqd_flow *flow;

	bucket = pfqd_bucket(table, pfqd_bucket_index(table, hash));
	hlist_for_each_entry(flow, bucket, node) {
		if (flow->hash == hash && pfqd_key_equal(&flow->key, key))
			return flow;
	}
	return NULL;
}

static void pfqd_table_remove(struct pfqd_table *table, struct pfqd_flow *flow)
{
	hlist_del_init(&flow->node);
	if (table->last == flow)
		table->last = NULL;
	pfqd_add(table->flows, -1);
}

/* An idle flow leaves the idle list. */
static void pfqd_table_wake(struct pfqd_table *table, struct pfqd_flow *flow)
{
	list_del_init(&flow->turn.link);
	table->idle--;
}

static struct pfqd_flow *pfqd_table_longest_idle(struct pfqd_table *table)
{
	struct pfqd_flow *flow;

	flow = list_first_entry_or_null(&table->idlers, struct pfqd_flow, turn.link);
	if (flow) {
		pfqd_table_wake(table, flow);
		pfqd_table_remove(table, flow);
	}
	return flow;
}

static struct pfqd_flow *pfqd_table_alloc(struct pfqd_table *table)
{
	struct pfqd_flow *flow;

	if (table->flows >= table->limit)
		return pfqd_table_longest_idle(table);
	flow = kmem_cache_alloc(pfqd_flow_cache, GFP_ATOMIC | __GFP_NOWARN);
	if (flow)
		return flow;
	pfqd_add(table->alloc_failures, 1);
	return pfqd_table_longest_idle(table);
}

static struct pfqd_flow *pfqd_table_add(struct pfqd_table *table, u32 hash,
					const struct pfqd_key *key)
{
	struct pfqd_flow *flow = pfqd_table_alloc(table);

	if (!flow)
		return NULL;
	pfqd_flow_init(flow);
	flow->hashed = true;
	flow->hash = hash;
	flow->key = *key;
	hlist_add_head(&flow->node,
		       pfqd_bucket(table, pfqd_bucket_index(table, hash)));
	pfqd_add(table->flows, 1);
	pfqd_table_grow(table);
	return flow;
}

static struct pfqd_flow *pfqd_table_shared(struct pfqd_table *table,
					   const struct pfqd_key *key)
{
	u32 hash = hsiphash(&key->saddr, sizeof(key->saddr), &table->secret);

	return &table->overflow[reciprocal_scale(hash, PFQD_SHARED_FIFOS)];
}

/*
 * The flow for a packet with that key; never NULL. What it returns is empty
 * (then it is in no list) or backlogged. Crowded: there is no new one to be had.
 */
struct pfqd_flow *pfqd_table_find(struct pfqd_table *table,
				  const struct pfqd_key *key, bool crowded)
{
	struct pfqd_flow *flow = table->last, *shared;
	u32 hash;

	if (flow && pfqd_key_equal(&flow->key, key))
		goto found;
	hash = pfqd_key_hash(table, key);
	flow = pfqd_table_lookup(table, hash, key);
	if (flow)
		goto found;
	shared = pfqd_table_shared(table, key);
	if (!shared->qlen && !crowded) {
		flow = pfqd_table_add(table, hash, key);
		if (flow) {
			table->last = flow;
			return flow;
		}
	}
	pfqd_add(table->overflow_packets, 1);
	return shared;

found:
	table->last = flow;
	if (!flow->qlen)
		pfqd_table_wake(table, flow);
	return flow;
}

/* Idle for too long, or one of more than there may be. */
static bool pfqd_table_stale(struct pfqd_table *table, u64 now)
{
	const struct pfqd_flow *flow;

	flow = list_first_entry_or_null(&table->idlers, struct pfqd_flow, turn.link);
	return flow && (table->flows > table->limit ||
			now - flow->since > PFQD_IDLE_NS);
}

/* The flow has emptied and is in no other list; it may be gone afterwards. */
void pfqd_table_idle(struct pfqd_table *table, struct pfqd_flow *flow, u64 now)
{
	int i;

	if (!flow->hashed)
		return;
	flow->since = now;
	list_add_tail(&flow->turn.link, &table->idlers);
	table->idle++;
	for (i = 0; i < PFQD_IDLE_FREED && pfqd_table_stale(table, now); i++)
		kmem_cache_free(pfqd_flow_cache, pfqd_table_longest_idle(table));
}

/* --- life of the table -------------------------------------------------------- */

/* Frees all flows and what they hold. For reset: the caller forgets the rest. */
void pfqd_table_purge(struct pfqd_table *table)
{
	struct pfqd_flow *flow;
	struct hlist_node *next;
	u32 i;

	for (i = 0; i < table->buckets; i++) {
		hlist_for_each_entry_safe(flow, next, pfqd_bucket(table, i), node) {
			pfqd_fifo_free(flow);
			kmem_cache_free(pfqd_flow_cache, flow);
		}
		INIT_HLIST_HEAD(pfqd_bucket(table, i));
	}
	for (i = 0; i < PFQD_SHARED_FIFOS; i++) {
		pfqd_fifo_free(&table->overflow[i]);
		pfqd_flow_init(&table->overflow[i]);
	}
	INIT_LIST_HEAD(&table->idlers);
	table->last = NULL;
	table->idle = 0;
	WRITE_ONCE(table->flows, 0);
}

/* Whatever it returns, pfqd_table_destroy() has to follow. */
int pfqd_table_init(struct pfqd_table *table, u32 limit)
{
	u32 i;

	table->limit = limit;
	INIT_LIST_HEAD(&table->idlers);
	get_random_bytes(&table->secret, sizeof(table->secret));

	table->overflow = kvcalloc(PFQD_SHARED_FIFOS, sizeof(*table->overflow),
				   GFP_KERNEL);
	table->segment = pfqd_table_directory(limit);
	if (!table->overflow || !table->segment)
		return -ENOMEM;
	for (i = 0; i < PFQD_SHARED_FIFOS; i++)
		pfqd_flow_init(&table->overflow[i]);

	table->segments = pfqd_directory_size(limit);
	table->segment[0] = kzalloc(sizeof(**table->segment), GFP_KERNEL);
	if (!table->segment[0])
		return -ENOMEM;
	table->buckets = PFQD_SEGMENT_BUCKETS;
	return 0;
}

/* All flows are purged. Also right for a table whose init failed or never ran. */
void pfqd_table_destroy(struct pfqd_table *table)
{
	u32 i;

	for (i = 0; i < table->segments; i++)
		kfree(table->segment[i]);
	kvfree(table->segment);
	kvfree(table->overflow);
	table->segment = NULL;
	table->segments = 0;
	table->overflow = NULL;
	table->buckets = 0;
}
