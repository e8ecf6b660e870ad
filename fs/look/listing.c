#include "fs/look/listing.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "fs/change/directories.h"
#include "fs/change/moved.h"
#include "fs/look/lookup.h"
#include "fs/tree/dir_scan.h"
#include "fs/tree/fixed.h"
#include "fs/tree/fs.h"
#include "fs/tree/view.h"
#include "store/value/array.h"

/*
 * How far behind the position a seek finds its key. A page of READDIR has up to
 * 128 entries, and one is ahead; a reader with a small buffer may take only the
 * first of them.
 */
#define WINDOW 160
/* A piece is 247 to 250 bytes, so at most four are open at a time. */
#define PIECE_LENGTHS 4
/*
 * The kernel keeps no more names of a directory, so that a reader mostly has them
 * all by one call.
 */
#define KEPT_NAMES 512

/* Where an entry stood, so that the listing can go on behind it. */
struct mark {
	uint64_t offset; /* behind the entry; 0 = unused */
	struct dir_position position;
	uint8_t pieces; /* a bit for each that its name begins with */
};

struct listing {
	struct open_file file; /* first: the one is cast to the other */
	struct fs *fs;
	struct place dir;
	pthread_mutex_t lock; /* guards all below */
	int64_t used;	      /* of the last call: time(2) */

	uint64_t offset; /* behind the last entry handed out */
	bool fixed_over; /* what follows are keys */
	bool again;	 /* the last entry is to be handed out again */
	bool begun;	 /* an entry was handed out */
	uint8_t holds;	 /* place_holds() of dir */
	struct dir_scan scan;
	uint64_t overlay_node; /* under which it has what is in memory */
	uint64_t scratch_node; /* in .put: under which scratch files are */
	bool watched;	       /* the overlay knows that dir is being listed */
	uint32_t kept; /* of which state the kernel may keep the names, or 0 */
	bool overlay_has;
	struct overlay_entry overlay_entry;
	struct buf overlay_key;

	char pieces[PIECE_LENGTHS][NAME_PIECE_MAX + 1];
	struct name_part part;	    /* the name of ls->entry, but for tables */
	char ts_name[48];	    /* "TS", or "TS.delete-column" */
	struct listing_entry entry; /* the last one handed out */
	bool by_name;		    /* its attributes come from fs_lookup() */
	int looked;		    /* which has just said this, or 0 */
	struct place borrowed, looked_up;
	struct mark
		*marks; /* as many of WINDOW as were gone to; NULL at first */
	size_t nmarks, marks_cap;
};

int listing_open(struct fs *fs, struct place *dir, struct listing **out)
{
	struct listing *ls;

	if (!place_is_dir(dir))
		return -ENOTDIR;
	ls = calloc(1, sizeof(*ls));
	if (!ls)
		return why(-ENOMEM, "out of memory for a directory");
	ls->file.ops = &listing_ops;
	ls->file.refs = 1;
	ls->fs = fs;
	ls->dir = *dir;
	/* In .put itself no row is listed. */
	ls->overlay_node =
		fs_dir_node(fs, dir->node, dir->put && dir->kind != NODE_PUT);
	if (dir->put && dir->kind != NODE_PUT)
		ls->scratch_node = dir->node;
	ls->scan.fs = fs;
	ls->scan.dir = &ls->dir;
	ls->scan.level = place_level(dir);
	ls->holds = place_holds(dir);
	place_disown(dir);
	pthread_mutex_init(&ls->lock, NULL);
	*out = ls;
	return 0;
}

/*
 * From before the scan is opened until the listing has ended, directories stay
 * in the overlay.
 */
static void watch(struct listing *ls)
{
	if (ls->watched)
		return;
	directories_settle_late(ls->fs, ls->overlay_node);
	overlay_list_begin(ls->fs->overlay, ls->overlay_node);
	ls->watched = true;
}

static void watch_no_more(struct listing *ls)
{
	if (!ls->watched)
		return;
	overlay_list_end(ls->fs->overlay, ls->overlay_node);
	directories_settle_late(ls->fs, ls->overlay_node);
	ls->watched = false;
}

static void drop_marks(struct listing *ls)
{
	while (ls->nmarks)
		buf_free(&ls->marks[--ls->nmarks].position.key);
	free(ls->marks);
	ls->marks = NULL;
	ls->marks_cap = 0;
}

