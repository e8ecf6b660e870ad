#include "fs/listing.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "fs/fixed.h"
#include "fs/fs.h"
#include "fs/view.h"

/* How far behind the position a seek finds its key. */
#define WINDOW 64
/* A piece is 247 to 250 bytes, so at most four are open at a time. */
#define PIECE_LENGTHS 4

/* What the store has next: fetched, not handed out yet. */
struct ahead {
	bool have;
	struct bytes key; /* in the scan's memory or in table */
	struct cell cell;
	char table[TABLE_NAME_LEN_MAX + 1];
};
_Static_assert(TABLE_NAME_LEN_MAX >= SNAPSHOT_NAME_MAX, "holds both");

/* Where an entry stood, so that the listing can go on behind it. */
struct mark {
	uint64_t offset; /* behind the entry; 0 = unused */
	bool overlay;	 /* the entry came from memory */
	int64_t ts;
	uint8_t kind; /* of the cell */
	struct buf key;
};

struct listing {
	struct fs *fs;
	struct place dir;
	uint8_t level;	      /* of dir: place_level() */
	pthread_mutex_t lock; /* guards all below */
	time_t used;	      /* of the last call */

	uint64_t offset; /* behind the last entry handed out */
	bool fixed_over; /* what follows are keys */
	bool again;	 /* the last entry is to be handed out again */
	bool finished;	 /* the store has no more */
	struct view_scan *scan;
	uint64_t seen;	       /* fs/changes.h: when it was opened */
	struct snapshot *snap; /* whose tables are listed */
	struct ahead ahead;

	struct buf last; /* the key that the stream is behind */
	bool has_last, last_overlay;
	int64_t last_ts;
	uint8_t last_kind;
	bool overlay_has;
	struct overlay_entry overlay_entry;
	struct buf overlay_key;

	char pieces[PIECE_LENGTHS][NAME_PIECE_MAX + 1];
	struct name_part part;	    /* the name of ls->entry, but for tables */
	char ts_name[48];	    /* "TS", or "TS.delete-column" */
	struct listing_entry entry; /* the last one handed out */
	bool by_name;		    /* its attributes come from fs_lookup() */
	struct place borrowed, looked_up;
	struct mark marks[WINDOW];
};

int listing_open(struct fs *fs, struct place *dir, struct listing **out)
{
	struct listing *ls;

	if (!place_is_dir(dir))
		return -ENOTDIR;
	ls = calloc(1, sizeof(*ls));
	if (!ls)
		return why(-ENOMEM, "out of memory for a directory");
	ls->fs = fs;
	ls->dir = *dir;
	ls->level = place_level(dir);
	dir->table = NULL;
	dir->view = NULL;
	dir->hold = (struct buf){0};
	pthread_mutex_init(&ls->lock, NULL);
	*out = ls;
	return 0;
}

static void scan_drop(struct listing *ls)
{
	view_scan_close(ls->scan);
	ls->scan = NULL;
	ls->ahead.have = false;
}

void listing_close(struct listing *ls)
{
	if (!ls)
		return;
	scan_drop(ls);
	snapshot_release(ls->snap);
	place_release(&ls->looked_up);
	place_release(&ls->dir);
	for (int i = 0; i < WINDOW; i++)
		buf_free(&ls->marks[i].key);
	buf_free(&ls->last);
	buf_free(&ls->overlay_key);
	pthread_mutex_destroy(&ls->lock);
	free(ls);
}

void listing_rest(struct listing *ls, time_t before)
{
	if (pthread_mutex_trylock(&ls->lock))
		return;
	if (ls->used < before)
		scan_drop(ls);
	pthread_mutex_unlock(&ls->lock);
}

/* -- the scan ----------------------------------------------------------- */

/* Are the entries counted from the first of the view on? */
static bool is_counted(const struct listing *ls)
{
	const struct view *v = ls->dir.view;

	if (!v)
		return false;
	switch (ls->level) {
	case NODE_TABLE:
	case NODE_ROW_PIECE:
		return v->rows.limit;
	case NODE_FAMILY:
	case NODE_COLUMN_PIECE:
		return v->qualifiers.limit;
	}
	return false;
}

