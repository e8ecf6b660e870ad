#include "fs/files/schema_file.h"

#include <errno.h>

#include "fs/change/changed.h"

/* Whatever copies a file in parts writes parts of a multiple of this. */
#define PART_BYTES 512

void schema_edit_wrote(struct schema_edit *e, uint64_t off, size_t len)
{
	if (off > e->front)
		e->patched = true;
	else if (off + len > e->front)
		e->front = off + len;
}

void schema_edit_truncated(struct schema_edit *e, uint64_t len)
{
	if (len > e->front)
		e->patched = true;
	else
		e->front = len;
	if (!len)
		e->patched = false;
}

struct bytes schema_edit_text(const struct schema_edit *e, struct bytes draft)
{
	if (!e->patched && draft.len > e->front)
		draft.len = (size_t)e->front;
	return draft;
}

/* The table becomes what a text says. */
struct text_edit {
	struct fs *fs;
	uid_t by;
	struct bytes text;
	/* Gives the text, of the schema of the moment; NULL: it is there. */
	int (*make)(void *arg, struct bytes *text);
	void *arg;
	unsigned flags; /* of alter_parse() */
	bool dry;
};

/* May who has written the text do so? */
static int check_by(const struct text_edit *e, const struct schema *now,
		    const struct schema *to)
{
	const struct fstable_owner own = {now->mode, now->uid, now->gid};
	bool owner = place_is_owner(e->fs, &own, e->by);

	if (!place_is_master(e->fs, e->by) &&
	    (to->uid != now->uid || to->gid != now->gid))
		return why(-EPERM, "only root and the user who mounted the "
				   "store change uid and gid: leave out these "
				   "lines");
	if (!owner && to->mode != now->mode)
		return why(-EPERM, "only the table's owner changes its mode");
	if (!owner && place_is_sticky(e->fs, &own))
		return why(-EPERM, "the table has the sticky bit: only its "
				   "owner changes its schema");
	return 0;
}

static int edit_by_text(void *arg, const struct schema *now, struct alter *a)
{
	struct text_edit *e = arg;
	int r = e->make ? e->make(e->arg, &e->text) : 0;

	if (r == 0)
		r = alter_parse(e->text, now, e->flags, a);
	if (r == 0)
		r = check_by(e, now, &a->to);
	a->dry = e->dry;
	return r;
}

static int take(struct fs *fs, const struct place *p, struct text_edit *e,
		const struct schema_edit *edit)
{
	int r;

	e->fs = fs;
	e->by = edit->by;
	e->flags = edit->applied ? ALTER_GONE : 0;
	/* Line by line, a text that hides nothing must not seem to. */
	if (fs->options->nodelete)
		e->flags |= ALTER_SPARE;
	r = table_edit(fstable_table(p->table), edit_by_text, e);
	if (r == 0 && !e->dry) {
		schema_absent_written(&fs->schema_absent, fstable_id(p->table));
		changed_schema(fs, p->parent);
	}
	return r;
}

int schema_file_check(struct fs *fs, const struct place *p,
		      const struct schema_edit *edit, struct bytes draft)
{
	struct text_edit e = {
		.text = schema_edit_text(edit, draft),
		.dry = true,
	};

	/* A part may end anywhere; its last line is judged with the next. */
	if (e.text.len % PART_BYTES == 0)
		while (e.text.len && e.text.data[e.text.len - 1] != '\n')
			e.text.len--;
	return e.text.len ? take(fs, p, &e, edit) : 0;
}

int schema_file_apply(struct fs *fs, const struct place *p, struct bytes text,
		      const struct schema_edit *edit)
{
	struct text_edit e = {.text = text};

	return take(fs, p, &e, edit);
}

int schema_file_apply_made(struct fs *fs, const struct place *p,
			   int (*make)(void *arg, struct bytes *text),
			   void *arg, const struct schema_edit *edit)
{
	struct text_edit e = {.make = make, .arg = arg};

	return take(fs, p, &e, edit);
}

/* chmod and chown. */
struct owner_edit {
	const struct stat *attr;
	int set;
};

static int edit_owner(void *arg, const struct schema *now, struct alter *a)
{
	const struct owner_edit *e = arg;
	int r = schema_copy(&a->to, now);

	if (e->set & FUSE_SET_ATTR_MODE)
		a->to.mode = e->attr->st_mode & 07777;
	if (e->set & FUSE_SET_ATTR_UID)
		a->to.uid = e->attr->st_uid;
	if (e->set & FUSE_SET_ATTR_GID)
		a->to.gid = e->attr->st_gid;
	return r;
}

int schema_file_owner(struct fs *fs, const struct place *table,
		      const struct stat *attr, int set)
{
	struct owner_edit e = {attr, set};
	int r = table_edit(fstable_table(table->table), edit_owner, &e);

	if (!r)
		changed_schema(fs, table->node);
	return r;
}