static void listing_free(struct open_file *f)
{
	struct listing *ls = listing_of(f);

	watch_no_more(ls);
	if (ls->kept)
		nodes_cache_end(ls->fs->nodes, ls->dir.node, true);
	dir_scan_end(&ls->scan);
	place_release(&ls->looked_up);
	place_release(&ls->dir);
	drop_marks(ls);
	buf_free(&ls->overlay_key);
	pthread_mutex_destroy(&ls->lock);
	free(ls);
}

/* The state of the names in the directory; 0 when they change by themselves. */
static uint32_t state_of(struct fs *fs, const struct place *dir)
{
	struct changes_dir names = place_changes(dir);
	uint64_t last;

	if (!place_is(dir, KIND_KEPT) || dir->view || dir->put ||
	    dir->detached || !fs_hears_all(fs, dir->table))
		return 0;
	last = changes_names(&fs->changes, &names) + 1;
	return (uint32_t)last ? (uint32_t)last : 1;
}

void listing_keep(struct listing *ls, struct fuse_file_info *fi)
{
	uint32_t state = state_of(ls->fs, &ls->dir);
	enum nodes_cache cache = CACHE_PASS;

	if (state)
		cache = nodes_cache(ls->fs->nodes, ls->dir.node, state);
	ls->kept = cache != CACHE_PASS ? state : 0;
	fi->cache_readdir = cache != CACHE_PASS;
	fi->keep_cache = cache != CACHE_FILL;
}

const struct file_ops listing_ops = {
	.free = listing_free,
};

struct open_file *listing_file(struct listing *ls)
{
	return &ls->file;
}

struct listing *listing_of(struct open_file *f)
{
	return (struct listing *)f;
}

void listing_rest(struct listing *ls, int64_t before)
{
	if (pthread_mutex_trylock(&ls->lock))
		return;
	if (ls->used < before)
		dir_scan_rest(&ls->scan);
	pthread_mutex_unlock(&ls->lock);
}

/* Compares the entry of the overlay with another of that key and rank. */
static int overlay_cmp(const struct listing *ls, struct bytes key, uint8_t rank)
{
	int c = bytes_cmp(buf_bytes(&ls->overlay_key), key);

	return c ? c : (int)ls->overlay_entry.rank - (int)rank;
}

/*
 * In .put: directories are entries of the table's node; scratch files, which
 * have one path only, are entries of this directory's own.
 */
static int next_in_put(struct listing *ls, const struct bytes *last)
{
	struct overlay *ov = ls->fs->overlay;
	struct overlay_entry own = ls->overlay_entry;
	struct buf key = {0};
	struct bytes at;
	int dirs, r;

	dirs = overlay_next(ov, ls->overlay_node, last, &ls->overlay_entry,
			    &ls->overlay_key);
	while (dirs > 0 && kind_is(ls->overlay_entry.kind, KIND_SCRATCH)) {
		at = buf_bytes(&ls->overlay_key);
		dirs = overlay_next(ov, ls->overlay_node, &at,
				    &ls->overlay_entry, &ls->overlay_key);
	}
	r = overlay_next(ov, ls->scratch_node, last, &own, &key);
	if (dirs < 0 || r <= 0 ||
	    (dirs > 0 && overlay_cmp(ls, buf_bytes(&key), own.rank) < 0)) {
		buf_free(&key);
		return r < 0 ? r : dirs;
	}
	ls->overlay_entry = own;
	buf_free(&ls->overlay_key);
	ls->overlay_key = key;
	return r;
}

/* Room for marks up to that of the next entry. 0 or -ENOMEM. */
static int reserve_marks(struct listing *ls)
{
	size_t n = ls->offset % WINDOW + 2;

	if (n > WINDOW)
		n = WINDOW;
	if (ARRAY_RESERVE(ls->marks, ls->marks_cap, n) < 0)
		return why(-ENOMEM, "out of memory for a directory");
	while (ls->nmarks < n)
		ls->marks[ls->nmarks++] = (struct mark){0};
	return 0;
}

/* Where the stream is: behind the last entry that was handed out. */
static struct mark *mark_of(struct listing *ls)
{
	return &ls->marks[ls->offset % WINDOW];
}

