#include "fs/schema_file.h"

#include <errno.h>
#include <stdio.h>

#define SENTENCE_MAX 512

/* Parses as if @text were the whole file. Free *out with schema_free(). */
static int parse(const struct schema *now, struct bytes text,
		 struct schema *out)
{
	struct schema defaults = *now;

	defaults.fixed = true;
	return schema_parse(text, &defaults, out);
}

/*
 * Lines of one family can make sense only together (min_versions 5 wants a
 * versions line that may be still to come), so before a beginning is refused
 * it gets the most generous end.
 */
int schema_file_check(struct fs *fs, const struct place *p, struct bytes text)
{
	static const char generous[] = "versions all\n";
	char sentence[SENTENCE_MAX];
	struct schema now = {0}, new = {0};
	struct buf whole = {0};
	int r;

	while (text.len && text.data[text.len - 1] != '\n')
		text.len--;
	r = fstable_schema(p->table, &now);
	if (r < 0)
		return r;
	r = parse(&now, text, &new);
	if (r != -EINVAL)
		goto out;
	snprintf(sentence, sizeof(sentence), "%s", store_why());
	if (!buf_set(&whole, text) &&
	    !buf_append(&whole, generous, sizeof(generous) - 1) &&
	    !parse(&now, buf_bytes(&whole), &new))
		r = 0;
	else
		r = why(-EINVAL, "%s", sentence);
out:
	buf_free(&whole);
	schema_free(&new);
	schema_free(&now);
	return r;
}

int schema_file_apply(struct fs *fs, const struct place *p, struct bytes text)
{
	struct schema now = {0}, new = {0};
	int r;

	if (!text.len)
		return why(-EINVAL, "an empty .schema changes nothing");
	r = fstable_schema(p->table, &now);
	if (r < 0)
		return r;
	r = parse(&now, text, &new);
	if (!r && !schema_equal(&now, &new)) {
		r = table_alter(fstable_table(p->table), &new, false);
		if (!r)
			fs_table_changed(fs, p->parent);
	}
	schema_free(&new);
	schema_free(&now);
	return r;
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
		fs_table_changed(fs, table->node);
	schema_free(&s);
	return r;
}
