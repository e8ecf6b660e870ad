#include "fs/memory/overlay.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <xxhash.h>

#include "fs/text/hashed.h"
#include "fs/text/sorted.h"
#include "store/value/array.h"
#include "store/value/why.h"

#ifndef OVERLAY_BYTES_MAX /* its test has less */
#define OVERLAY_BYTES_MAX (256u << 20)
#endif
/* Beyond this, entries are dropped even if their directory is being listed. */
#define BYTES_BUSY (OVERLAY_BYTES_MAX / 2)
#define SLOTS 256
/*
 * Each directory has its entries, an entry or two as a rule, in one of these trees. There
 * are so many trees that few directories share one, even after a large rm(1): a search
 * walks past the entries of the others, each of which costs a miss of the processor's
 * cache. Memory of trees that are empty is not touched.
 */
#define TREES 65536
/* A pinned node, the places of both in hash tables, and the allocator's overhead. */
#define ENTRY_COST (sizeof(struct entry) + 128 + 40 + 16)

struct entry {
	struct sorted_node by_key; /* parent, order_put() */
	uint32_t hash;		   /* of parent and name */
	uint32_t number;	   /* entries[number - 1] */
	uint64_t parent, node, ino;
	uint8_t kind;
	uint8_t rank; /* enum overlay_rank */
	uint8_t name_len;
	bool implied, late;
	uint64_t added_by;
	uint32_t key_len;
	/* The key, then that of by_key, which ends in the name. */
	uint8_t memory[];
};

/*
 * Counts of deletes in rows, and of listings of directories, that share a slot.
 */
struct slot {
	_Atomic uint64_t moves; /* read without the lock */
	uint64_t turns;		/* begun and ended deletes */
	uint32_t deleting, listing;
	bool missed;   /* something was to be settled during these deletes */
	uint32_t late; /* entries of these directories */
};

struct overlay {
	struct nodes *nodes;
	pthread_mutex_t lock;
	size_t bytes;		 /* lock */
	_Atomic size_t count;	 /* read without the lock */
	_Atomic size_t deleting; /* deletes under way; read without the lock */
	_Atomic uint64_t moves;
	struct slot slots[SLOTS]; /* lock */
	/* Under lock: all entries, by name, and in order, by the directory. */
	struct entry **entries; /* count of them */
	size_t entries_cap;
	struct hashed names;
	struct sorted trees[TREES];
};

#define by_key_entry(n) \
	((struct entry *)((char *)(n)-offsetof(struct entry, by_key)))

int overlay_new(struct nodes *nodes, struct overlay **out)
{
	struct overlay *ov = calloc(1, sizeof(*ov));

	if (!ov)
		return -ENOMEM;
	if (hashed_init(&ov->names) < 0) {
		free(ov);
		return -ENOMEM;
	}
	ov->nodes = nodes;
	pthread_mutex_init(&ov->lock, NULL);
	*out = ov;
	return 0;
}

static struct sorted *tree_of(struct overlay *ov, uint64_t dir)
{
	return &ov->trees[XXH3_64bits(&dir, sizeof(dir)) % TREES];
}

static uint32_t hash_of(const struct overlay *ov, uint64_t parent,
			struct bytes name)
{
	return (uint32_t)XXH3_64bits_withSeed(name.data, name.len,
					      nodes_secret(ov->nodes) + parent);
}

static struct bytes entry_name(const struct entry *en)
{
	struct bytes order = sorted_name(&en->by_key);

	return bytes_of(order.data + order.len - en->name_len, en->name_len);
}

/*
 * Entries of a parent are ordered by key, but several names may have one key. So
 * the order is key, 00, rank, name, where a 00 in the key becomes 00 FF, which
 * keeps the order of keys.
 */
static bool has_zero(struct bytes key)
{
	return key.len && memchr(key.data, 0, key.len);
}

static size_t order_len(struct bytes key, struct bytes name)
{
	size_t n = key.len + 2 + name.len;

	if (has_zero(key))
		for (size_t i = 0; i < key.len; i++)
			n += key.data[i] == 0;
	return n;
}

