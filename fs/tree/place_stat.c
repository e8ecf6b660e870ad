/*
 * The attributes of places: does it exist, how large, how long may the kernel
 * believe it.
 */
#include <errno.h>

#include <xxhash.h>

#include "fs/tree/control_file.h"
#include "fs/tree/dir_scan.h"
#include "fs/tree/fs.h"
#include "fs/tree/place_inside.h"
#include "fs/tree/view.h"

uint64_t place_child_ino(uint64_t dir_ino, struct bytes name)
{
	uint64_t ino = XXH3_64bits_withSeed(name.data, name.len, dir_ino);

	return ino > 1 ? ino : ino + 2;
}

uint64_t place_table_ino(const struct fstable *ft)
{
	uint64_t id = fstable_id(ft);

	return place_child_ino(FUSE_ROOT_ID, bytes_of(&id, sizeof(id)));
}

static void set_times(struct stat *st, int64_t ms)
{
	struct timespec t = {.tv_sec = ms / 1000,
			     .tv_nsec = ms % 1000 * 1000000};

	st->st_atim = st->st_mtim = st->st_ctim = t;
}

void place_stat_size(struct stat *st, uint64_t size)
{
	st->st_size = (off_t)size;
	st->st_blocks = (blkcnt_t)((size + 511) / 512);
}

void place_stat_force(const struct fs *fs, struct stat *st)
{
	const struct options *o = fs->options;
	mode_t all = S_ISDIR(st->st_mode) ? 0777 : 0666;

	if (o->has_uid)
		st->st_uid = o->uid;
	if (o->has_gid)
		st->st_gid = o->gid;
	if (o->has_umask)
		st->st_mode = (st->st_mode & S_IFMT) | (all & ~o->umask);
}

bool place_is_master(const struct fs *fs, uid_t who)
{
	return who == 0 || who == fs->uid;
}

bool place_is_owner(const struct fs *fs, const struct fstable_owner *own,
		    uid_t who)
{
	const struct options *o = fs->options;

	return place_is_master(fs, who) ||
	       who == (o->has_uid ? o->uid : own->uid);
}

bool place_is_sticky(const struct fs *fs, const struct fstable_owner *own)
{
	return own->mode & S_ISVTX && !fs->options->has_umask;
}

/* Kind, owner, mode and that time; what the options force comes last. */
static int stat_begin(struct fs *fs, const struct place *p, int64_t ms,
		      struct stat *st)
{
	struct fstable_owner own = {0755, fs->uid, fs->gid};
	bool dir = place_is_dir(p);
	int r;

	if (p->table) {
		r = fstable_owner(p->table, &own);
		if (r < 0)
			return r == -ENOENT ? 0 : r;
	} else if (p->kind == NODE_CONTROL_DIR || p->kind == NODE_CONTROL) {
		own.mode = p->control && p->control->writable ? 0755 : 0555;
	}
	*st = (struct stat){
		.st_ino = p->ino,
		.st_mode = dir ? S_IFDIR | (own.mode & 07777)
			       : S_IFREG | (own.mode & 0666),
		.st_nlink = 1,
		.st_uid = own.uid,
		.st_gid = own.gid,
		.st_blksize = 4096,
	};
	place_stat_force(fs, st);
	if (p->kind == NODE_INFO_DIR || p->kind == NODE_INFO)
		st->st_mode &= S_IFMT | 0555;
	/* The options for owner and mode do not hold for such a file. */
	if (p->kind == NODE_CONTROL && p->control->private) {
		st->st_mode = S_IFREG | p->control->private;
		st->st_uid = fs->uid;
		st->st_gid = fs->gid;
	}
	set_times(st, ms);
	if (dir)
		dir_times_show(&fs->dir_times, st);
	return 1;
}

int place_stat_blank(struct fs *fs, const struct place *p, struct stat *st)
{
	return stat_begin(fs, p, fs->start_ms, st);
}

int place_stat_cell(struct fs *fs, const struct place *p,
		    const struct cell *cell, struct stat *st)
{
	int r = stat_begin(fs, p, cell->ts, st);

	if (r > 0 && S_ISREG(st->st_mode)) {
		place_stat_size(st, cell->value.len);
		fs_saw_value(fs, cell->value.len);
	}
	return r;
}

