#include "fs/change/changed.h"

#include "fs/change/cellfile.h"
#include "fs/change/directories.h"
#include "fs/change/moved.h"
#include "fs/kernel/file_locks.h"
#include "fs/memory/write_state.h"

/* How long a change waits for the kernel to hear of it. */
#define NOTICE_WAIT_MS 100
/* A column that may have so many versions has mostly a newer one than a given one. */
#define VERSIONS_MANY 16

static struct bytes text_of(const struct name_part *part)
{
	return bytes_of(part->text, part->len);
}

struct changer changer_at(struct fs *fs, const struct place *p)
{
	return (struct changer){
		.fs = fs,
		.table = p->table,
		.node = nodes_table(fs->nodes, p->parent),
		.put = p->put,
	};
}

static struct changer changer_file(struct fs *fs, const struct place *file)
{
	struct changer w = changer_at(fs, file);

	w.file = file;
	return w;
}

static int ino_step(void *arg, const struct node_view *n)
{
	*(uint64_t *)arg = n->ino;
	return 1;
}

/* The directory has a new time. */
static void set_time(struct fs *fs, uint64_t dir)
{
	uint64_t ino;

	if (nodes_walk(fs->nodes, dir, ino_step, &ino) > 0)
		dir_times_moved(&fs->dir_times, ino);
}

/* What a mutation does. */
enum {
	PUTS = 1,
	DELETES = 2,
	HAS_TTL = 4, /* a cell with a ttl of its own */
};

static unsigned acts_of(const struct mutation *m)
{
	unsigned acts = 0;

	for (size_t i = 0; i < m->nchanges; i++)
		acts |= (op_writes(m->changes[i].op) ? PUTS : DELETES) |
			(m->changes[i].ttl_ms ? HAS_TTL : 0);
	return acts;
}

/*
 * Has a column of many versions a newest one that is not @c? That is one look, and
 * mostly so.
 */
static bool newest_is_another(const struct changer *w, struct bytes row,
			      const struct change *c)
{
	struct family_attrs attrs;
	struct cell cell;

	return fstable_family(w->table, c->family, &attrs) > 0 &&
	       attrs.versions >= VERSIONS_MANY &&
	       table_get(fstable_table(w->table), row, c->family, c->qualifier,
			 TS_MAX, NULL, &cell, NULL) > 0 &&
	       cell.ts != c->ts;
}

/*
 * Has the column a version that is seen, other than the one deleted? 1, 0 or an error,
 * with which it may have.
 */
static int has_another(const struct changer *w, struct bytes row,
		       const struct change *c)
{
	struct scan *sc = NULL;
	struct cell cell;
	int r;

	if (newest_is_another(w, row, c))
		return 1;
	r = cellfile_versions(fstable_table(w->table), row, c->family,
			      c->qualifier, true, &sc);
	if (r < 0)
		return r;
	do
		r = scan_next(sc, &cell);
	while (r > 0 && cell.ts == c->ts);
	scan_close(sc);
	return r;
}

/* A name on the way down, of the node in a directory. */
struct spot {
	uint64_t dir, node;
	struct name_part part;
};

/*
 * Goes down from s->node by the components of @key, and tells each with @tell.
 * When the kernel does not know all, s->part is the first that it does not.
 */
static bool go(const struct changer *w, struct spot *s, struct bytes key,
	       bool tell)
{
	size_t pos = 0;

	do {
		name_part(key, pos, &s->part);
		s->dir = s->node;
		if (!nodes_find(w->fs->nodes, s->dir, text_of(&s->part),
				&s->node))
			return false;
		if (tell)
			invalidate_entry(w->fs->invalidator, s->dir,
					 text_of(&s->part));
		pos = s->part.next;
	} while (s->part.more);
	return true;
}

/*
 * May the delete of a column's last version bring an older one back? Not one that
 * was pushed out where that is for good, nor one that was hidden by a marker. Another
 * client of a shared store may have put one meanwhile.
 */
static bool may_come_back(const struct changer *w, const struct change *c)
{
	struct family_attrs attrs;

	return fstable_family(w->table, c->family, &attrs) <= 0 ||
	       !attrs.new_version_behavior || !fs_hears_all(w->fs, w->table);
}

