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

static int take(struct fs *fs, const struct place *p, struct bytes text,
		bool again, bool dry)
{
	struct schema now = {0};
	struct alter a = {0};
	unsigned flags = (again ? ALTER_GONE : 0) |
			 (fs->options->nodelete ? ALTER_SPARE : 0);
	int r = fstable_schema(p->table, &now);

	if (r < 0)
		return r;
	/* Line by line, a text that hides nothing must not seem to. */
	r = alter_parse(text, &now, flags, &a);
	a.dry = dry;
	if (r == 0)
		r = table_change(fstable_table(p->table), &a);
	if (r == 0 && !dry)
		changed_schema(fs, p->table, p->parent, true);
	alter_free(&a);
	schema_free(&now);
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
	return text.len ? take(fs, p, text, e->applied, true) : 0;
}

int schema_file_apply(struct fs *fs, const struct place *p, struct bytes text,
		      bool again)
{
	if (!text.len)
		return why(-EINVAL, "an empty .schema changes nothing");
	return take(fs, p, text, again, false);
}

int schema_file_owner(struct fs *fs, const struct place *table,
		      const struct stat *attr, int set)
{
	struct schema s = {0};
	int r = fstable_schema(table->table, &s);

	if (r < 0)
		return r;
	if (set & FUSE_SET_ATTR_MODE)
		s.mode = attr->st_mode & 07777;
	if (set & FUSE_SET_ATTR_UID)
		s.uid = attr->st_uid;
	if (set & FUSE_SET_ATTR_GID)
		s.gid = attr->st_gid;
	r = table_alter(fstable_table(table->table), &s, false);
	if (!r)
		changed_schema(fs, table->table, table->node, false);
	schema_free(&s);
	return r;
}
