#include "fs/kernel/node.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "fs/kernel/budget.h"
#include "fs/kernel/fstable.h"
#include "fs/kernel/node_ages.h"
#include "fs/kernel/node_table.h"
#include "fs/text/name.h"

#define ROOT_ID 1
#define CHILDREN_LOOKED_AT 64

struct nodes {
	void (*gone)(void *arg, uint64_t id); /* or NULL; both never change */
	void *gone_arg;
	pthread_mutex_t lock; /* guards all below */
	struct node_table table;
	uint64_t pinned;
	_Atomic uint64_t puts; /* nodes of .put; is read without the lock */
	/* Handles that nodes_cache() counts; is read without the lock. */
	_Atomic uint64_t caching;
};

static struct node *node_at(const struct nodes *ns, uint32_t index)
{
	return node_table_at(&ns->table, index);
}

/* The node of an id from outside, or NULL. */
static struct node *node_of(const struct nodes *ns, uint64_t id,
			    uint32_t *index)
{
	uint32_t i = (uint32_t)id, generation = (uint32_t)(id >> 32);
	struct node *n;

	if (id == ROOT_ID)
		generation = node_at(ns, ROOT_ID)->generation;
	n = node_table_look(&ns->table, i);
	if (!n || n->generation != generation)
		return NULL;
	*index = i;
	return n;
}

/* Takes the lock, which the caller gives back, also for NULL: no such node. */
static struct node *lock_index(struct nodes *ns, uint64_t id, uint32_t *index)
{
	pthread_mutex_lock(&ns->lock);
	return node_of(ns, id, index);
}

static struct node *lock_node(struct nodes *ns, uint64_t id)
{
	uint32_t index;

	return lock_index(ns, id, &index);
}

static uint64_t id_of(const struct node *n, uint32_t index)
{
	if (index == ROOT_ID)
		return ROOT_ID;
	return (uint64_t)n->generation << 32 | index;
}

static void detach(struct nodes *ns, struct node *n, uint32_t index)
{
	if (n->detached)
		return;
	node_ages_remove(&ns->table, index);
	node_table_unlink(&ns->table, index);
	n->detached = true;
}

/* What nodes referred to, released when the lock is not held any more. */
struct reaped {
	/* A path has a table, and in its .snapshot another one. */
	struct fstable *tables[2];
	uint64_t scratch; /* the id of a scratch file, or 0: it has no child */
	bool many;	  /* after which the heap is worth trimming */
};

static void give_back(const struct nodes *ns, const struct reaped *r)
{
	if (r->scratch && ns->gone)
		ns->gone(ns->gone_arg, r->scratch);
	if (r->many)
		heap_trim();
	for (int i = 0; i < 2 && r->tables[i]; i++)
		fstable_unref(r->tables[i]);
}

static void child_add(struct nodes *ns, uint32_t parent, uint32_t index)
{
	struct node *p = node_at(ns, parent), *n = node_at(ns, index);

	assert(parent != index);
	n->parent = parent;
	n->newer = 0;
	n->older = p->child;
	if (p->child)
		node_at(ns, p->child)->newer = index;
	p->child = index;
}

static void child_remove(struct nodes *ns, uint32_t index)
{
	struct node *n = node_at(ns, index);

	if (n->newer)
		node_at(ns, n->newer)->older = n->older;
	else
		node_at(ns, n->parent)->child = n->older;
	if (n->older)
		node_at(ns, n->older)->newer = n->newer;
}

/* Frees the node if nothing refers to it, then its ancestors. */
static struct reaped reap(struct nodes *ns, uint32_t index)
{
	struct reaped out = {0};

	while (index != ROOT_ID) {
		struct node *n = node_at(ns, index);
		uint32_t parent = n->parent;

		if (n->nlookup || n->pins || n->child)
			break;
		detach(ns, n, index);
		assert(n->parent != index && !n->age);
		if (n->table) {
			assert(!out.tables[1]);
			out.tables[out.tables[0] != NULL] = n->table;
		}
		if (n->kind == NODE_SCRATCH)
			out.scratch = id_of(n, index);
		child_remove(ns, index);
		ns->caching -= n->caching;
		ns->puts -= n->kind == NODE_PUT;
		node_ages_free(n->ages);
		node_table_remove(&ns->table, index);
		index = parent;
	}
	out.many = node_table_fit(&ns->table);
	return out;
}

