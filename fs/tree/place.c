#include "fs/tree/place.h"

#include <assert.h>
#include <errno.h>

#include "fs/tree/control_file.h"
#include "fs/tree/fs.h"
#include "fs/tree/info.h"
#include "fs/tree/place_inside.h"
#include "fs/tree/view.h"

/*
 * hold has row, family and qualifier, one after the other. The pointers are set
 * again whenever hold may have moved.
 */
static void point(struct place *p)
{
	uint8_t *at = p->hold.data;

	p->row.data = at;
	p->family.data = at + p->row.len;
	p->qualifier.data = at + p->row.len + p->family.len;
}

int place_too_long(const char *what, size_t len, size_t max)
{
	return why(-ENAMETOOLONG, "a %s of %zu bytes: at most %zu are allowed",
		   what, len, max);
}

int decode_row(struct place *p, struct bytes name, bool known)
{
	bool more = false;
	int r = known ? name_append(name, &p->hold, &more)
		      : name_join(name, &p->hold, &more);

	if (r < 0)
		return r;
	if (p->hold.len > ROW_LEN_MAX)
		return place_too_long("row key", p->hold.len, ROW_LEN_MAX);
	if (p->hold.len == 0)
		return why(-EINVAL, "a row key cannot be empty");
	p->row.len = p->hold.len;
	point(p);
	p->kind = more ? NODE_ROW_PIECE : NODE_ROW;
	return 0;
}

/* Appends a family, which is one component. */
static int append_family(struct place *p, struct bytes name, bool known)
{
	struct buf family = {0};
	bool more;
	int r;

	if (known)
		return name_append(name, &p->hold, &more);
	r = name_decode(name, &family);
	if (r == 0)
		r = family_name_check(buf_bytes(&family));
	if (r == 0)
		r = buf_append(&p->hold, family.data, family.len);
	buf_free(&family);
	return r;
}

int decode_family(struct place *p, struct bytes name, bool known)
{
	size_t before = p->hold.len;
	int r = append_family(p, name, known);

	if (r == 0) {
		p->family.len = p->hold.len - before;
		point(p);
	}
	return r;
}

/* A component that a node bears continues the qualifier. */
static int append_qualifier(struct place *p, struct bytes name, bool *more)
{
	size_t before = p->hold.len;
	int r = name_append(name, &p->hold, more);

	if (r == 0) {
		p->qualifier.len += p->hold.len - before;
		point(p);
	}
	return r;
}

static int join_qualifier(struct place *p, struct bytes name, bool *more)
{
	struct buf qualifier = {0};
	int r = buf_set(&qualifier, p->qualifier);

	if (r == 0)
		r = name_join(name, &qualifier, more);
	if (r == 0 && qualifier.len > QUALIFIER_LEN_MAX)
		r = place_too_long("qualifier", qualifier.len,
				   QUALIFIER_LEN_MAX);
	if (r == 0)
		r = buf_append(&p->hold, qualifier.data + p->qualifier.len,
			       qualifier.len - p->qualifier.len);
	if (r == 0) {
		p->qualifier.len = qualifier.len;
		point(p);
	}
	buf_free(&qualifier);
	return r;
}

int decode_qualifier(struct place *p, struct bytes name, bool known)
{
	bool more = false;
	int r = known ? append_qualifier(p, name, &more)
		      : join_qualifier(p, name, &more);

	if (more)
		p->kind = NODE_COLUMN_PIECE;
	else
		p->kind = p->view && p->view->has_at ? NODE_VALUE : NODE_COLUMN;
	return r;
}

/* "F:Q" that a node bears. */
static int append_alias(struct place *p, struct bytes name)
{
	size_t before = p->hold.len;
	uint8_t *colon;
	bool more;
	int r = name_append(name, &p->hold, &more);

	if (r < 0)
		return r;
	colon = memchr(p->hold.data + before, ':', p->hold.len - before);
	assert(colon);
	p->family.len = (size_t)(colon - p->hold.data) - before;
	p->hold.len--;
	p->qualifier.len = p->hold.len - before - p->family.len;
	memmove(colon, colon + 1, p->qualifier.len);
	point(p);
	return 0;
}