/* Fills ls->overlay_entry. Versions come after every scratch file. */
static int fetch_overlay(struct listing *ls)
{
	struct overlay *ov = ls->fs->overlay;
	const struct dir_position *at = &mark_of(ls)->position;
	struct bytes last = buf_bytes(&at->key);
	const struct bytes *after = at->begun ? &last : NULL;
	int r;

	ls->overlay_has = false;
	if (!overlay_count(ov))
		return 0;
	if (!overlay_any(ov, ls->overlay_node) &&
	    !overlay_any(ov, ls->scratch_node))
		return 0;
	if (ls->scan.level == NODE_COLUMN && at->begun && !at->overlay)
		return 0;
	ls->overlay_entry.rank = at->rank;
	if (ls->scratch_node)
		r = next_in_put(ls, after);
	else
		r = overlay_next(ov, ls->overlay_node, after,
				 &ls->overlay_entry, &ls->overlay_key);
	ls->overlay_has = r > 0;
	return r < 0 ? r : 0;
}

/* The stream is behind the entry with @key, ls->entry, from now on. */
static int pass(struct listing *ls, struct bytes key, int64_t ts, bool overlay)
{
	struct mark *m = mark_of(ls);
	const char *name = ls->entry.name;

	/* A scratch file may lie between keys that it would share a piece with. */
	if (overlay && ls->overlay_entry.rank == RANK_OTHER) {
		name_part(key, 0, &ls->part);
		name = ls->part.text;
	}
	m->pieces = 0;
	for (int i = 0; i < PIECE_LENGTHS; i++)
		if (*ls->pieces[i] &&
		    !strncmp(name, ls->pieces[i], strlen(ls->pieces[i])))
			m->pieces |= 1 << i;
	if (buf_set(&m->position.key, key) < 0)
		return why(-ENOMEM, "out of memory for a directory");
	m->offset = ls->offset;
	m->position.begun = true;
	m->position.ts = ts;
	m->position.kind = ls->scan.cell.kind;
	m->position.overlay = overlay;
	m->position.rank = overlay ? ls->overlay_entry.rank : RANK_KEY;
	return 0;
}

/* Is the piece new? The keys that share it need not be neighbours. */
static bool piece_is_new(struct listing *ls, const struct name_part *part)
{
	size_t len = part->len - 2;
	char *slot = ls->pieces[len % PIECE_LENGTHS];

	assert(part->len > 2 && len <= NAME_PIECE_MAX);
	if (!strncmp(slot, part->text, len) && slot[len] == '\0')
		return false;
	memcpy(slot, part->text, len);
	slot[len] = '\0';
	return true;
}

static uint8_t child_kind(const struct listing *ls)
{
	uint8_t kind = ls->holds;

	if (kind == NODE_VERSION && kind_is_marker(ls->scan.cell.kind))
		return NODE_MARKER;
	return ls->part.more && kind_of(kind)->piece ? kind_of(kind)->piece
						     : kind;
}

static void name_version(struct listing *ls)
{
	const struct cell *c = &ls->scan.cell;
	size_t n = name_format_ts(c->ts, ls->ts_name);

	if (kind_is_marker(c->kind))
		n += (size_t)snprintf(ls->ts_name + n, sizeof(ls->ts_name) - n,
				      ".%s", kind_name(c->kind));
	ls->entry.name = ls->ts_name;
	ls->entry.name_len = n;
}

/*
 * Names the entry ahead. 1; 0 when it is not listed, since its piece was listed
 * before or the version was moved away.
 */
static int name_ahead(struct listing *ls)
{
	const struct place *d = &ls->dir;
	struct bytes key = ls->scan.key;
	size_t pos = 0;

	if (ls->scan.level == NODE_COLUMN) {
		name_version(ls);
		return !moved_hides(ls->fs, d, ls->scan.cell.ts);
	}
	if (ls->scan.level == NODE_ROOT || ls->scan.level == NODE_SNAPSHOT) {
		ls->entry.name_len = key.len;
		ls->entry.name = ls->scan.table;
		return 1;
	}
	if (kind_is(d->kind, KIND_PIECE))
		pos = place_key(d).len;
	name_part(key, pos, &ls->part);
	ls->entry.name = ls->part.text;
	ls->entry.name_len = ls->part.len;
	/* The store's API can make one that no file's name can spell. */
	if (ls->part.more && d->kind == NODE_SNAPSHOT_DIR)
		return 0;
	return !ls->part.more || piece_is_new(ls, &ls->part);
}