/*
 * Opens the scan of this level behind ls->last. Families and versions have
 * no start of their own in a scan: what was handed out is passed over.
 */
static int scan_begin(struct listing *ls)
{
	const struct place *d = &ls->dir;
	struct column_name column = {.family = d->family,
				     .qualifier = d->qualifier,
				     .whole_family = ls->level != NODE_COLUMN};
	struct scan_spec spec = {.keys_only = true};
	bool resume = ls->has_last && !is_counted(ls);

	if (ls->level != NODE_TABLE) {
		spec.row_start = d->row;
		spec.row_stop = d->row;
		spec.row_stop_inclusive = true;
	}
	switch (ls->level) {
	case NODE_ROW_PIECE:
		spec.row_stop = (struct bytes){0};
		spec.row_stop_inclusive = false;
		if (is_counted(ls))
			spec.row_start = (struct bytes){0};
		/* fall through */
	case NODE_TABLE:
		spec.granularity = SCAN_ROWS;
		if (resume) {
			spec.row_start = buf_bytes(&ls->last);
			spec.row_start_exclusive = true;
		}
		break;
	case NODE_ROW:
		spec.granularity = SCAN_FAMILIES;
		break;
	case NODE_FAMILY:
	case NODE_COLUMN_PIECE:
		spec.granularity = SCAN_COLUMNS;
		spec.columns = &column;
		spec.ncolumns = 1;
		spec.has_qual_start = resume || d->kind == NODE_COLUMN_PIECE;
		spec.qual_start = resume ? buf_bytes(&ls->last) : d->qualifier;
		spec.qual_start_exclusive = resume;
		break;
	case NODE_COLUMN:
		spec.granularity = SCAN_CELLS;
		spec.columns = &column;
		spec.ncolumns = 1;
		break;
	}
	ls->seen = changes_now(&ls->fs->changes);
	return view_scan_open(d->table, d->view, &spec, &ls->scan);
}

/* Was this cell handed out before the scan was opened again? */
static bool passed(const struct listing *ls, const struct cell *cell)
{
	struct bytes last = buf_bytes(&ls->last);
	int c;

	if (!ls->has_last)
		return false;
	switch (ls->level) {
	case NODE_ROW:
		return bytes_cmp(cell->family, last) <= 0;
	case NODE_COLUMN:
		return !ls->last_overlay && (cell->ts > ls->last_ts ||
					     (cell->ts == ls->last_ts &&
					      cell->kind >= ls->last_kind));
	case NODE_TABLE:
	case NODE_ROW_PIECE:
		c = bytes_cmp(cell->row, last);
		if (ls->dir.view && ls->dir.view->reversed)
			c = -c;
		return is_counted(ls) && c <= 0;
	case NODE_FAMILY:
	case NODE_COLUMN_PIECE:
		return is_counted(ls) && bytes_cmp(cell->qualifier, last) <= 0;
	}
	return false;
}

/* Fills ls->ahead from the root's tables. 1, 0, error. */
static int next_table(struct listing *ls)
{
	struct bytes after =
		ls->has_last ? buf_bytes(&ls->last) : (struct bytes){0};
	int r = store_table_next(ls->fs->store, after, ls->ahead.table);

	if (r > 0)
		ls->ahead.key = bytes_str(ls->ahead.table);
	return r;
}

/* The same in .snapshot: from the names of snapshots. */
static int next_snapshot(struct listing *ls)
{
	struct fstable *ft = ls->dir.table;
	struct bytes after =
		ls->has_last ? buf_bytes(&ls->last) : (struct bytes){0};
	struct snapshot_info info;
	int r = store_snapshot_next(
		ls->fs->store, ft ? fstable_table(ft) : NULL, after, &info);

	if (r > 0) {
		memcpy(ls->ahead.table, info.name, sizeof(info.name));
		ls->ahead.key = bytes_str(ls->ahead.table);
	}
	return r;
}