uint64_t changed_before(struct changer *w, const struct mutation *m)
{
	unsigned acts = acts_of(m);
	uint64_t turn;

	w->left = false;
	if (!(acts & DELETES)) {
		if (w->file && overlay_count(w->fs->overlay))
			w->deletes = overlay_deletes(w->fs->overlay, m->row);
		return 0;
	}
	turn = overlay_delete_begin(w->fs->overlay, m->row);
	for (size_t i = 0; w->file && i < m->nchanges; i++) {
		const struct change *c = &m->changes[i];
		bool one = c->op == CHANGE_DELETE;
		int another = 0;

		if (op_writes(c->op))
			continue;
		/* Another delete, which may take the rest, begins later. */
		if (one && turn)
			another = has_another(w, m->row, c);
		w->left |= one && (!turn || another || may_come_back(w, c));
		if (another <= 0)
			directories_keep(w, m->row, c, turn);
	}
	return turn;
}

/* Does the family keep as many versions as the store ever had cells, or all? */
static bool keeps_all(const struct changer *w, const struct change *c,
		      uint64_t cells)
{
	struct family_attrs attrs;

	return fstable_family(w->table, c->family, &attrs) > 0 &&
	       (attrs.versions == UINT32_MAX ||
		(cells && attrs.versions >= cells));
}

/*
 * Of the versions that the kernel knows of the column those are told that are
 * not seen any more. What is pushed out is older than all that is seen, so the
 * oldest is looked at, and one more for each that fell off.
 */
static void tell_fallen(const struct changer *w, uint64_t column,
			struct bytes row, const struct change *c,
			uint64_t cells)
{
	char name[NAME_TS_LEN_MAX + 1];
	struct nodes *nodes = w->fs->nodes;
	struct cell cell;
	uint64_t node;
	int64_t ts;

	if (nodes_oldest(nodes, column, &ts, &node) == 0 ||
	    keeps_all(w, c, cells))
		return;
	do {
		if (table_get_version(fstable_table(w->table), row, c->family,
				      c->qualifier, ts, NULL, &cell, NULL) != 0)
			break;
		/*
		 * A look-up from now on, even before the notice, enters the
		 * version again.
		 */
		nodes_pass_over(nodes, node);
		invalidate_now(w->fs->invalidator, node);
		invalidate_entry(w->fs->invalidator, column,
				 bytes_of(name, name_format_ts(ts, name)));
	} while (nodes_oldest(nodes, column, &ts, &node) > 0);
}

/* Is the version the file that the kernel itself changes, by its own name? */
static bool is_own(const struct changer *w, const struct change *c, int64_t ts)
{
	const struct place *p = w->file;

	return p && !p->put && !p->detached && p->kind == NODE_VERSION &&
	       p->ts == ts && bytes_eq(p->family, c->family) &&
	       bytes_eq(p->qualifier, c->qualifier);
}

/*
 * Need the kernel not hear that the file which it made itself in the column was
 * written? It has asked for nothing that did not show it yet, or what it believes
 * of the column is no older.
 */
static bool knows_of_own(const struct changer *w, uint64_t column, int64_t ts)
{
	struct nodes *nodes = w->fs->nodes;

	return !nodes_cached(nodes, column) &&
	       (!nodes_believed(nodes, column) ||
		nodes_shows(nodes, column, ts));
}

/* Readers for whom the kernel caches the file have the node alone from then on. */
static bool renew(const struct changer *w, uint64_t node)
{
	struct nodes *nodes = w->fs->nodes;

	return file_locks_let_renew(nodes, node) && nodes_renew(nodes, node);
}

/* The version has another value, or is @gone. */
static void tell_version(const struct changer *w, uint64_t column,
			 const struct change *c, int64_t ts, bool gone)
{
	char text[NAME_TS_LEN_MAX + 1];
	struct bytes name;
	uint64_t node;
	bool known, renewed;

	if (ts < 0 || ts > TS_MAX || is_own(w, c, ts))
		return;
	name = bytes_of(text, name_format_ts(ts, text));
	known = nodes_find(w->fs->nodes, column, name, &node);
	renewed = known && renew(w, node);
	/* The notice may take a while: who uses the version until then asks for it. */
	if (renewed)
		invalidate_all_names(w->fs->invalidator);
	else if (known)
		invalidate_now(w->fs->invalidator, node);
	if (known && !gone && !renewed)
		invalidate_inode(w->fs->invalidator, node, true);
	/* Nobody has looked for a timestamp that the store has just picked. */
	else if (gone || renewed || c->ts == c->ts_given)
		invalidate_entry(w->fs->invalidator, column, name);
}

/* The kernel looks latest up each time, and need not be told of anything more. */
static void tell_latest(const struct changer *w, uint64_t column)
{
	uint64_t node;

	if (nodes_find(w->fs->nodes, column, bytes_str("latest"), &node))
		renew(w, node);
}