int stat_nothing(struct fs *fs, const struct place *p, struct stat *st)
{
	return 0;
}

int stat_schema(struct fs *fs, const struct place *p, struct stat *st)
{
	int64_t changed_ms = fstable_changed_ms(p->table);
	struct schema schema = {0};
	struct buf text = {0};
	int r = fstable_schema(p->table, &schema);

	if (r == 0)
		r = schema_format(&schema, &text);
	if (r == 0)
		r = place_stat_blank(fs, p, st);
	if (r > 0) {
		place_stat_size(st, text.len);
		/*
		 * A schema that nobody wrote is older than any that is copied
		 * there.
		 */
		if (schema_is_plain(&schema))
			set_times(st, 0);
		else if (changed_ms)
			set_times(st, changed_ms);
	}
	schema_free(&schema);
	buf_free(&text);
	return r;
}

int stat_table(struct fs *fs, const struct place *p, struct stat *st)
{
	const struct snapshot *snap = fstable_snapshot(p->table);
	int r = place_stat_blank(fs, p, st);

	if (r > 0 && snap)
		set_times(st, snapshot_taken_ms(snap));
	return r;
}

/* Attributes of a directory that is there when @r is 1. */
static int stat_found(struct fs *fs, const struct place *p, int r,
		      struct stat *st)
{
	return r > 0 ? place_stat_blank(fs, p, st) : r;
}

/* Does the place show something else than what the table has now? */
static bool is_restricted(const struct place *p)
{
	return p->view || fstable_snapshot(p->table);
}

int stat_row(struct fs *fs, const struct place *p, struct stat *st)
{
	int r = 1;

	if (is_restricted(p))
		r = view_has(p);
	else if (!p->put)
		r = table_has_row(fstable_table(p->table), p->row);
	return stat_found(fs, p, r, st);
}

int stat_family(struct fs *fs, const struct place *p, struct stat *st)
{
	int r = is_restricted(p) ? view_has(p)
				 : table_has_family(fstable_table(p->table),
						    p->row, p->family);

	return stat_found(fs, p, r, st);
}

/* A part of a long key exists when a key continues it. */
int stat_piece(struct fs *fs, const struct place *p, struct stat *st)
{
	struct dir_scan s = {.fs = fs, .dir = p, .level = p->kind};
	struct dir_position start = {0};
	bool some;
	int r;

	/* In .put every row exists, but in a row only what the store has. */
	if (p->put && p->kind == NODE_ROW_PIECE)
		return place_stat_blank(fs, p, st);
	r = dir_scan_fetch(&s, &start);
	some = s.have;
	if (r == 0 && !some)
		r = dir_scan_damage(&s);
	dir_scan_end(&s);
	return stat_found(fs, p, r < 0 ? r : some, st);
}

int place_get(const struct place *p, struct cell *cell, struct buf *hold)
{
	struct table *t = fstable_table(p->table);
	const struct snapshot *snap = fstable_snapshot(p->table);

	if (p->view || p->kind == NODE_PAST)
		return view_get(p, cell, hold);
	if (p->kind == NODE_VERSION)
		return table_get_version(t, p->row, p->family, p->qualifier,
					 p->ts, snap, cell, hold);
	return table_get(t, p->row, p->family, p->qualifier, TS_MAX, snap, cell,
			 hold);
}

int stat_cell(struct fs *fs, const struct place *p, struct stat *st)
{
	struct cell cell;
	int r = place_get(p, &cell, NULL);

	return r > 0 ? place_stat_cell(fs, p, &cell, st) : r;
}

/* Is the snapshot of the whole store there? */
int stat_snapshot(struct fs *fs, const struct place *p, struct stat *st)
{
	struct snapshot *snap;
	int r = place_snapshot_open(fs, NULL, bytes_str(p->name), &snap);

	if (r < 0)
		return r == -EINVAL ? 0 : r;
	r = place_stat_blank(fs, p, st);
	if (r > 0)
		set_times(st, snapshot_taken_ms(snap));
	snapshot_release(snap);
	return r;
}

int place_stat(struct fs *fs, const struct place *p, struct stat *st)
{
	int r = kind_of(p->kind)->stat(fs, p, st);

	return r == -ENOENT ? 0 : r;
}