/* And in .snapshot/NAME: from the tables that it shows. */
static int next_shown(struct listing *ls)
{
	struct bytes after =
		ls->has_last ? buf_bytes(&ls->last) : (struct bytes){0};
	struct buf name = {0};
	int r = 0;

	if (!ls->snap) {
		r = place_snapshot_name(bytes_str(ls->dir.name), &name);
		if (r == 0)
			r = store_snapshot_open(ls->fs->store, NULL,
						buf_bytes(&name), &ls->snap);
		buf_free(&name);
	}
	if (r == 0)
		r = snapshot_table_next(ls->snap, after, ls->ahead.table);
	if (r > 0)
		ls->ahead.key = bytes_str(ls->ahead.table);
	return r;
}

static int next_cell(struct listing *ls)
{
	const struct place *d = &ls->dir;
	struct cell *c = &ls->ahead.cell;
	int r = 0;

	if (!ls->scan)
		r = scan_begin(ls);
	while (r == 0) {
		r = view_scan_next(ls->scan, c);
		if (r <= 0)
			return r;
		if (passed(ls, c) ||
		    (is_counted(ls) && ls->level == NODE_ROW_PIECE &&
		     !bytes_has_prefix(c->row, d->row)))
			r = 0;
	}
	if (r < 0)
		return r;
	switch (ls->level) {
	case NODE_ROW_PIECE:
		ls->ahead.key = c->row;
		return bytes_has_prefix(c->row, d->row);
	case NODE_TABLE:
		ls->ahead.key = c->row;
		return 1;
	case NODE_ROW:
		ls->ahead.key = c->family;
		return 1;
	case NODE_COLUMN_PIECE:
		ls->ahead.key = c->qualifier;
		return bytes_has_prefix(c->qualifier, d->qualifier);
	default:
		ls->ahead.key = c->qualifier;
		return 1;
	}
}

static int fetch(struct listing *ls)
{
	int r;

	if (ls->dir.detached)
		ls->finished = true;
	if (ls->ahead.have || ls->finished)
		return 0;
	switch (ls->level) {
	case NODE_CONTROL_DIR:
	case NODE_INFO_DIR:
	case NODE_SCRATCH_DIR:
	case NODE_STAGE:
	case NODE_VIEW_NAME:
		r = 0;
		break;
	case NODE_ROOT:
		r = next_table(ls);
		break;
	case NODE_SNAPSHOT_DIR:
		r = next_snapshot(ls);
		break;
	case NODE_SNAPSHOT:
		r = next_shown(ls);
		break;
	default:
		r = next_cell(ls);
		break;
	}
	if (r == -ENOENT)
		r = 0; /* the table was dropped under the listing */
	if (r > 0) {
		ls->ahead.have = true;
	} else if (r == 0) {
		ls->finished = true;
		scan_drop(ls);
	}
	return r < 0 ? r : 0;
}

/* -- what is only in memory --------------------------------------------- */

/* Fills ls->overlay_entry. Versions come after every scratch file. */
static int fetch_overlay(struct listing *ls)
{
	struct bytes last = buf_bytes(&ls->last);
	int r;

	ls->overlay_has = false;
	if (!overlay_any(ls->fs->overlay, ls->dir.node))
		return 0;
	if (ls->level == NODE_COLUMN && ls->has_last && !ls->last_overlay)
		return 0;
	r = overlay_next(ls->fs->overlay, ls->dir.node,
			 ls->has_last ? &last : NULL, &ls->overlay_entry,
			 &ls->overlay_key);
	ls->overlay_has = r > 0;
	return r < 0 ? r : 0;
}

/* -- entries ------------------------------------------------------------ */

static int remember(struct listing *ls, struct bytes key, int64_t ts,
		    bool overlay)
{
	struct mark *m = &ls->marks[ls->offset % WINDOW];
	int r = 0;

	if (key.data != ls->last.data)
		r = buf_set(&ls->last, key);
	if (r == 0)
		r = buf_set(&m->key, buf_bytes(&ls->last));
	if (r < 0)
		return why(r, "out of memory for a directory");
	ls->has_last = true;
	ls->last_ts = ts;
	ls->last_kind = ls->ahead.cell.kind;
	ls->last_overlay = overlay;
	m->kind = ls->last_kind;
	m->offset = ls->offset;
	m->ts = ts;
	m->overlay = overlay;
	return 0;
}