int decode_alias(struct place *p, struct bytes name, bool known)
{
	struct buf hold = {0};
	struct bytes family, qualifier;
	int r;

	if (known)
		return append_alias(p, name);
	r = name_split_alias(name, &hold, &family, &qualifier);
	if (r > 0)
		r = family_name_check(family);
	if (r == 0)
		r = buf_append(&p->hold, family.data, family.len);
	if (r == 0)
		r = buf_append(&p->hold, qualifier.data, qualifier.len);
	if (r == 0) {
		p->family.len = family.len;
		p->qualifier.len = qualifier.len;
		point(p);
	}
	buf_free(&hold);
	return r;
}

int decode_view_name(struct place *p, struct bytes name, bool known)
{
	p->view_op = (uint8_t)view_op_of(name);
	return 0;
}

/* The component is a view's name, or the argument of the name above. */
int decode_view(struct place *p, struct bytes name, bool known)
{
	struct view *view;
	int r;

	if (p->view_op != VIEW_NONE)
		r = view_narrow(p->view, p->view_op, name, place_level(p),
				&view);
	else
		r = view_narrow(p->view, view_op_of(name), (struct bytes){0},
				place_level(p), &view);
	if (r < 0)
		return r;
	view_unref(p->view);
	p->view = view;
	p->view_op = VIEW_NONE;
	return 0;
}

int decode_version(struct place *p, struct bytes name, bool known)
{
	p->cell_kind = CELL_PUT;
	return name_parse_ts(name, &p->ts) ? 0 : -EINVAL;
}

/* "TS.delete-column": a marker that .raw shows. */
int decode_marker(struct place *p, struct bytes name, bool known)
{
	const uint8_t *dot = memchr(name.data, '.', name.len);
	size_t n = dot ? (size_t)(dot - name.data) : 0;
	int kind;

	if (!dot || !name_parse_ts(bytes_of(name.data, n), &p->ts))
		return -EINVAL;
	kind = kind_parse(bytes_of(dot + 1, name.len - n - 1));
	if (kind < 0 || !kind_is_marker((uint8_t)kind))
		return -EINVAL;
	p->cell_kind = (uint8_t)kind;
	return 0;
}

int decode_past(struct place *p, struct bytes name, bool known)
{
	return place_parse_past(name, &p->ts, &p->back) ? 0 : -EINVAL;
}

/* .cellfs belongs to the mount, whatever part of the store the root is. */
int decode_control_dir(struct place *p, struct bytes name, bool known)
{
	place_release(p);
	p->row = p->family = p->qualifier = (struct bytes){0};
	return 0;
}

int decode_control(struct place *p, struct bytes name, bool known)
{
	p->control = control_find(name);
	return p->control ? 0 : -ENOENT;
}

int decode_info(struct place *p, struct bytes name, bool known)
{
	p->info = info_find(name);
	return p->info ? 0 : -ENOENT;
}

int decode_put(struct place *p, struct bytes name, bool known)
{
	p->put = true;
	return 0;
}

bool place_parse_past(struct bytes name, int64_t *ts, uint64_t *back)
{
	int64_t n;

	if (name.len < 2 || name.data[0] != '@')
		return false;
	*back = 0;
	if (name.data[1] != '-')
		return view_parse_when(bytes_of(name.data + 1, name.len - 1),
				       ts);
	if (!name_parse_ts(bytes_of(name.data + 2, name.len - 2), &n) || n < 1)
		return false;
	*back = (uint64_t)n;
	return true;
}