static void order_put(struct bytes key, uint8_t rank, struct bytes name,
		      uint8_t *at)
{
	if (!has_zero(key)) {
		bytes_copy(at, key.data, key.len);
		at += key.len;
		key.len = 0;
	}
	for (size_t i = 0; i < key.len; i++) {
		*at++ = key.data[i];
		if (key.data[i] == 0)
			*at++ = 0xff;
	}
	*at++ = 0;
	*at++ = rank;
	bytes_copy(at, name.data, name.len);
}

/* With what entry_new() takes for the keys; a 00 is two bytes of its order. */
static size_t cost_of(const struct entry *en)
{
	return ENTRY_COST + en->key_len + sorted_len(&en->by_key);
}

/* Lays out the keys behind the entry. -ENAMETOOLONG. */
static int entry_keys(struct entry *en, struct bytes key, struct bytes name,
		      size_t order)
{
	struct bytes dir = node_key(&en->parent);
	uint8_t *at = en->memory + key.len;
	int err = sorted_node_place(&en->by_key, at, dir, order);

	bytes_copy(en->memory, key.data, key.len);
	if (!err)
		order_put(key, en->rank, name, at + dir.len);
	return err;
}

static int entry_ranked(const struct overlay *ov, uint64_t parent,
			struct bytes key, uint8_t rank,
			const struct overlay_entry *e, struct entry **out)
{
	struct bytes name = bytes_str(e->name);
	size_t order = order_len(key, name);
	struct entry *en =
		malloc(sizeof(*en) + sizeof(parent) + key.len + order);
	int err;

	if (!en)
		return -ENOMEM;
	*en = (struct entry){
		.hash = hash_of(ov, parent, name),
		.parent = parent,
		.node = e->node,
		.ino = e->ino,
		.kind = e->kind,
		.rank = rank,
		.name_len = (uint8_t)name.len,
		.implied = e->implied,
		.added_by = e->added_by,
		.key_len = (uint32_t)key.len,
	};
	err = entry_keys(en, key, name, order);
	if (err)
		free(en);
	else
		*out = en;
	return err;
}

/* Does the name spell a key? That it does not needs no sentence. */
static bool is_key(const char *name, struct buf *key)
{
	struct why_kept kept;
	bool is;

	/* Most have a leading dot, which no key has. */
	if (*name == '.')
		return false;
	why_keep(&kept);
	is = name_decode(bytes_str(name), key) == 0;
	why_restore(&kept);
	return is;
}

static int entry_new(const struct overlay *ov, uint64_t parent,
		     struct bytes key, const struct overlay_entry *e,
		     struct entry **out)
{
	bool scratch = e->kind == NODE_SCRATCH || e->kind == NODE_SCRATCH_DIR;
	uint8_t rank = RANK_KEY;
	struct buf own = {0};
	int err;

	if (e->kind == NODE_ROW_PIECE || e->kind == NODE_COLUMN_PIECE)
		rank = RANK_PIECE;
	else if (scratch && !is_key(e->name, &own))
		rank = RANK_OTHER;
	else if (scratch)
		key = buf_bytes(&own);
	err = entry_ranked(ov, parent, key, rank, e, out);
	buf_free(&own);
	return err;
}

static struct slot *slot_of(struct overlay *ov, struct bytes key)
{
	return &ov->slots[XXH3_64bits(key.data, key.len) % SLOTS];
}

/* REQUIRES: lock. */
static void set_late(struct overlay *ov, struct entry *en, bool late)
{
	struct slot *slot = slot_of(ov, node_key(&en->parent));

	slot->late += (uint32_t)late - (uint32_t)en->late;
	en->late = late;
}

/* REQUIRES: lock. Makes room for one entry more. */
static int reserve(struct overlay *ov)
{
	return hashed_reserve(&ov->names) < 0
		       ? -ENOMEM
		       : ARRAY_RESERVE(ov->entries, ov->entries_cap,
				       ov->count + 1);
}