/* Is the piece new? The keys that share it need not be neighbours. */
static bool piece_is_new(struct listing *ls, const struct name_part *part)
{
	size_t len = part->len - 2;
	char *slot = ls->pieces[len % PIECE_LENGTHS];

	if (!strncmp(slot, part->text, len) && slot[len] == '\0')
		return false;
	memcpy(slot, part->text, len);
	slot[len] = '\0';
	return true;
}

static bool is_piece(uint8_t kind)
{
	return kind == NODE_ROW_PIECE || kind == NODE_COLUMN_PIECE;
}

static uint8_t child_kind(const struct listing *ls)
{
	switch (ls->level) {
	case NODE_ROOT:
	case NODE_SNAPSHOT:
		return NODE_TABLE;
	case NODE_SNAPSHOT_DIR:
		return ls->dir.table ? NODE_TABLE : NODE_SNAPSHOT;
	case NODE_TABLE:
	case NODE_ROW_PIECE:
		return ls->part.more ? NODE_ROW_PIECE : NODE_ROW;
	case NODE_ROW:
		return NODE_FAMILY;
	case NODE_COLUMN:
		return kind_is_marker(ls->ahead.cell.kind) ? NODE_MARKER
							   : NODE_VERSION;
	}
	if (ls->part.more)
		return NODE_COLUMN_PIECE;
	return ls->dir.view && ls->dir.view->has_at ? NODE_VALUE : NODE_COLUMN;
}

static void name_version(struct listing *ls)
{
	const struct cell *c = &ls->ahead.cell;
	size_t n = name_format_ts(c->ts, ls->ts_name);

	if (kind_is_marker(c->kind))
		n += (size_t)snprintf(ls->ts_name + n, sizeof(ls->ts_name) - n,
				      ".%s", kind_name(c->kind));
	ls->entry.name = ls->ts_name;
	ls->entry.name_len = n;
}

/*
 * The name of what is ahead. 1, or 0 when the entry is not one of this
 * directory: a key that is no continuation of the piece, a piece that was
 * listed.
 */
static int name_ahead(struct listing *ls)
{
	const struct place *d = &ls->dir;
	struct bytes key = ls->ahead.key;
	size_t pos = 0;

	switch (ls->level) {
	case NODE_COLUMN:
		name_version(ls);
		return 1;
	case NODE_ROOT:
	case NODE_SNAPSHOT:
		ls->entry.name_len = key.len;
		ls->entry.name = ls->ahead.table;
		return 1;
	case NODE_ROW_PIECE:
		pos = d->row.len;
		break;
	case NODE_COLUMN_PIECE:
		pos = d->qualifier.len;
		break;
	}
	if (pos && (key.len == pos || !name_is_cut(key, pos)))
		return 0;
	name_part(key, pos, &ls->part);
	/* The store's API can make one that no file's name can spell. */
	if (ls->part.more && d->kind == NODE_SNAPSHOT_DIR)
		return 0;
	ls->entry.name = ls->part.text;
	ls->entry.name_len = ls->part.len;
	return !ls->part.more || piece_is_new(ls, &ls->part);
}

/* Attributes of a directory's or version's entry, from the cell at hand. */
static int stat_ahead(struct listing *ls, struct place *p, struct stat *st)
{
	const struct cell *c = &ls->ahead.cell;

	if (c->kind == CELL_LOST)
		return 0;
	if (p->kind == NODE_VERSION || p->kind == NODE_COLUMN ||
	    p->kind == NODE_VALUE || p->kind == NODE_MARKER)
		return place_stat_cell(ls->fs, p, c, st);
	return place_stat_blank(ls->fs, p, st);
}

/*
 * The place of an entry, as far as attributes need it. It borrows from the
 * directory's, so it is not released.
 */