int64_t place_mtime_ms(const struct stat *st)
{
	int64_t ms;

	/* A scratch file has what time its owner gives it. */
	if (__builtin_mul_overflow(st->st_mtim.tv_sec, 1000, &ms) ||
	    __builtin_add_overflow(ms, st->st_mtim.tv_nsec / 1000000, &ms))
		return st->st_mtim.tv_sec < 0 ? -INT64_MAX : INT64_MAX;
	return ms;
}

/* A version is not believed longer than its TTL lets it live. */
static double version_life_s(struct fs *fs, const struct place *p,
			     const struct stat *st)
{
	struct family_attrs a;
	int64_t left_ms;

	if (fstable_expires(p->table) == FSTABLE_CELL_TTL ||
	    fstable_family(p->table, p->family, &a) <= 0)
		return 0;
	if (a.ttl_ms == TTL_FOREVER || a.ttl_ms > (uint64_t)TS_MAX)
		return CACHE_LONG_S;
	if (__builtin_add_overflow(place_mtime_ms(st), (int64_t)a.ttl_ms,
				   &left_ms) ||
	    __builtin_sub_overflow(left_ms, store_now_ms(fs->store), &left_ms))
		return CACHE_LONG_S;
	if (left_ms <= 0)
		return 0;
	return left_ms < CACHE_LONG_S * 1000 ? (double)left_ms / 1000
					     : CACHE_LONG_S;
}

/*
 * For how long cells will not expire: a directory goes with its last cell,
 * whichever that is.
 */
static double life_s(struct fs *fs, const struct place *p,
		     const struct stat *st, bool version)
{
	/* In a shared store what expires goes as what others delete. */
	if (!p->table || store_is_shared(fs->store) ||
	    fstable_expires(p->table) == 0)
		return CACHE_LONG_S;
	return version ? version_life_s(fs, p, st) : 0;
}

static double belief_s(struct fs *fs, const struct place *p,
		       const struct stat *st, uint8_t belief)
{
	double life;

	switch (belief) {
	case BELIEVE_SECOND:
		return 1;
	case BELIEVE_ROW:
		return fs_row_absent(fs);
	case BELIEVE_LONG:
		return CACHE_LONG_S;
	case BELIEVE_CELLS:
	case BELIEVE_VERSION:
		life = life_s(fs, p, st, belief == BELIEVE_VERSION);
		/*
		 * No notice of a change reaches the views of what was changed,
		 * so the kernel asks again each second.
		 */
		return p->view && life > 1 ? 1 : life;
	case BELIEVE_NEWEST:
		if (p->view || store_is_shared(fs->store) || !fs->forgets_names)
			return 0;
		return life_s(fs, p, st, true);
	}
	return 0;
}

static double believed_s(struct fs *fs, const struct place *p,
			 const struct stat *st, uint8_t belief)
{
	double s = belief_s(fs, p, st, belief);

	/* Nobody tells of what others change. */
	if (store_is_shared(fs->store) && s > fs->options->attr_timeout_s)
		return fs->options->attr_timeout_s;
	return s;
}

double place_attr_timeout(struct fs *fs, const struct place *p,
			  const struct stat *st)
{
	/* A dead daemon's root is not to look alive for long. */
	if (p->node == FUSE_ROOT_ID)
		return believed_s(fs, p, st, BELIEVE_SECOND);
	if (p->put || (p->kind == NODE_TABLE &&
		       schema_absent_is_asked(&fs->schema_absent, p->table)))
		return 0;
	return believed_s(fs, p, st, kind_of(p->kind)->believed.attributes);
}

void place_timeouts(struct fs *fs, const struct place *p, const struct stat *st,
		    double *entry, double *attr)
{
	const struct kind *kind = kind_of(p->kind);

	*attr = place_attr_timeout(fs, p, st);
	if (p->put)
		*entry = 0;
	else if (kind->believed.entry == kind->believed.attributes &&
		 p->kind != NODE_TABLE)
		*entry = *attr;
	else
		*entry = believed_s(fs, p, st, kind->believed.entry);
}

double place_negative_timeout(struct fs *fs, const struct place *p)
{
	if (p->view || p->put || store_is_shared(fs->store))
		return 0;
	return believed_s(fs, p, NULL, kind_of(p->kind)->believed.absent);
}