/* REQUIRES: lock. Gives memory back if few entries are left. */
static void fit(struct overlay *ov)
{
	struct entry **less;
	size_t cap;

	if (!hashed_fit(&ov->names))
		return;
	cap = ov->names.mask + 1;
	if (cap >= ov->entries_cap)
		return;
	less = realloc(ov->entries, cap * sizeof(*less));
	if (less) {
		ov->entries = less;
		ov->entries_cap = cap;
	}
}

/* REQUIRES: lock. The last one gets the number of the one that goes. */
static void unnumber(struct overlay *ov, struct entry *en)
{
	struct entry *last = ov->entries[ov->count - 1];

	hashed_remove(&ov->names, en->hash, en->number);
	if (last != en) {
		hashed_renumber(&ov->names, last->hash, last->number,
				en->number);
		last->number = en->number;
		ov->entries[en->number - 1] = last;
	}
	ov->count--;
	fit(ov);
}

/* REQUIRES: lock. */
static void entry_take_out(struct overlay *ov, struct entry *en)
{
	set_late(ov, en, false);
	sorted_remove(tree_of(ov, en->parent), &en->by_key);
	unnumber(ov, en);
	ov->bytes -= cost_of(en);
	nodes_unpin(ov->nodes, en->node);
	nodes_unpin(ov->nodes, en->parent);
	free(en);
}

void overlay_free(struct overlay *ov)
{
	if (!ov)
		return;
	while (ov->count)
		entry_take_out(ov, ov->entries[ov->count - 1]);
	pthread_mutex_destroy(&ov->lock);
	free(ov->entries);
	hashed_free(&ov->names);
	free(ov);
}

static void entry_show(const struct entry *en, struct overlay_entry *out)
{
	struct bytes name = entry_name(en);

	*out = (struct overlay_entry){.node = en->node,
				      .ino = en->ino,
				      .kind = en->kind,
				      .rank = en->rank,
				      .implied = en->implied,
				      .late = en->late};
	memcpy(out->name, name.data, name.len);
}

/* REQUIRES: lock. */
static struct entry *find(struct overlay *ov, uint64_t parent,
			  struct bytes name)
{
	uint32_t hash = hash_of(ov, parent, name), at;
	uint32_t i = hashed_first(&ov->names, hash, &at);

	for (; i; i = hashed_next(&ov->names, hash, &at)) {
		struct entry *en = ov->entries[i - 1];

		if (en->parent == parent && bytes_eq(entry_name(en), name))
			return en;
	}
	return NULL;
}

int overlay_find(struct overlay *ov, uint64_t parent, struct bytes name,
		 struct overlay_entry *out)
{
	const struct entry *en;

	if (!ov->count)
		return 0;
	pthread_mutex_lock(&ov->lock);
	en = find(ov, parent, name);
	if (en && out)
		entry_show(en, out);
	pthread_mutex_unlock(&ov->lock);
	return en != NULL;
}

/* REQUIRES: lock. */
static bool holds(struct overlay *ov, uint64_t dir)
{
	return sorted_next(tree_of(ov, dir), node_key(&dir), false,
			   bytes_of(NULL, 0)) != NULL;
}

bool overlay_any(struct overlay *ov, uint64_t parent)
{
	bool any;

	if (!ov->count)
		return false;
	pthread_mutex_lock(&ov->lock);
	any = holds(ov, parent);
	pthread_mutex_unlock(&ov->lock);
	return any;
}

int overlay_next(struct overlay *ov, uint64_t parent, const struct bytes *after,
		 struct overlay_entry *out, struct buf *key)
{
	struct buf order = {0};
	struct sorted_node *n;
	int r = 0;

