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

static uint64_t version_of(const struct place *p)
{
	return table_schema_version(fstable_table(p->table));
}

static int take(struct fs *fs, const struct place *p, struct bytes text,
		bool again, bool dry, uint64_t version)
{
	struct schema now = {0};
	struct alter a = {0};
	unsigned flags = (again ? ALTER_GONE : 0) |
			 (fs->options->nodelete ? ALTER_SPARE : 0);
	int r;

	if (!text.len)
		return why(-EINVAL, "an empty .schema changes nothing");
	r = fstable_schema(p->table, &now);
	if (r < 0)
		return r;
	/* Line by line, a text that hides nothing must not seem to. */
	r = alter_parse(text, &now, flags, &a);
	a.dry = dry;
	if (r == 0)
		r = table_change_from(fstable_table(p->table), &a, version);
	if (r == 0 && !dry)
		changed_schema(fs, p->table, p->parent, true);
	alter_free(&a);
	schema_free(&now);
	return r;
}

/* Again when somebody else was first: what stays is of what is there by then. */
static int take_now(struct fs *fs, const struct place *p, struct bytes text,
		    bool again, bool dry)
{
	int r;

	do
		r = take(fs, p, text, again, dry, version_of(p));
	while (r == -EAGAIN);
	return r;
}

int schema_file_check(struct fs *fs, const struct place *p,
		      const struct schema_edit *e, struct bytes draft)
{
	struct bytes text = schema_edit_text(e, draft);

	/* A part may end anywhere; its last line is judged with the next. */
	if (text.len % PART_BYTES == 0)
		while (text.len && text.data[text.len - 1] != '\n')
			text.len--;
	return text.len ? take_now(fs, p, text, e->applied, true) : 0;
}

int schema_file_apply_to(struct fs *fs, const struct place *p,
			 struct bytes text, bool again, uint64_t version)
{
	return take(fs, p, text, again, false, version);
}

int schema_file_apply(struct fs *fs, const struct place *p, struct bytes text,
		      bool again)
{
	return take_now(fs, p, text, again, false);
}

static int set_owner(const struct place *table, const struct stat *attr,
		     int set)
{
	struct alter a = {.rest = ALTER_REFUSE};
	uint64_t version = version_of(table);
	int r = fstable_schema(table->table, &a.to);

	if (r < 0)
		return r;
	if (set & FUSE_SET_ATTR_MODE)
		a.to.mode = attr->st_mode & 07777;
	if (set & FUSE_SET_ATTR_UID)
		a.to.uid = attr->st_uid;
	if (set & FUSE_SET_ATTR_GID)
		a.to.gid = attr->st_gid;
	r = table_change_from(fstable_table(table->table), &a, version);
	alter_free(&a);
	return r;
}

int schema_file_owner(struct fs *fs, const struct place *table,
		      const struct stat *attr, int set)
{
	int r;

	do
		r = set_owner(table, attr, set);
	while (r == -EAGAIN);
	if (!r)
		changed_schema(fs, table->table, table->node, false);
	return r;
}