/* Drops one reference to the node. */
static struct reaped step_off(struct nodes *ns, uint64_t id)
{
	struct reaped none = {0};
	uint32_t index;
	struct node *n = node_of(ns, id, &index);

	if (!n || index == ROOT_ID || !n->nlookup)
		return none;
	n->nlookup--;
	return reap(ns, index);
}

int nodes_new(struct nodes **out)
{
	struct nodes *ns = calloc(1, sizeof(*ns));
	uint32_t index;

	if (!ns)
		return -ENOMEM;
	pthread_mutex_init(&ns->lock, NULL);
	/* Index 0 remains unused: it is no node. */
	if (node_table_init(&ns->table) < 0 ||
	    !node_table_add(&ns->table, &index) ||
	    !node_table_add(&ns->table, &index))
		goto fail;
	node_at(ns, 0)->generation = 0;
	ns->table.live = 1;
	node_at(ns, ROOT_ID)->kind = NODE_ROOT;
	node_at(ns, ROOT_ID)->ino = ROOT_ID;
	node_at(ns, ROOT_ID)->parent = ROOT_ID;
	*out = ns;
	return 0;
fail:
	nodes_free(ns);
	return -ENOMEM;
}

void nodes_tell_gone(struct nodes *ns, void gone(void *arg, uint64_t id),
		     void *arg)
{
	ns->gone = gone;
	ns->gone_arg = arg;
}

static void drop(struct node *n)
{
	fstable_unref(n->table);
	node_ages_free(n->ages);
}

uint64_t nodes_secret(const struct nodes *ns)
{
	return ns->table.secret;
}

void nodes_free(struct nodes *ns)
{
	if (!ns)
		return;
	node_table_free(&ns->table, drop);
	pthread_mutex_destroy(&ns->lock);
	free(ns);
}

static bool same_table(const struct node *n, const struct fstable *table)
{
	if (!n->table || !table)
		return n->table == table;
	return fstable_same(n->table, table);
}

/* Does a node of that kind and name have an age in its parent? */
static bool has_age(uint8_t kind, struct bytes name, int64_t *ts)
{
	return kind == NODE_VERSION && name_parse_ts(name, ts);
}

/* Adds the age of an attached node that the kernel has. 0 or -ENOMEM. */
static int note_age(struct nodes *ns, uint32_t index)
{
	struct node *n = node_at(ns, index), *column;
	int64_t ts;
	int r;

	if (n->age || n->detached || !has_age(n->kind, node_name(n), &ts))
		return 0;
	column = node_at(ns, n->parent);
	r = node_ages_reserve(column);
	if (r == 0)
		node_ages_add(&ns->table, column, index, ts);
	return r;
}

int nodes_oldest(struct nodes *ns, uint64_t column, int64_t *ts, uint64_t *id)
{
	const struct node *n = lock_node(ns, column);
	const struct node_ages *ages =
		n && n->ages && n->ages->n ? n->ages : NULL;
	uint32_t index;

	if (ages) {
		*ts = ages->at[0].ts;
		index = ages->at[0].index;
		*id = id_of(node_at(ns, index), index);
	}
	pthread_mutex_unlock(&ns->lock);
	return ages != NULL;
}

void nodes_pass_over(struct nodes *ns, uint64_t id)
{
	uint32_t index;

	if (lock_index(ns, id, &index))
		node_ages_remove(&ns->table, index);
	pthread_mutex_unlock(&ns->lock);
}

/* Makes a child, attached. -ENOMEM, -ENAMETOOLONG. */
static int node_make(struct nodes *ns, uint32_t parent, struct bytes name,
		     uint32_t *index)
{
	struct node *n = node_table_add(&ns->table, index);
	int r;

	if (!n)
		return -ENOMEM;
	r = node_set_name(n, name);
	if (r < 0) {
		node_table_remove(&ns->table, *index);
		return r;
	}
	child_add(ns, parent, *index);
	node_table_link(&ns->table, *index);
	return 0;
}

/* What the kernel believes of the column is not known. */
static void show_nothing(struct node *n)
{
	if (n->ages)
		n->ages->shown = INT64_MIN;
}