/*
 * @first: the changes of the mutation before it are not of the column. @cells: that
 * the store ever had, or 0.
 */
static void tell_put(const struct changer *w, uint64_t row, struct bytes key,
		     const struct change *c, bool first, uint64_t cells)
{
	struct spot s = {.node = row};

	if (!go(w, &s, c->family, false) || !go(w, &s, c->qualifier, false)) {
		/* The name may be a new one there. */
		if (nodes_cached(w->fs->nodes, s.dir))
			invalidate_inode(w->fs->invalidator, s.dir, true);
		return;
	}
	if (first) {
		tell_latest(w, s.node);
		tell_fallen(w, s.node, key, c, cells);
		if (!is_own(w, c, c->ts_given) ||
		    !knows_of_own(w, s.node, c->ts_given))
			invalidate_inode(w->fs->invalidator, s.node, true);
	}
	tell_version(w, s.node, c, c->ts_given, false);
}

/* A file deleted: the directories stay. */
static void tell_delete(const struct changer *w, uint64_t column,
			const struct change *c)
{
	set_time(w->fs, column);
	tell_latest(w, column);
	/* Whoever removes a name by itself knows that the directory changed. */
	if (!is_own(w, c, c->ts_given))
		invalidate_inode(w->fs->invalidator, column, true);
	if (c->op == CHANGE_DELETE) {
		tell_version(w, column, c, c->ts_given, true);
		return;
	}
	if (nodes_known(w->fs->nodes, column, true))
		invalidate_below(w->fs->invalidator, column);
	invalidate_names(w->fs->invalidator, column);
}

/*
 * Others delete: the directories go with the last cell. For a program the store
 * is asked which are gone. A stream has many lines: the kernel looks up again
 * all that may be. @first: the change before it tells nothing of the family.
 */
static void tell_taken(const struct changer *w, uint64_t row, struct bytes key,
		       const struct change *c, bool first)
{
	struct table *t = fstable_table(w->table);
	struct spot s = {.node = row}, column;
	struct cell cell;
	bool gone = true, known;

	if (!go(w, &s, c->family, false))
		return;
	column = s;
	known = go(w, &column, c->qualifier, false);
	/* Before a notice, at which the kernel forgets the node. */
	if (known)
		set_time(w->fs, column.node);
	if (first && (!w->program || table_has_family(t, key, c->family) == 0))
		invalidate_entry(w->fs->invalidator, row, text_of(&s.part));
	if (w->program && c->op == CHANGE_DELETE)
		gone = table_get(t, key, c->family, c->qualifier, TS_MAX, NULL,
				 &cell, NULL) == 0;
	if (gone)
		go(w, &s, c->qualifier, true);
	else if (known)
		tell_delete(w, column.node, c);
}

static void tell_change(const struct changer *w, const struct spot *row,
			const struct mutation *m, size_t i)
{
	const struct change *c = &m->changes[i];
	struct spot s = {.node = row->node};

	if (op_writes(c->op))
		tell_put(w, row->node, m->row, c,
			 i == 0 || !change_same_column(c, c - 1),
			 m->changes[m->nchanges - 1].seq_given);
	else if (c->op == CHANGE_DELETE_ROW)
		invalidate_entry(w->fs->invalidator, row->dir,
				 text_of(&row->part));
	else if (kind_is_family_marker(c->op))
		go(w, &s, c->family, true);
	else if (!w->file)
		tell_taken(w, row->node, m->row, c,
			   i == 0 || op_writes(c[-1].op) ||
				   !bytes_eq(c->family, c[-1].family));
	else if (go(w, &s, c->family, false) && go(w, &s, c->qualifier, false))
		tell_delete(w, s.node, c);
}

/* Has somebody that F:Q open? */
static bool is_open(struct fs *fs, uint64_t node)
{
	return atomic_load(fs_alias_readers(fs, node)) ||
	       write_state_open(fs->writes, node);
}

void changed_aliases_gone(struct fs *fs)
{
	bool open = fs->writes->open;

	for (uint64_t n = 0; !open && n < FS_ALIAS_SLOTS; n++)
		open = atomic_load(fs_alias_readers(fs, n));
	if (open)
		invalidate_all_names(fs->invalidator);
}

void changed_below(struct fs *fs, uint64_t node)
{
	invalidate_below(fs->invalidator, node);
	changed_aliases_gone(fs);
}