	if (!ov->count)
		return 0;
	if (after) {
		size_t len = order_len(*after, bytes_of(NULL, 0));

		if (buf_reserve(&order, len) < 0)
			return -ENOMEM;
		order.len = len;
		order_put(*after, out->rank + 1, bytes_of(NULL, 0), order.data);
	}
	pthread_mutex_lock(&ov->lock);
	n = sorted_next(tree_of(ov, parent), node_key(&parent), after != NULL,
			buf_bytes(&order));
	if (n) {
		struct entry *en = by_key_entry(n);

		/* @after may point into @key: it is not used any more. */
		key->len = 0;
		r = buf_append(key, en->memory, en->key_len);
		entry_show(en, out);
		r = r ? r : 1;
	}
	pthread_mutex_unlock(&ov->lock);
	buf_free(&order);
	return r;
}

/* REQUIRES: lock. Takes the entry's references to its nodes. -ESTALE. */
static int pin(struct overlay *ov, const struct entry *en)
{
	int err = nodes_pin(ov->nodes, en->parent);

	if (err)
		return err;
	err = nodes_pin(ov->nodes, en->node);
	if (err)
		nodes_unpin(ov->nodes, en->parent);
	return err;
}

/* REQUIRES: lock, pinned, and room: reserved, or that of one that was taken out. */
static void insert(struct overlay *ov, struct entry *en)
{
	ov->entries[ov->count++] = en;
	en->number = (uint32_t)ov->count;
	hashed_put(&ov->names, en->hash, en->number);
	sorted_insert(tree_of(ov, en->parent), &en->by_key);
	ov->bytes += cost_of(en);
}

/* REQUIRES: lock. */
static int add_locked(struct overlay *ov, struct entry *en, bool replace)
{
	struct entry *old = find(ov, en->parent, entry_name(en));
	size_t freed = old ? cost_of(old) : 0;
	int err;

	if (old && !replace) {
		/* It is as if it had gone, and came back now. */
		if (old->late) {
			old->implied = en->implied;
			old->added_by = en->added_by;
			set_late(ov, old, false);
		}
		return -EEXIST;
	}
	if (ov->bytes - freed + cost_of(en) > OVERLAY_BYTES_MAX)
		return -ENOSPC;
	err = reserve(ov);
	if (err == 0)
		err = pin(ov, en);
	if (err)
		return err;
	if (old)
		entry_take_out(ov, old);
	insert(ov, en);
	return 0;
}

static int add(struct overlay *ov, uint64_t parent, struct bytes key,
	       const struct overlay_entry *e, bool replace)
{
	struct entry *en = NULL;
	int err = entry_new(ov, parent, key, e, &en);

	if (err)
		return err;
	pthread_mutex_lock(&ov->lock);
	err = add_locked(ov, en, replace);
	pthread_mutex_unlock(&ov->lock);
	if (err)
		free(en);
	return err;
}

int overlay_add(struct overlay *ov, uint64_t parent, struct bytes key,
		const struct overlay_entry *e)
{
	return add(ov, parent, key, e, false);
}

int overlay_replace(struct overlay *ov, uint64_t parent, struct bytes key,
		    const struct overlay_entry *e)
{
	return add(ov, parent, key, e, true);
}

bool overlay_remove(struct overlay *ov, uint64_t parent, struct bytes name)
{
	struct entry *en;

	if (!ov->count)
		return false;
	pthread_mutex_lock(&ov->lock);
	en = find(ov, parent, name);
	if (en)
		entry_take_out(ov, en);
	pthread_mutex_unlock(&ov->lock);
	return en != NULL;
}

void overlay_take_back(struct overlay *ov, uint64_t parent, struct bytes name)
{
	struct entry *en;

	pthread_mutex_lock(&ov->lock);
	en = find(ov, parent, name);
	if (en && !holds(ov, en->node))
		entry_take_out(ov, en);
	pthread_mutex_unlock(&ov->lock);
}

static void note_move(struct overlay *ov, uint64_t parent)
{
	slot_of(ov, node_key(&parent))->moves++;
	ov->moves++;
}