int nodes_enter(struct nodes *ns, uint64_t parent, struct bytes name,
		uint8_t kind, uint64_t ino, struct fstable *table, uint64_t *id)
{
	struct reaped reaped = {0};
	uint32_t p, index;
	struct node *n;
	int r = 0;

	if (!lock_index(ns, parent, &p)) {
		r = -ESTALE;
		goto out;
	}
	n = node_table_find(&ns->table, p, name, &index);
	if (n && (n->kind != kind || !same_table(n, table))) {
		detach(ns, n, index);
		n = NULL;
	}
	if (!n) {
		r = node_make(ns, p, name, &index);
		if (r < 0)
			goto out;
		n = node_at(ns, index);
		n->kind = kind;
		n->table = table;
		ns->puts += kind == NODE_PUT;
		if (table)
			fstable_ref(table);
	}
	n->nlookup++;
	n->believed = true;
	show_nothing(n);
	*id = id_of(n, index);
	n->ino = ino ? ino : *id;
	if (kind == NODE_VERSION)
		r = note_age(ns, index);
	if (r < 0)
		reaped = step_off(ns, *id);
out:
	pthread_mutex_unlock(&ns->lock);
	give_back(ns, &reaped);
	return r;
}

/* REQUIRES: lock. NULL if there is none. */
static struct node *child_of(struct nodes *ns, uint64_t parent,
			     struct bytes name, uint64_t *id)
{
	uint32_t p, index;
	struct node *n = NULL;

	if (node_of(ns, parent, &p))
		n = node_table_find(&ns->table, p, name, &index);
	if (n)
		*id = id_of(n, index);
	return n;
}

int nodes_find(struct nodes *ns, uint64_t parent, struct bytes name,
	       uint64_t *id)
{
	bool found;

	pthread_mutex_lock(&ns->lock);
	found = child_of(ns, parent, name, id) != NULL;
	pthread_mutex_unlock(&ns->lock);
	return found;
}

int nodes_hold(struct nodes *ns, uint64_t parent, struct bytes name,
	       uint64_t *id, uint8_t *kind)
{
	struct node *n;

	pthread_mutex_lock(&ns->lock);
	n = child_of(ns, parent, name, id);
	if (n) {
		n->nlookup++;
		*kind = n->kind;
	}
	pthread_mutex_unlock(&ns->lock);
	return n != NULL;
}

/* REQUIRES: lock. 0 if there is none. */
static uint32_t outside_put(const struct nodes *ns, uint32_t index)
{
	const struct node *n = node_at(ns, index);
	uint32_t parent, found;

	if (n->kind == NODE_PUT)
		return n->parent;
	/* Data is no deeper than keys are long. These may be, and have none. */
	if (n->kind == NODE_SCRATCH_DIR || n->kind == NODE_VIEW ||
	    n->kind == NODE_VIEW_NAME)
		return 0;
	parent = index == ROOT_ID ? 0 : outside_put(ns, n->parent);
	if (!parent ||
	    !node_table_find(&ns->table, parent, node_name(n), &found))
		return 0;
	return found;
}

int nodes_outside_put(struct nodes *ns, uint64_t id, uint64_t *out)
{
	uint32_t index, found = 0;

	/* Whoever makes or removes a file comes here. */
	if (!ns->puts)
		return 0;
	if (lock_index(ns, id, &index))
		found = outside_put(ns, index);
	if (found)
		*out = id_of(node_at(ns, found), found);
	pthread_mutex_unlock(&ns->lock);
	return found != 0;
}

void nodes_forget(struct nodes *ns, uint64_t id, uint64_t nlookup)
{
	struct reaped reaped = {0};
	uint32_t index;
	struct node *n = lock_index(ns, id, &index);

	if (n && index != ROOT_ID) {
		n->nlookup -= nlookup < n->nlookup ? nlookup : n->nlookup;
		reaped = reap(ns, index);
	}
	pthread_mutex_unlock(&ns->lock);
	/* The last reference may close the table: not under the lock. */
	give_back(ns, &reaped);
}