/* The attributes of F:Q are another version's, or F:Q is no more. */
static void tell_alias(const struct changer *w, uint64_t row, struct bytes key,
		       const struct change *c)
{
	struct invalidator *iv = w->fs->invalidator;
	struct name_part alias;
	struct cell cell;
	uint64_t node;

	if (!name_alias(c->family, c->qualifier, &alias) ||
	    !nodes_find(w->fs->nodes, row, text_of(&alias), &node))
		return;
	/*
	 * Of a file that is written by this name nothing is kept, and of one that is
	 * removed by it the kernel knows.
	 */
	if (!w->file || w->file->node != node) {
		if (renew(w, node))
			invalidate_all_names(iv);
		else
			invalidate_now(iv, node);
	}
	if (!op_writes(c->op) && is_open(w->fs, node) &&
	    table_get(fstable_table(w->table), key, c->family, c->qualifier,
		      TS_MAX, NULL, &cell, NULL) == 0)
		invalidate_all_names(w->fs->invalidator);
}

/* Before the change is replied to: what F:Q shows is believed for long. */
static void tell_aliases(const struct changer *w, uint64_t row,
			 const struct mutation *m)
{
	bool wide = false;

	for (size_t i = 0; i < m->nchanges; i++) {
		const struct change *c = &m->changes[i];

		if (c->op == CHANGE_DELETE_ROW || kind_is_family_marker(c->op))
			wide = true;
		else if (i == 0 || !change_same_column(c, c - 1) ||
			 op_writes(c->op) != op_writes(c[-1].op))
			tell_alias(w, row, m->row, c);
	}
	if (wide)
		changed_below(w->fs, row);
}

/* Beyond so many changes the whole row is noted. */
#define CHANGES_NOTED_MAX 16

/* Look-ups and listings that are under way learn that they were too early. */
static void note(struct changes *ch, const struct mutation *m)
{
	size_t n = m->nchanges;

	for (size_t i = 0; i < m->nchanges; i++)
		if (m->changes[i].op == CHANGE_DELETE_ROW ||
		    kind_is_family_marker(m->changes[i].op))
			n = CHANGES_NOTED_MAX + 1;
	if (n > CHANGES_NOTED_MAX) {
		changes_row(ch, m->row);
		return;
	}
	for (const struct change *c = m->changes; c < m->changes + n; c++)
		if (c == m->changes || !change_same_column(c, c - 1))
			changes_in(ch, &(struct changes_dir){CHANGES_COLUMN,
							     m->row, c->family,
							     c->qualifier});
}

/* The kernel hears of the mutation. */
static void tell(const struct changer *w, const struct mutation *m, bool puts)
{
	struct spot row = {.node = w->node};
	bool known = go(w, &row, m->row, false);

	/* By a path in .put the row may be known, and be believed absent. */
	if (puts && (!known || w->put) && fs_rows_believed_absent(w->fs)) {
		if (w->program)
			invalidate_entry(w->fs->invalidator, row.dir,
					 text_of(&row.part));
		else
			invalidate_absent(w->fs->invalidator, row.dir,
					  text_of(&row.part));
	}
	if (!known)
		return;
	tell_aliases(w, row.node, m);
	if (!puts && w->program &&
	    table_has_row(fstable_table(w->table), m->row) == 0) {
		row.node = w->node;
		go(w, &row, m->row, true);
		return;
	}
	for (size_t i = 0; i < m->nchanges; i++)
		tell_change(w, &row, m, i);
	/* A stream does not ask whether that was the row's last cell. */
	if (!puts && !w->program && !w->file) {
		row.node = w->node;
		go(w, &row, m->row, true);
	}
}

/*
 * May the overlay have directories of the column of the i-th change that the store has
 * by now? Not behind a delete of the whole column, which leaves no cell there. Behind that
 * of a version only if it may have left others (w->left), or if it @missed something: see
 * overlay_delete_end().
 */
static bool may_settle(const struct changer *w, const struct mutation *m,
		       size_t i, bool missed)
{
	const struct change *first = &m->changes[i];
	bool may = missed;

	for (; !may && i < m->nchanges; i++) {
		const struct change *c = &m->changes[i];

		if (!change_same_column(c, first))
			break;
		may = op_writes(c->op) || (w->left && c->op == CHANGE_DELETE);
	}
	return may;
}

/*
 * Has the store what was put, as long as nobody deletes in the row? It is newer
 * than all else in its column, and ends by no ttl. HBase does not look at the markers
 * of the column for a sum.
 */