/* Attributes of a directory's or version's entry, from the cell at hand. */
static int stat_ahead(struct listing *ls, struct place *p, struct stat *st)
{
	const struct cell *c = &ls->scan.cell;

	if (c->kind == CELL_LOST)
		return 0;
	if (kind_of(ls->scan.level)->scan >= SCAN_COLUMNS &&
	    !place_is(p, KIND_PIECE))
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
	p->seen = ls->scan.seen;
	p->ts = ls->scan.cell.ts;
	p->cell_kind = ls->scan.cell.kind;
	if (kind_of(ls->scan.level)->scan == SCAN_ROWS)
		p->row = buf_bytes(&mark_of(ls)->position.key);
	p->detached = false;
	assert(e->name_len < sizeof(p->name));
	memcpy(p->name, e->name, e->name_len);
	p->name[e->name_len] = '\0';
}

/* Tables, scratch files and .schema are looked up by their names. */
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

/* "." and "..", then the names of fixed.h. 1; 0 behind them; an error. */
static int next_fixed(struct listing *ls)
{
	struct listing_entry *e = &ls->entry;
	struct place *p = &ls->looked_up;
	const char *name;
	struct stat st = {0};
	int r;

	if (ls->offset < 2) {
		next_dot(ls);
		return 1;
	}
	for (; (name = fixed_name(ls->fs, &ls->dir, ls->offset - 2));
	     ls->offset++) {
		if (!*name)
			continue;
		place_release(p);
		r = fs_lookup(ls->fs, &ls->dir, bytes_str(name), p, &st);
		/* Nothing is known of it. */
		if (r < 0 && r != -EINVAL && strcmp(p->name, name))
			return r;
		/* -EINVAL: it means nothing here. */
		if (r == 0 || r == -EINVAL ||
		    (p->kind == NODE_SCHEMA &&
		     schema_absent_to_all(&ls->fs->schema_absent, p->table)))
			continue;
		*e = (struct listing_entry){
			.name = name,
			.name_len = strlen(name),
			.ino = p->ino,
			.kind = p->kind,
			.st = st,
		};
		ls->by_name = true;
		ls->looked = r;
		ls->offset++;
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
	/* The store may have the same piece, which is listed once. */
	if (kind_is(e->kind, KIND_PIECE)) {
		memcpy(ls->part.text, e->name, e->name_len + 1);
		ls->part.len = e->name_len;
		piece_is_new(ls, &ls->part);
	}
	ls->offset++;
	return pass(ls, buf_bytes(&ls->overlay_key), 0, true);
}

static int take_ahead(struct listing *ls)
{
	struct listing_entry *e = &ls->entry;
	int listed, r;

	*e = (struct listing_entry){0};
	ls->scan.have = false;
	listed = name_ahead(ls);
	e->kind = child_kind(ls);
	ls->by_name = e->kind == NODE_TABLE || e->kind == NODE_SNAPSHOT;
	e->ino = place_child_ino(ls->dir.ino, bytes_of(e->name, e->name_len));
	ls->offset += listed;
	/* What is not listed is not looked at again. */
	r = pass(ls, ls->scan.key, ls->scan.cell.ts, false);
	return r < 0 ? r : listed;
}

/* The next of the merged stream into ls->entry. 1, 0, error. */
static int next_merged(struct listing *ls)
{
	bool column = ls->scan.level == NODE_COLUMN;
	int r = reserve_marks(ls), c;

	if (r < 0)
		return r;
	watch(ls);
	for (;;) {
		r = dir_scan_fetch(&ls->scan, &mark_of(ls)->position);
		if (r == 0)
			r = fetch_overlay(ls);
		if (r < 0)
			return r;
		if (!ls->overlay_has && !ls->scan.have) {
			watch_no_more(ls);
			return dir_scan_damage(&ls->scan);
		}
		if (!ls->overlay_has)
			c = 1;
		else if (!ls->scan.have || column)
			c = -1;
		else
			c = overlay_cmp(ls, ls->scan.key, RANK_KEY);
		if (c == 0)
			ls->scan.have = false; /* one name, listed once */
		if (c <= 0) {
			r = take_overlay(ls);
			return r < 0 ? r : 1;
		}
		r = take_ahead(ls);
		if (r != 0)
			return r;
	}
}

static void start_over(struct listing *ls)
{
	dir_scan_restart(&ls->scan);
	ls->offset = 0;
	ls->fixed_over = false;
	ls->again = false;
	memset(ls->pieces, 0, sizeof(ls->pieces));
	drop_marks(ls);
}

/* Continues behind a mark. */
static void go_to_mark(struct listing *ls, const struct mark *m)
{
	size_t pos = 0;

	dir_scan_go(&ls->scan);
	ls->again = false;
	ls->offset = m->offset;
	ls->entry.name = NULL;
	memset(ls->pieces, 0, sizeof(ls->pieces));
	if (kind_is(ls->scan.level, KIND_PIECE))
		pos = place_key(&ls->dir).len;
	if (m->pieces)
		name_part(buf_bytes(&m->position.key), pos, &ls->part);
	for (size_t i = 0; i < PIECE_LENGTHS; i++)
		if (m->pieces >> i & 1)
			memcpy(ls->pieces[i], ls->part.text,
			       NAME_PIECE_MAX -
				       (NAME_PIECE_MAX - i) % PIECE_LENGTHS);
}

/* The next entry without attributes. */
static int step(struct listing *ls)
{
	int r;

	ls->by_name = false;
	ls->looked = 0;
	r = ls->fixed_over ? 0 : next_fixed(ls);
	if (r == 0)
		r = next_merged(ls);
	/* Behind the end there is no entry that could be handed out again. */
	if (r <= 0)
		ls->entry.name = NULL;
	ls->entry.offset = ls->offset;
	return r;
}

/*
 * Goes behind as many entries. Those before may have come from the kernel, of the
 * state in which the directory was opened: of another state nobody knows where
 * they end, and all are listed, as none may be missing.
 */
static int count_to(struct listing *ls, uint64_t offset)
{
	int r = 0;

	start_over(ls);
	while (ls->offset < offset && (r = step(ls)) > 0)
		;
	if (!ls->begun && ls->kept && ls->kept != state_of(ls->fs, &ls->dir))
		start_over(ls);
	return r;
}

int listing_seek(struct listing *ls, uint64_t offset)
{
	const struct mark *m;
	int r = 0;

	pthread_mutex_lock(&ls->lock);
	m = offset % WINDOW < ls->nmarks ? &ls->marks[offset % WINDOW] : NULL;
	if (offset == ls->offset) {
		ls->again = false;
	} else if (offset + 1 == ls->offset && ls->entry.name) {
		ls->again = true;
	} else if (offset && m && m->offset == offset) {
		go_to_mark(ls, m);
	} else {
		r = count_to(ls, offset);
	}
	pthread_mutex_unlock(&ls->lock);
	return r < 0 ? r : 0;
}

static void fill_attributes(struct listing *ls)
{
	struct listing_entry *e = &ls->entry;
	struct place *p;
	int r;

	if (ls->looked) {
		p = &ls->looked_up;
		r = ls->looked;
	} else if (ls->by_name) {
		p = &ls->looked_up;
		place_release(p);
		r = stat_by_name(ls, p, &e->st);
	} else {
		p = &ls->borrowed;
		borrow_place(ls, p);
		r = stat_ahead(ls, p, &e->st);
	}
	/* An entry that is handed out again is looked up again. */
	ls->looked = 0;
	/*
	 * An entry that has vanished meanwhile, or cannot be looked at, is listed
	 * without attributes.
	 */
	e->place = r > 0 ? p : NULL;
}

/* At the end, or behind more entries than the kernel is to keep. */
static void note_size(const struct listing *ls)
{
	if (place_is(&ls->dir, KIND_KEPT) && !ls->dir.view)
		nodes_list_size(ls->fs->nodes, ls->dir.node,
				ls->offset > KEPT_NAMES);
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
		ls->begun = true;
	}
	if (r == 0 || ls->offset == KEPT_NAMES + 1)
		note_size(ls);
	pthread_mutex_unlock(&ls->lock);
	return r;
}