int nodes_pin(struct nodes *ns, uint64_t id)
{
	struct node *n = lock_node(ns, id);

	if (n && n->detached)
		n = NULL;
	if (n && n->pins++ == 0)
		ns->pinned++;
	pthread_mutex_unlock(&ns->lock);
	return n ? 0 : -ESTALE;
}

/* Have those who fill the kernel's cache of the node that content, or is there none? */
static bool may_have(const struct node *n, uint32_t state)
{
	return n->cached == state || (!n->caching && !n->passing);
}

/* The kernel's cache is filled with that content from now on. */
static void has(struct node *n, uint32_t state)
{
	n->filled &= n->cached == state;
	n->cached = state;
}

static void forget_state(struct node *n)
{
	if (!n->caching && !n->passing && !n->filled)
		n->cached = 0;
}

enum nodes_cache nodes_cache(struct nodes *ns, uint64_t id, uint32_t state)
{
	enum nodes_cache cache = CACHE_PASS;
	struct node *n;

	assert(state);
	n = lock_node(ns, id);
	if (n && !n->detached && !n->late && !n->many &&
	    !(n->passing && n->mixed) && n->caching < UINT16_MAX &&
	    may_have(n, state)) {
		has(n, state);
		cache = n->filled ? CACHE_KEEP : CACHE_FILL;
		n->caching++;
		ns->caching++;
	}
	pthread_mutex_unlock(&ns->lock);
	return cache;
}

void nodes_cache_end(struct nodes *ns, uint64_t id, bool used)
{
	struct node *n = lock_node(ns, id);

	assert(!n || n->caching);
	if (n) {
		n->caching--;
		ns->caching--;
		/* The kernel has had the answer to this open, at least. */
		n->filled |= used;
		n->kept &= n->caching > 0;
		forget_state(n);
	}
	pthread_mutex_unlock(&ns->lock);
}

bool nodes_pass(struct nodes *ns, uint64_t id, uint32_t state)
{
	struct node *n = lock_node(ns, id);
	bool counted = n && n->passing < UINT16_MAX;

	if (counted) {
		n->mixed &= n->passing > 0;
		n->mixed |= !may_have(n, state);
		if (may_have(n, state))
			has(n, state);
		n->passing++;
	}
	pthread_mutex_unlock(&ns->lock);
	return counted;
}

void nodes_pass_end(struct nodes *ns, uint64_t id)
{
	struct node *n = lock_node(ns, id);

	if (n) {
		n->passing--;
		n->filled &= !n->mixed;
		forget_state(n);
	}
	pthread_mutex_unlock(&ns->lock);
}

uint32_t nodes_caching(struct nodes *ns, uint64_t id, uint64_t *ino)
{
	const struct node *n;
	uint32_t state;

	/* Whoever changes a file comes here. */
	if (!ns->caching)
		return 0;
	n = lock_node(ns, id);
	state = n && n->caching && !n->kept ? n->cached : 0;
	if (state && ino)
		*ino = n->ino;
	pthread_mutex_unlock(&ns->lock);
	return state;
}

bool nodes_renew(struct nodes *ns, uint64_t id)
{
	uint32_t index;
	struct node *n = lock_index(ns, id, &index);
	bool shared = n && n->caching && !n->kept;

	if (shared && !n->detached) {
		detach(ns, n, index);
		n->renewed = true;
	}
	pthread_mutex_unlock(&ns->lock);
	return shared;
}

bool nodes_renewed(struct nodes *ns, uint64_t id)
{
	const struct node *n = lock_node(ns, id);
	bool renewed = n && n->renewed;

	pthread_mutex_unlock(&ns->lock);
	return renewed;
}

void nodes_keep(struct nodes *ns, uint64_t id)
{
	struct node *n = lock_node(ns, id);

	if (n)
		n->kept = n->caching > 0;
	pthread_mutex_unlock(&ns->lock);
}

void nodes_late(struct nodes *ns, uint64_t id)
{
	struct node *n = lock_node(ns, id);

	if (n)
		n->late = true;
	pthread_mutex_unlock(&ns->lock);
}

void nodes_list_size(struct nodes *ns, uint64_t id, bool many)
{
	struct node *n = lock_node(ns, id);

	if (n)
		n->many = many;
	pthread_mutex_unlock(&ns->lock);
}