static void borrow_place(struct listing *ls, struct place *p)
{
	struct listing_entry *e = &ls->entry;

	*p = ls->dir;
	p->hold = (struct buf){0};
	p->node = 0;
	p->parent = ls->dir.node;
	p->kind = e->kind;
	p->ino = e->ino;
	p->seen = ls->seen;
	p->ts = ls->ahead.cell.ts;
	p->cell_kind = ls->ahead.cell.kind;
	if (ls->level == NODE_TABLE)
		p->row = ls->ahead.key;
	p->detached = false;
	memcpy(p->name, e->name, e->name_len);
	p->name[e->name_len] = '\0';
}

/* Tables, scratch files, .schema: looked up like any name. */
static int stat_by_name(struct listing *ls, struct place *p, struct stat *st)
{
	struct bytes name = bytes_of(ls->entry.name, ls->entry.name_len);
	int r = fs_lookup(ls->fs, &ls->dir, name, p, st);

	if (r > 0) {
		ls->entry.kind = p->kind;
		ls->entry.ino = st->st_ino;
	}
	return r;
}

static void next_dot(struct listing *ls)
{
	static const char *const dots[] = {".", ".."};
	struct listing_entry *e = &ls->entry;

	*e = (struct listing_entry){
		.name = dots[ls->offset],
		.name_len = ls->offset + 1,
		.dot = true,
		.kind = NODE_ROOT,
		.ino = ls->dir.ino,
		.st = {.st_ino = ls->dir.ino, .st_mode = S_IFDIR},
	};
	ls->offset++;
}

/* "." and "..", then the names of fs/fixed.h. 1; 0 behind them. */
static int next_fixed(struct listing *ls)
{
	struct listing_entry *e = &ls->entry;
	const char *name;
	struct place p;
	struct stat st;
	int r;

	if (ls->offset < 2) {
		next_dot(ls);
		return 1;
	}
	while ((name = fixed_name(ls->fs, &ls->dir, ls->offset - 2))) {
		ls->offset++;
		r = *name ? fs_lookup(ls->fs, &ls->dir, bytes_str(name), &p,
				      &st)
			  : 0;
		if (*name)
			place_release(&p);
		if (r <= 0)
			continue;
		*e = (struct listing_entry){
			.name = name,
			.name_len = strlen(name),
			.ino = st.st_ino,
			.kind = p.kind,
		};
		ls->by_name = true;
		return 1;
	}
	ls->fixed_over = true;
	return 0;
}

static int take_overlay(struct listing *ls)
{
	struct listing_entry *e = &ls->entry;

	*e = (struct listing_entry){
		.name = ls->overlay_entry.name,
		.name_len = strlen(ls->overlay_entry.name),
		.kind = ls->overlay_entry.kind,
		.ino = ls->overlay_entry.ino,
	};
	ls->by_name = true;
	/* The piece must not come again from the store. */
	if (is_piece(e->kind)) {
		memcpy(ls->part.text, e->name, e->name_len + 1);
		ls->part.len = e->name_len;
		piece_is_new(ls, &ls->part);
	}
	ls->offset++;
	return remember(ls, buf_bytes(&ls->overlay_key), 0, true);
}

static int take_ahead(struct listing *ls)
{
	struct listing_entry *e = &ls->entry;
	int r;

	*e = (struct listing_entry){0};
	ls->ahead.have = false;
	r = name_ahead(ls);
	if (r == 0) {
		e->name = NULL;
		return 0;
	}
	e->kind = child_kind(ls);
	ls->by_name = e->kind == NODE_TABLE || e->kind == NODE_SNAPSHOT;
	e->ino = place_child_ino(ls->dir.ino, bytes_of(e->name, e->name_len));
	ls->offset++;
	r = remember(ls, ls->ahead.key, ls->ahead.cell.ts, false);
	return r < 0 ? r : 1;
}