int overlay_rename(struct overlay *ov, uint64_t parent, struct bytes name,
		   uint64_t to_parent, struct bytes key,
		   const struct overlay_entry *to)
{
	struct bytes to_name = bytes_str(to->name);
	struct entry *en = NULL, *old, *replaced;
	int r = entry_new(ov, to_parent, key, to, &en);

	if (r)
		return r;
	pthread_mutex_lock(&ov->lock);
	old = find(ov, parent, name);
	replaced = find(ov, to_parent, to_name);
	r = old && old->node == to->node ? pin(ov, en) : -ENOENT;
	if (r)
		goto out;
	r = nodes_rename(ov->nodes, parent, name, to_parent, to_name, to->kind,
			 to->ino);
	r = r == 0 ? -ESTALE : r < 0 ? r : 0;
	if (r) {
		nodes_unpin(ov->nodes, en->node);
		nodes_unpin(ov->nodes, en->parent);
		goto out;
	}
	entry_take_out(ov, old);
	if (replaced && replaced != old)
		entry_take_out(ov, replaced);
	insert(ov, en);
	note_move(ov, parent);
	note_move(ov, to_parent);
out:
	pthread_mutex_unlock(&ov->lock);
	if (r)
		free(en);
	return r;
}

/* REQUIRES: lock. */
static bool all_implied(struct overlay *ov, uint64_t dir)
{
	struct sorted *tree = tree_of(ov, dir);
	struct sorted_node *n =
		sorted_next(tree, node_key(&dir), false, bytes_of(NULL, 0));

	for (; n; n = sorted_next(tree, node_key(&dir), true, sorted_name(n)))
		if (!by_key_entry(n)->implied ||
		    !all_implied(ov, by_key_entry(n)->node))
			return false;
	return true;
}

/* REQUIRES: lock. */
static void take_out_below(struct overlay *ov, uint64_t dir)
{
	struct sorted_node *n;

	while ((n = sorted_next(tree_of(ov, dir), node_key(&dir), false,
				bytes_of(NULL, 0)))) {
		take_out_below(ov, by_key_entry(n)->node);
		entry_take_out(ov, by_key_entry(n));
	}
}

bool overlay_all_implied(struct overlay *ov, uint64_t dir)
{
	bool implied;

	pthread_mutex_lock(&ov->lock);
	implied = all_implied(ov, dir);
	pthread_mutex_unlock(&ov->lock);
	return implied;
}

int overlay_rmdir(struct overlay *ov, uint64_t parent, struct bytes name,
		  uint64_t node)
{
	struct entry *en;
	int err = 0;

	pthread_mutex_lock(&ov->lock);
	en = find(ov, parent, name);
	if (en)
		node = en->node;
	if (node && !all_implied(ov, node)) {
		err = -ENOTEMPTY;
	} else {
		if (node)
			take_out_below(ov, node);
		nodes_detach(ov->nodes, parent, name);
		if (en)
			entry_take_out(ov, en);
	}
	pthread_mutex_unlock(&ov->lock);
	return err;
}

uint64_t overlay_moves(struct overlay *ov, uint64_t parent)
{
	if (!parent || !ov->moves)
		return ov->moves;
	return slot_of(ov, node_key(&parent))->moves;
}

uint64_t overlay_delete_begin(struct overlay *ov, struct bytes row)
{
	struct slot *slot = slot_of(ov, row);
	uint64_t turn;

	pthread_mutex_lock(&ov->lock);
	slot->turns++;
	/*
	 * A delete that is under way may rely on an entry that another one
	 * adds.
	 */
	turn = slot->deleting ? 0 : slot->turns;
	slot->missed &= slot->deleting > 0;
	slot->deleting++;
	ov->deleting++;
	pthread_mutex_unlock(&ov->lock);
	return turn;
}

bool overlay_delete_end(struct overlay *ov, struct bytes row)
{
	struct slot *slot = slot_of(ov, row);
	bool missed;

	pthread_mutex_lock(&ov->lock);
	slot->turns++;
	slot->deleting--;
	ov->deleting--;
	missed = slot->missed;
	pthread_mutex_unlock(&ov->lock);
	return missed;
}