uint32_t nodes_cached(struct nodes *ns, uint64_t id)
{
	struct node *n = lock_node(ns, id);
	uint32_t state = n ? n->cached : 0;

	pthread_mutex_unlock(&ns->lock);
	return state;
}

void nodes_believe(struct nodes *ns, uint64_t id, bool believed)
{
	struct node *n = lock_node(ns, id);

	if (n) {
		n->believed = believed;
		show_nothing(n);
	}
	pthread_mutex_unlock(&ns->lock);
}

bool nodes_ask(struct nodes *ns, uint64_t id)
{
	struct node *n = lock_node(ns, id);
	struct node_ages *ages = n ? n->ages : NULL;

	if (n)
		n->believed = true;
	if (ages && ages->asked++ == 0)
		ages->shown = INT64_MAX;
	pthread_mutex_unlock(&ns->lock);
	return ages != NULL;
}

void nodes_told(struct nodes *ns, uint64_t id, bool asked, int64_t mtime_ms)
{
	struct node *n;

	if (!asked)
		return;
	n = lock_node(ns, id);
	if (n) {
		assert(n->ages && n->ages->asked);
		n->ages->asked--;
		if (mtime_ms < n->ages->shown)
			n->ages->shown = mtime_ms;
	}
	pthread_mutex_unlock(&ns->lock);
}

bool nodes_shows(struct nodes *ns, uint64_t column, int64_t ts)
{
	struct node *n = lock_node(ns, column);
	const struct node_ages *ages = n ? n->ages : NULL;
	bool shows = ages && !ages->asked && ts <= ages->shown;

	pthread_mutex_unlock(&ns->lock);
	return shows;
}

bool nodes_believed(struct nodes *ns, uint64_t id)
{
	struct node *n = lock_node(ns, id);
	bool believed = n && n->believed;

	pthread_mutex_unlock(&ns->lock);
	return believed;
}

void nodes_unpin(struct nodes *ns, uint64_t id)
{
	struct reaped reaped = {0};
	uint32_t index;
	struct node *n = lock_index(ns, id, &index);

	if (n && n->pins) {
		if (--n->pins == 0)
			ns->pinned--;
		reaped = reap(ns, index);
	}
	pthread_mutex_unlock(&ns->lock);
	give_back(ns, &reaped);
}

void nodes_detach(struct nodes *ns, uint64_t parent, struct bytes name)
{
	uint32_t p, index;
	struct node *n;

	if (lock_index(ns, parent, &p)) {
		n = node_table_find(&ns->table, p, name, &index);
		if (n)
			detach(ns, n, index);
	}
	pthread_mutex_unlock(&ns->lock);
}

/* Is the node @top, or below it? */
static bool is_within(const struct nodes *ns, uint32_t index, uint32_t top)
{
	while (index != top && index != ROOT_ID)
		index = node_at(ns, index)->parent;
	return index == top;
}

int nodes_rename(struct nodes *ns, uint64_t parent, struct bytes name,
		 uint64_t to_parent, struct bytes to_name, uint8_t kind,
		 uint64_t ino)
{
	struct reaped reaped = {0};
	uint32_t p, q, index, old;
	struct node *n, *there;
	int64_t ts;
	int r = 0;

	if (!lock_index(ns, parent, &p))
		goto out;
	if (!node_of(ns, to_parent, &q)) {
		r = -ESTALE;
		goto out;
	}
	n = node_table_find(&ns->table, p, name, &index);
	if (!n)
		goto out;
	if (is_within(ns, q, index)) {
		r = -EINVAL;
		goto out;
	}
	/* The name first: it can fail, and to unlink takes only n->hash. */
	if (has_age(kind, to_name, &ts))
		r = node_ages_reserve(node_at(ns, q));
	if (r == 0)
		r = node_set_name(n, to_name);
	if (r < 0)
		goto out;
	node_ages_remove(&ns->table, index);
	node_table_unlink(&ns->table, index);
	there = node_table_find(&ns->table, q, to_name, &old);
	if (there)
		detach(ns, there, old);
	child_remove(ns, index);
	child_add(ns, q, index);
	n->kind = kind;
	n->ino = ino;
	node_table_link(&ns->table, index);
	(void)note_age(ns, index); /* has space */
	reaped = reap(ns, p);
	r = 1;
out:
	pthread_mutex_unlock(&ns->lock);
	give_back(ns, &reaped);
	return r;
}