int place_descend(struct place *p, struct bytes name, uint8_t kind, bool known)
{
	const struct kind *k = kind_of(kind);
	int r = 0;

	p->kind = kind;
	if (k->decode)
		r = k->decode(p, name, known);
	memcpy(p->name, name.data, name.len);
	p->name[name.len] = '\0';
	return r;
}

/* Most paths are no longer. */
#define NAMES_NEAR 256

/*
 * The names from a node up to the root. They are copied under the lock of the
 * nodes, each followed by its length and kind, and decoded without it.
 */
struct chain {
	struct node_view leaf; /* its name is not to be looked at */
	struct fstable *table; /* a reference: the nearest's */
	struct buf names;      /* name, length, kind; name, length, kind; ... */
	unsigned seen;	       /* nodes */
	uint64_t dir_ino;      /* of the leaf's directory */
	uint8_t near[NAMES_NEAR]; /* names lie here, until it is full */
};

static void chain_init(struct chain *c)
{
	c->table = NULL;
	c->names = (struct buf){.data = c->near, .cap = sizeof(c->near)};
	c->seen = 0;
	c->dir_ino = 0;
}

static void chain_free(struct chain *c)
{
	if (c->names.data != c->near)
		buf_free(&c->names);
}

/* Room for @more bytes of names. 0 or -ENOMEM. */
static int chain_grow(struct chain *c, size_t more)
{
	struct buf own = {0};

	if (more <= c->names.cap - c->names.len)
		return 0;
	if (c->names.data != c->near)
		return buf_reserve(&c->names, more);
	if (buf_reserve(&own, c->names.len + more) < 0 ||
	    buf_set(&own, buf_bytes(&c->names)) < 0)
		return -ENOMEM;
	c->names = own;
	return 0;
}

static int chain_step(void *arg, const struct node_view *n)
{
	struct chain *c = arg;
	uint8_t tail[2] = {(uint8_t)n->name.len, n->kind}, *end;

	if (c->seen == 0)
		c->leaf = *n;
	else if (c->seen == 1)
		c->dir_ino = n->ino;
	c->seen++;
	/*
	 * The nearest one: a table that a snapshot shows is below the table
	 * itself.
	 */
	if (n->table && !c->table) {
		fstable_ref(n->table);
		c->table = n->table;
	}
	if (n->kind == NODE_ROOT)
		return 0;
	if (chain_grow(c, n->name.len + sizeof(tail)) < 0)
		return -ENOMEM;
	end = c->names.data + c->names.len;
	memcpy(end, n->name.data, n->name.len);
	memcpy(end + n->name.len, tail, sizeof(tail));
	c->names.len += n->name.len + sizeof(tail);
	return 0;
}

/* Sets *out to the root, to which the names of the chain are to be added. */
static int begin_at_root(struct fs *fs, struct chain *c, struct place *out)
{
	int r = place_copy(out, &fs->root);

	if (c->table) {
		fstable_unref(out->table);
		out->table = c->table;
	}
	if (c->leaf.id != FUSE_ROOT_ID) {
		out->node = c->leaf.id;
		out->parent = c->leaf.parent;
		out->ino = c->leaf.ino;
		out->dir_ino = c->dir_ino;
		out->detached = c->leaf.detached;
	}
	return r;
}

int place_of(struct fs *fs, uint64_t node, struct place *out)
{
	struct chain c;
	size_t end;
	int r;

	chain_init(&c);
	*out = (struct place){.kind = NODE_ROOT};
	r = nodes_walk(fs->nodes, node, chain_step, &c);
	if (r == -ESTALE)
		why(r, "the file is of a past that the mount has forgotten");
	if (r == 0)
		r = begin_at_root(fs, &c, out);
	else
		fstable_unref(c.table);
	for (end = c.names.len; r == 0 && end > 0;) {
		size_t len = c.names.data[end - 2];
		uint8_t kind = c.names.data[end - 1];

		end -= len + 2;
		r = place_descend(out, bytes_of(c.names.data + end, len), kind,
				  true);
	}
	chain_free(&c);
	return r;
}

