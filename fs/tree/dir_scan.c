#include "fs/tree/dir_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/tree/fs.h"
#include "fs/tree/place_inside.h"
#include "fs/tree/view.h"

void dir_scan_rest(struct dir_scan *s)
{
	view_scan_close(s->scan);
	s->scan = NULL;
	s->have = false;
}

void dir_scan_go(struct dir_scan *s)
{
	dir_scan_rest(s);
	s->finished = false;
}

void dir_scan_restart(struct dir_scan *s)
{
	dir_scan_go(s);
	free(s->damage);
	s->damage = NULL;
}

void dir_scan_end(struct dir_scan *s)
{
	dir_scan_restart(s);
	snapshot_release(s->snap);
}

static uint8_t granularity(const struct dir_scan *s)
{
	return kind_of(s->level)->scan;
}

/* Tells whether the view limits the number of entries at this level. */
static bool is_counted(const struct dir_scan *s)
{
	const struct view *v = s->dir->view;

	if (!v)
		return false;
	switch (granularity(s)) {
	case SCAN_ROWS:
		return v->rows.limit;
	case SCAN_COLUMNS:
		return v->qualifiers.limit;
	}
	return false;
}

/*
 * Opens the scan of this level behind @last. Families and versions have
 * no start of their own in a scan: what was handed out is passed over.
 */
static int scan_begin(struct dir_scan *s, const struct dir_position *last)
{
	const struct place *d = s->dir;
	struct column_name column = {.family = d->family,
				     .qualifier = d->qualifier,
				     .whole_family = s->level != NODE_COLUMN};
	struct scan_spec spec = {.granularity = granularity(s),
				 .keys_only = true,
				 .row_start = d->row};
	struct bytes piece = kind_is(s->level, KIND_PIECE) ? place_key(d)
							   : (struct bytes){0};
	/* A scratch file may come before all keys of a piece. */
	bool resume = last->begun && !is_counted(s) &&
		      bytes_cmp(buf_bytes(&last->key), piece) >= 0;

	if (spec.granularity >= SCAN_COLUMNS) {
		spec.columns = &column;
		spec.ncolumns = 1;
	}
	if (spec.granularity != SCAN_ROWS) {
		spec.row_stop = d->row;
		spec.row_stop_inclusive = true;
	} else if (is_counted(s)) {
		spec.row_start = (struct bytes){0};
	} else if (resume) {
		spec.row_start = buf_bytes(&last->key);
		spec.row_start_exclusive = true;
	}
	if (spec.granularity == SCAN_COLUMNS && !is_counted(s)) {
		spec.has_qual_start = resume || d->qualifier.len;
		spec.qual_start = resume ? buf_bytes(&last->key) : d->qualifier;
		spec.qual_start_exclusive = resume;
	}
	s->seen = changes_now(&s->fs->changes);
	return view_scan_open(d->table, d->view, &spec, &s->scan);
}

static struct bytes key_of(const struct dir_scan *s, const struct cell *cell)
{
	switch (granularity(s)) {
	case SCAN_ROWS:
		return cell->row;
	case SCAN_FAMILIES:
		return cell->family;
	}
	return cell->qualifier;
}

/* Tells whether the cell was listed before the scan was reopened. */
static bool passed(const struct dir_scan *s, const struct dir_position *last,
		   const struct cell *cell)
{
	int c;

	if (!last->begun)
		return false;
	if (s->level == NODE_COLUMN)
		return !last->overlay &&
		       (cell->ts > last->ts ||
			(cell->ts == last->ts && cell->kind >= last->kind));
	if (s->level != NODE_ROW && !is_counted(s))
		return false;
	c = bytes_cmp(key_of(s, cell), buf_bytes(&last->key));
	if (granularity(s) == SCAN_ROWS && s->dir->view->reversed)
		c = -c;
	return c <= 0;
}

static struct bytes key_behind(const struct dir_position *last)
{
	return last->begun ? buf_bytes(&last->key) : (struct bytes){0};
}

/* Fetches the next table of the root. Returns 1, 0 at the end, an error. */
int list_tables(struct dir_scan *s, const struct dir_position *last)
{
	int r = store_table_next(s->fs->store, key_behind(last), s->table);

	if (r > 0)
		s->key = bytes_str(s->table);
	return r;
}

/* Fetches the next snapshot name of .snapshot, as list_tables(). */
int list_snapshots(struct dir_scan *s, const struct dir_position *last)
{
	struct fstable *ft = s->dir->table;
	struct snapshot_info info;
	int r = store_snapshot_next(s->fs->store, ft ? fstable_table(ft) : NULL,
				    key_behind(last), &info);

	if (r > 0) {
		memcpy(s->table, info.name, sizeof(info.name));
		s->key = bytes_str(s->table);
	}
	return r;
}

/* Fetches the next table of .snapshot/NAME, as list_tables(). */
int list_shown(struct dir_scan *s, const struct dir_position *last)
{
	int r = 0;

	if (!s->snap)
		r = place_snapshot_open(s->fs, NULL, bytes_str(s->dir->name),
					&s->snap);
	if (r == 0)
		r = snapshot_table_next(s->snap, key_behind(last), s->table);
	if (r > 0)
		s->key = bytes_str(s->table);
	return r;
}

/* Is it a key of the directory? The rest of a piece begins at a cut. */
static bool continues(struct bytes key, struct bytes piece)
{
	return key.len > piece.len && name_is_cut(key, piece.len);
}

int list_cells(struct dir_scan *s, const struct dir_position *last)
{
	bool piece = kind_is(s->level, KIND_PIECE);
	struct bytes prefix = piece ? place_key(s->dir) : (struct bytes){0};
	int r = s->scan ? 0 : scan_begin(s, last);

	while (r == 0) {
		r = view_scan_next(s->scan, &s->cell);
		if (r <= 0)
			break;
		s->key = key_of(s, &s->cell);
		if (passed(s, last, &s->cell))
			r = 0;
		else if (!piece)
			break;
		else if (bytes_has_prefix(s->key, prefix))
			r = continues(s->key, prefix);
		/* What is counted is counted from the first key. */
		else if (is_counted(s))
			r = 0;
		else
			return 0;
	}
	return r;
}

/* Keeps why entries cannot be read, and goes on behind them. */
static int pass_damage(struct dir_scan *s)
{
	if (!s->damage)
		s->damage = strdup(store_why());
	if (!s->damage)
		return why(-ENOMEM, "out of memory");
	return s->scan ? view_scan_pass(s->scan) : -EUCLEAN;
}

int dir_scan_damage(const struct dir_scan *s)
{
	return s->damage ? why(-EUCLEAN, "%s", s->damage) : 0;
}

int dir_scan_fetch(struct dir_scan *s, const struct dir_position *last)
{
	const struct kind *level = kind_of(s->level);
	int r;

	if (s->dir->detached)
		s->finished = true;
	if (s->have || s->finished)
		return 0;
	r = level->list ? level->list(s, last) : 0;
	while (r == -EUCLEAN && (r = pass_damage(s)) == 0)
		r = level->list(s, last);
	/*
	 * The table was dropped under the listing. When others did that, what
	 * looks empty would have its copy emptied. ENOENT is an end, too, for
	 * readdir(3).
	 */
	if (r == -ENOENT)
		r = store_is_shared(s->fs->store) ? -ESTALE : 0;
	if (r > 0) {
		s->have = true;
	} else if (r == 0) {
		s->finished = true;
		dir_scan_rest(s);
	}
	return r < 0 ? r : 0;
}