void overlay_missed(struct overlay *ov, struct bytes row)
{
	struct slot *slot = slot_of(ov, row);

	if (!ov->deleting)
		return;
	pthread_mutex_lock(&ov->lock);
	slot->missed |= slot->deleting > 0;
	pthread_mutex_unlock(&ov->lock);
}

uint64_t overlay_deletes(struct overlay *ov, struct bytes row)
{
	struct slot *slot = slot_of(ov, row);
	uint64_t turns;

	pthread_mutex_lock(&ov->lock);
	turns = slot->turns;
	pthread_mutex_unlock(&ov->lock);
	return turns;
}

/*
 * The entry, if it has none itself and no delete in the row may rely on it: none has
 * begun since overlay_deletes() was @deletes. REQUIRES: lock.
 */
static struct entry *find_idle(struct overlay *ov, uint64_t parent,
			       struct bytes name, struct bytes row,
			       uint64_t deletes)
{
	const struct slot *slot = slot_of(ov, row);
	struct entry *en = find(ov, parent, name);

	return en && !holds(ov, en->node) && !slot->deleting &&
			       slot->turns == deletes
		       ? en
		       : NULL;
}

bool overlay_settle(struct overlay *ov, uint64_t parent, struct bytes name,
		    struct bytes row, uint64_t deletes)
{
	struct slot *of_dir = slot_of(ov, node_key(&parent));
	struct slot *of_row = slot_of(ov, row);
	struct entry *en;
	bool asked;

	pthread_mutex_lock(&ov->lock);
	en = find_idle(ov, parent, name, row, deletes);
	of_row->missed |= of_row->deleting > 0;
	asked = of_row->deleting || of_row->turns == deletes;
	if (en && of_dir->listing && ov->bytes <= BYTES_BUSY) {
		set_late(ov, en, true);
	} else if (en) {
		entry_take_out(ov, en);
		note_move(ov, parent);
	}
	pthread_mutex_unlock(&ov->lock);
	return asked;
}

bool overlay_has_late(struct overlay *ov, uint64_t parent)
{
	bool late;

	if (!ov->count)
		return false;
	pthread_mutex_lock(&ov->lock);
	late = slot_of(ov, node_key(&parent))->late;
	pthread_mutex_unlock(&ov->lock);
	return late;
}

bool overlay_drop_late(struct overlay *ov, uint64_t parent, struct bytes name,
		       struct bytes row, uint64_t deletes)
{
	struct entry *en;
	bool drop;

	pthread_mutex_lock(&ov->lock);
	en = find_idle(ov, parent, name, row, deletes);
	drop = en && en->late;
	if (drop) {
		entry_take_out(ov, en);
		note_move(ov, parent);
	}
	pthread_mutex_unlock(&ov->lock);
	return drop;
}

void overlay_retract(struct overlay *ov, uint64_t parent, struct bytes name,
		     struct bytes row, uint64_t turn)
{
	struct slot *slot = slot_of(ov, row);
	struct entry *en;

	pthread_mutex_lock(&ov->lock);
	en = find(ov, parent, name);
	/*
	 * A delete that began since the end of this one may rely on the entry.
	 */
	if (turn && en && en->added_by == turn && slot->turns == turn + 1 &&
	    !holds(ov, en->node))
		entry_take_out(ov, en);
	pthread_mutex_unlock(&ov->lock);
}

void overlay_list_begin(struct overlay *ov, uint64_t parent)
{
	pthread_mutex_lock(&ov->lock);
	slot_of(ov, node_key(&parent))->listing++;
	pthread_mutex_unlock(&ov->lock);
}

void overlay_list_end(struct overlay *ov, uint64_t parent)
{
	pthread_mutex_lock(&ov->lock);
	slot_of(ov, node_key(&parent))->listing--;
	pthread_mutex_unlock(&ov->lock);
}

uint64_t overlay_count(struct overlay *ov)
{
	return ov->count;
}