int place_copy(struct place *to, const struct place *from)
{
	int r = 0;

	*to = *from;
	to->hold = (struct buf){0};
	if (to->view)
		view_ref(to->view);
	if (to->table)
		fstable_ref(to->table);
	if (from->hold.len)
		r = buf_append(&to->hold, from->hold.data, from->hold.len);
	if (r < 0)
		return why(r, "out of memory for a path");
	point(to);
	return 0;
}

void place_release(struct place *p)
{
	fstable_unref(p->table);
	if (p->view)
		view_unref(p->view);
	buf_free(&p->hold);
	p->table = NULL;
	p->view = NULL;
}

void place_disown(struct place *p)
{
	p->table = NULL;
	p->view = NULL;
	p->hold = (struct buf){0};
}

int place_writable(const struct place *p)
{
	if (p->kind == NODE_SNAPSHOT ||
	    (p->table && fstable_snapshot(p->table)))
		return why(-EROFS, "nothing changes in a snapshot");
	if (p->view || p->kind == NODE_VIEW_NAME)
		return why(-EROFS, "a view is for reading only");
	return 0;
}

int place_computed(const struct place *p)
{
	return why(-EACCES, "%s%s", p->kind == NODE_PAST ? p->name : "",
		   kind_of(p->kind)->sentence);
}

int place_file_writable(const struct place *p)
{
	int r = place_writable(p);

	if (r < 0)
		return r;
	if (p->control ? p->control->writable : place_is(p, KIND_WRITABLE))
		return 0;
	if (place_is(p, KIND_COMPUTED))
		return place_computed(p);
	return why(-EACCES, "%s/%s can only be read",
		   p->control ? CONTROL_DIR_NAME : INFO_DIR_NAME, p->name);
}

uint64_t place_walked(const struct place *file)
{
	return file->kind == NODE_ALIAS && !file->put ? file->ino
						      : file->dir_ino;
}

struct bytes place_key(const struct place *p)
{
	switch (kind_of(p->kind)->key) {
	case KEY_ROW:
		return p->row;
	case KEY_FAMILY:
		return p->family;
	case KEY_QUALIFIER:
		return p->qualifier;
	}
	return bytes_str(p->name);
}

struct changes_dir place_changes(const struct place *dir)
{
	struct changes_dir names = {CHANGES_ROW, dir->row, dir->family,
				    dir->qualifier};

	if (kind_of(dir->kind)->key == KEY_FAMILY)
		names.depth = CHANGES_FAMILY;
	else if (kind_of(dir->kind)->key == KEY_QUALIFIER)
		names.depth = CHANGES_COLUMN;
	return names;
}

uint8_t place_holds(const struct place *dir)
{
	uint8_t kind = kind_of(place_level(dir))->holds;

	if (kind == NODE_SNAPSHOT && dir->table)
		return NODE_TABLE;
	if (kind == NODE_COLUMN && dir->view && dir->view->has_at)
		return NODE_VALUE;
	return kind;
}

bool place_same_row(const struct place *a, const struct place *b)
{
	return fstable_id(a->table) == fstable_id(b->table) &&
	       bytes_eq(a->row, b->row);
}

void place_path(struct fs *fs, uint64_t node, const char *name, struct buf *out)
{
	struct chain c;

	chain_init(&c);
	nodes_walk(fs->nodes, node, chain_step, &c);
	for (size_t end = c.names.len; end > 0;) {
		size_t len = c.names.data[end - 2];

		end -= len + 2;
		buf_append(out, "/", 1);
		buf_append(out, c.names.data + end, len);
	}
	if (name) {
		buf_append(out, "/", 1);
		buf_append(out, name, strlen(name));
	}
	if (!out->len)
		buf_append(out, "/", 1);
	fstable_unref(c.table);
	chain_free(&c);
}