static bool is_there(const struct changer *w, const struct mutation *m)
{
	const struct change *c = m->changes;
	bool newest = store_is_shared(w->fs->store) ? c->op == CHANGE_PUT
						    : op_writes(c->op);
	struct family_attrs attrs;

	return w->file && m->nchanges == 1 && newest && c->ts == TS_AUTO &&
	       !c->ttl_ms && fstable_family(w->table, c->family, &attrs) > 0 &&
	       attrs.ttl_ms == TTL_FOREVER;
}

/* The overlay has the directories that the store has not. */
static void settle(const struct changer *w, const struct mutation *m,
		   uint64_t turn, bool done, bool missed)
{
	/* A directory that mkdir made outlives the lines of a stream. */
	if ((!w->file && !w->program) || !overlay_count(w->fs->overlay))
		return;
	for (size_t i = 0; i < m->nchanges; i++) {
		const struct change *c = &m->changes[i];

		if ((!i || !change_same_column(c, c - 1)) &&
		    may_settle(w, m, i, missed || !done))
			directories_settle(w, m->row, c,
					   done && is_there(w, m));
		if (!done && !op_writes(c->op))
			directories_retract(w, m->row, c, turn);
	}
}

/* What was told of the table's cells before says that none expires. */
static void note_ttl(const struct changer *w)
{
	if (fstable_has_cell_ttl(w->table) && w->node)
		changed_below(w->fs, w->node);
}

/* @noted: for the whole mount. */
static void after(const struct changer *w, const struct mutation *m,
		  uint64_t turn, bool done, bool noted)
{
	unsigned acts = acts_of(m);
	struct why_kept kept;
	bool missed = false;

	if (!done && !(acts & DELETES))
		return;
	if (!done)
		why_keep(&kept);
	if (acts & DELETES)
		missed = overlay_delete_end(w->fs->overlay, m->row);
	/* A delete under way may add directories that the store has by now. */
	if (acts & PUTS)
		overlay_missed(w->fs->overlay, m->row);
	settle(w, m, turn, done, missed);
	if (done)
		moved_changed(w->fs, w->table, m);
	if (done && !noted)
		note(&w->fs->changes, m);
	/* Behind that: who looks up now and believes in no end is told as well. */
	if (acts & HAS_TTL)
		note_ttl(w);
	if (done)
		tell(w, m, acts & PUTS);
	else
		why_restore(&kept);
}

void changed_after(const struct changer *w, const struct mutation *m,
		   uint64_t turn, bool done)
{
	after(w, m, turn, done, false);
}

/* So many rows share all slots of changes.h soon. */
#define MANY_ROWS 64

/* Of many rows it is the table that is noted: others are read from the cache. */
static void note_rows(struct fs *fs, const struct table *t,
		      const struct mutation *rows, size_t n,
		      void (*act)(struct changes *ch, struct bytes key))
{
	uint64_t id = table_id(t);

	if (n >= MANY_ROWS)
		act(&fs->changes, bytes_of(&id, sizeof(id)));
	for (size_t i = 0; i < n && n < MANY_ROWS; i++)
		act(&fs->changes, rows[i].row);
}

void changed_begin(struct fs *fs, const struct table *t,
		   const struct mutation *rows, size_t n)
{
	note_rows(fs, t, rows, n, changes_begin);
}

void changed_end(struct fs *fs, const struct table *t,
		 const struct mutation *rows, size_t n)
{
	note_rows(fs, t, rows, n, changes_end);
}

bool changed_under_way(struct fs *fs, const struct place *file)
{
	uint64_t id = fstable_id(file->table);

	return changes_under_way(&fs->changes, file->row) ||
	       changes_under_way(&fs->changes, bytes_of(&id, sizeof(id)));
}

static bool are_plain_puts(const struct mutation *rows, size_t n)
{
	size_t i = 0;

	while (i < n && acts_of(&rows[i]) == PUTS)
		i++;
	return i == n;
}

/*
 * Has the kernel nothing of any row of the table? A version that was moved aside
 * keeps the node of its row.
 */
static bool is_unknown(const struct changer *w)
{
	return !fs_rows_believed_absent(w->fs) &&
	       !nodes_have_rows(w->fs->nodes, w->node);
}

void changed_many(const struct changer *w, const struct mutation *rows,
		  size_t n, size_t done)
{
	bool many = done >= MANY_ROWS;

	/* Who is about to make a node of a row has looked too early, and learns. */
	if (many)
		changes_all(&w->fs->changes);
	if (many && are_plain_puts(rows, n) && is_unknown(w))
		return;
	for (size_t i = 0; i < n; i++)
		after(w, &rows[i], 0, i < done, many);
}