int nodes_walk(struct nodes *ns, uint64_t id,
	       int (*step)(void *arg, const struct node_view *n), void *arg)
{
	uint32_t index;
	struct node *n = lock_index(ns, id, &index);
	int r = n ? 0 : -ESTALE;

	while (r == 0) {
		struct node *parent = node_at(ns, n->parent);
		uint64_t parent_id = id_of(parent, n->parent);
		struct node_view v = {
			.id = id,
			.parent = parent_id,
			.ino = n->ino,
			.name = node_name(n),
			.table = n->table,
			.kind = n->kind,
			.detached = n->detached,
		};

		r = step(arg, &v);
		if (n == parent)
			break;
		id = parent_id;
		n = parent;
	}
	pthread_mutex_unlock(&ns->lock);
	return r;
}

bool nodes_known(struct nodes *ns, uint64_t id, bool below)
{
	uint32_t index;
	const struct node *n = lock_index(ns, id, &index);
	bool known = n && (below ? n->child : index == ROOT_ID || n->nlookup);

	pthread_mutex_unlock(&ns->lock);
	return known;
}

bool nodes_have_rows(struct nodes *ns, uint64_t table)
{
	const struct node *n = lock_node(ns, table);
	unsigned looked = 0;
	bool row = false;
	uint32_t child;

	for (child = n ? n->child : 0; child && !row; child = n->older) {
		n = node_at(ns, child);
		row = n->kind == NODE_ROW || n->kind == NODE_ROW_PIECE ||
		      ++looked == CHILDREN_LOOKED_AT;
	}
	pthread_mutex_unlock(&ns->lock);
	return row;
}

uint64_t nodes_table(struct nodes *ns, uint64_t id)
{
	uint32_t index;
	uint64_t table = 0;
	struct node *n = lock_index(ns, id, &index);

	while (n && n->kind != NODE_TABLE && index != ROOT_ID) {
		index = n->parent;
		n = node_at(ns, index);
	}
	if (n)
		table = id_of(n, index);
	pthread_mutex_unlock(&ns->lock);
	return table;
}

/*
 * The node after @index in the order parents, children, newest first: 0 at the
 * end of the nodes below @top, or if @index is not below it.
 */
static uint32_t behind(const struct nodes *ns, uint32_t index, uint32_t top)
{
	const struct node *n = node_at(ns, index);

	if (n->child)
		return n->child;
	while (index != top && index != ROOT_ID) {
		n = node_at(ns, index);
		if (n->older)
			return n->older;
		index = n->parent;
	}
	return 0;
}

int nodes_below(struct nodes *ns, uint64_t top, uint64_t *cursor,
		struct node_place *out)
{
	struct reaped reaped = {0};
	uint32_t a, at = 0, next = 0;
	struct node *n;

	if (lock_index(ns, top, &a)) {
		/*
		 * A node that was moved elsewhere is no place to continue from.
		 */
		if (!*cursor || !node_of(ns, *cursor, &at) ||
		    !is_within(ns, at, a))
			at = a;
		next = behind(ns, at, a);
	}
	if (next) {
		n = node_at(ns, next);
		n->nlookup++;
		out->id = id_of(n, next);
		out->parent = id_of(node_at(ns, n->parent), n->parent);
		out->attached = !n->detached;
		out->name_len = n->name_len;
		memcpy(out->name, node_name(n).data, n->name_len);
		out->name[n->name_len] = '\0';
	}
	if (*cursor)
		reaped = step_off(ns, *cursor);
	*cursor = next ? out->id : 0;
	pthread_mutex_unlock(&ns->lock);
	give_back(ns, &reaped);
	return next != 0;
}

void nodes_below_end(struct nodes *ns, uint64_t *cursor)
{
	if (*cursor)
		nodes_forget(ns, *cursor, 1);
	*cursor = 0;
}

void nodes_count(struct nodes *ns, uint64_t *live, uint64_t *pinned)
{
	pthread_mutex_lock(&ns->lock);
	*live = ns->table.live;
	*pinned = ns->pinned;
	pthread_mutex_unlock(&ns->lock);
}