/* The next of the merged stream into ls->entry. 1, 0, error. */
static int next_merged(struct listing *ls)
{
	bool column = ls->level == NODE_COLUMN;
	int r, c;

	for (;;) {
		r = fetch(ls);
		if (r == 0)
			r = fetch_overlay(ls);
		if (r < 0)
			return r;
		if (!ls->overlay_has && !ls->ahead.have)
			return 0;
		if (!ls->overlay_has)
			c = 1;
		else if (!ls->ahead.have || column)
			c = -1;
		else
			c = bytes_cmp(buf_bytes(&ls->overlay_key),
				      ls->ahead.key);
		if (c == 0 && !is_piece(ls->overlay_entry.kind))
			ls->ahead.have = false; /* one name, listed once */
		if (c <= 0) {
			r = take_overlay(ls);
			return r < 0 ? r : 1;
		}
		r = take_ahead(ls);
		if (r != 0)
			return r;
		/* Passed over: the stream is behind it all the same. */
		r = buf_set(&ls->last, ls->ahead.key);
		if (r < 0)
			return r;
		ls->has_last = true;
		ls->last_overlay = false;
	}
}

/* -- the interface ------------------------------------------------------ */

static void start_over(struct listing *ls)
{
	scan_drop(ls);
	ls->offset = 0;
	ls->fixed_over = false;
	ls->again = false;
	ls->finished = false;
	ls->has_last = false;
	ls->last_overlay = false;
	memset(ls->pieces, 0, sizeof(ls->pieces));
	for (int i = 0; i < WINDOW; i++)
		ls->marks[i].offset = 0;
}

/* Continues behind a mark. */
static int go_to_mark(struct listing *ls, const struct mark *m)
{
	bool in_column = ls->dir.kind == NODE_COLUMN_PIECE;
	size_t pos = in_column ? ls->dir.qualifier.len : ls->dir.row.len;
	struct name_part part;
	int r = buf_set(&ls->last, buf_bytes(&m->key));

	if (r < 0)
		return why(r, "out of memory for a directory");
	scan_drop(ls);
	ls->finished = false;
	ls->again = false;
	ls->has_last = true;
	ls->last_ts = m->ts;
	ls->last_kind = m->kind;
	ls->last_overlay = m->overlay;
	ls->offset = m->offset;
	memset(ls->pieces, 0, sizeof(ls->pieces));
	if (!is_piece(ls->level))
		pos = 0;
	if (ls->level != NODE_COLUMN && m->key.len > pos) {
		name_part(buf_bytes(&m->key), pos, &part);
		if (part.more)
			piece_is_new(ls, &part);
	}
	return 0;
}

/* The next entry without attributes. */
static int step(struct listing *ls)
{
	int r;

	ls->by_name = false;
	r = ls->fixed_over ? 0 : next_fixed(ls);
	if (r == 0)
		r = next_merged(ls);
	ls->entry.offset = ls->offset;
	return r;
}

int listing_seek(struct listing *ls, uint64_t offset)
{
	const struct mark *m = &ls->marks[offset % WINDOW];
	int r = 0;

	pthread_mutex_lock(&ls->lock);
	if (offset == ls->offset) {
		ls->again = false;
	} else if (offset + 1 == ls->offset && ls->entry.name) {
		ls->again = true;
	} else if (offset && m->offset == offset) {
		r = go_to_mark(ls, m);
	} else {
		start_over(ls);
		while (ls->offset < offset && (r = step(ls)) > 0)
			;
	}
	pthread_mutex_unlock(&ls->lock);
	return r < 0 ? r : 0;
}

static void fill_attributes(struct listing *ls)
{
	struct listing_entry *e = &ls->entry;
	struct place *p;
	int r;

	if (ls->by_name) {
		p = &ls->looked_up;
		place_release(p);
		r = stat_by_name(ls, p, &e->st);
	} else {
		p = &ls->borrowed;
		borrow_place(ls, p);
		r = stat_ahead(ls, p, &e->st);
	}
	/* What vanished meanwhile is listed, and not known. */
	e->place = r > 0 ? p : NULL;
}

int listing_next(struct listing *ls, bool attrs, struct listing_entry *out)
{
	int r = 1;

	pthread_mutex_lock(&ls->lock);
	ls->used = time(NULL);
	if (ls->again)
		ls->again = false;
	else
		r = step(ls);
	if (r > 0) {
		if (attrs && !ls->entry.dot)
			fill_attributes(ls);
		*out = ls->entry;
	}
	pthread_mutex_unlock(&ls->lock);
	return r;
}