int changed_mutate(struct fs *fs, const struct place *file, struct mutation *m,
		   unsigned flags)
{
	struct changer w = changer_file(fs, file);
	uint64_t turn = changed_before(&w, m);
	int r;

	changes_begin(&fs->changes, m->row);
	r = table_mutate(fstable_table(file->table), m, flags);
	changed_after(&w, m, turn, r > 0);
	changes_end(&fs->changes, m->row);
	return r;
}

void changed_hidden(struct fs *fs, const struct place *file)
{
	struct changer w = changer_file(fs, file);
	struct change c = {.op = CHANGE_DELETE,
			   .family = file->family,
			   .qualifier = file->qualifier,
			   .ts = file->ts,
			   .ts_given = file->ts};
	struct mutation m = {.row = file->row, .changes = &c, .nchanges = 1};

	changes_row(&fs->changes, file->row);
	tell(&w, &m, false);
}

void changed_rows_before(struct fs *fs, struct table *t,
			 const struct mutation *rows, size_t n)
{
	struct changer w;
	size_t i = 0;
	bool known;

	changed_begin(fs, t, rows, n);
	while (i < n && !(acts_of(&rows[i]) & DELETES))
		i++;
	if (i == n)
		return;
	known = changer_program(fs, t, &w);
	for (; i < n; i++)
		if (known)
			changed_before(&w, &rows[i]);
		else if (acts_of(&rows[i]) & DELETES)
			overlay_delete_begin(fs->overlay, rows[i].row);
	if (known)
		fstable_unref(w.table);
}

void changed_rows(struct fs *fs, struct table *t, const struct mutation *rows,
		  size_t n)
{
	struct changer w;
	bool known = changer_program(fs, t, &w);

	for (size_t i = 0; i < n; i++)
		if (known)
			changed_after(&w, &rows[i], 0, true);
		else if (acts_of(&rows[i]) & DELETES)
			overlay_delete_end(fs->overlay, rows[i].row);
	changed_end(fs, t, rows, n);
	if (!known)
		return;
	fstable_unref(w.table);
	invalidate_wait(fs->invalidator, 0);
}

bool changed_entries_later(struct fs *fs, uint64_t dir)
{
	uint64_t twin;

	set_time(fs, dir);
	scratch_touch(fs->writes->scratch, dir);
	if (!nodes_outside_put(fs->nodes, dir, &twin))
		return false;
	invalidate_inode(fs->invalidator, twin, false);
	return true;
}

void changed_entries(struct fs *fs, uint64_t dir)
{
	if (changed_entries_later(fs, dir))
		changed_wait(fs);
}

void changed_directory(struct fs *fs, const struct place *dir)
{
	struct changes_dir names = place_changes(dir);
	struct changer w;
	struct spot row;
	uint64_t twin;

	if (!dir->row.len) {
		changes_all(&fs->changes);
		return;
	}
	changes_in(&fs->changes, &names);
	if (!dir->put)
		return;
	w = changer_at(fs, dir);
	row = (struct spot){.node = w.node};
	go(&w, &row, dir->row, false);
	if (fs_rows_believed_absent(fs))
		invalidate_entry(fs->invalidator, row.dir, text_of(&row.part));
	if (nodes_outside_put(fs->nodes, dir->parent, &twin))
		invalidate_entry(fs->invalidator, twin, bytes_str(dir->name));
}

/* May the kernel have pages of the file? A scratch file is read past them. */
static bool has_pages(struct fs *fs, const struct place *file)
{
	return file->kind == NODE_SCHEMA ||
	       (!place_is_dir(file) && nodes_cached(fs->nodes, file->node));
}

void changed_name(struct fs *fs, const struct place *from,
		  const struct place *to)
{
	changes_row(&fs->changes, from->row);
	changes_row(&fs->changes, to->row);
	if (!from->node)
		return;
	/* A version, or F:Q, has other attributes by its new name. */
	invalidate_now(fs->invalidator, from->node);
	if (has_pages(fs, from) || to->kind == NODE_SCHEMA)
		invalidate_inode(fs->invalidator, from->node, true);
}

void changed_wait(struct fs *fs)
{
	invalidate_wait(fs->invalidator, NOTICE_WAIT_MS);
}

void changed_wait_put(struct fs *fs, const struct place *file)
{
	if (file->put)
		changed_wait(fs);
}
