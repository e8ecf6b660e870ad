#include "fs/tree/info.h"

#include "fs/text/name.h"
#include "fs/tree/fs.h"

static int say_number(struct buf *out, bool exact, uint64_t n)
{
	return buf_printf(out, "%s%llu\n", exact ? "" : "~",
			  (unsigned long long)n);
}

static int bytes_text(struct table *t, struct buf *out)
{
	struct table_info i;
	int r = table_info(t, &i);

	return r < 0 ? r : say_number(out, true, i.bytes);
}

static int cells_text(struct table *t, struct buf *out)
{
	struct table_info i;
	int r = table_info(t, &i);

	return r < 0 ? r : say_number(out, i.exact, i.cells);
}

static int files_text(struct table *t, struct buf *out)
{
	struct table_info i;
	int r = table_info(t, &i);

	return r < 0 ? r : say_number(out, true, i.files);
}

static int damaged_text(struct table *t, struct buf *out)
{
	struct table_info i;
	int r = table_info(t, &i);

	return r < 0 ? r : say_number(out, true, i.damaged);
}

static int rows_text(struct table *t, struct buf *out)
{
	struct table_info i;
	int r = table_info(t, &i);

	return r < 0 ? r : say_number(out, i.exact, i.rows);
}

static int say_time(struct buf *out, const struct table_info *i, int64_t ts)
{
	if (i->cells == 0)
		return buf_append(out, "\n", 1);
	return say_number(out, i->exact, (uint64_t)ts);
}

static int oldest_text(struct table *t, struct buf *out)
{
	struct table_info i;
	int r = table_info(t, &i);

	return r < 0 ? r : say_time(out, &i, i.oldest);
}

static int newest_text(struct table *t, struct buf *out)
{
	struct table_info i;
	int r = table_info(t, &i);

	return r < 0 ? r : say_time(out, &i, i.newest);
}

/* The key as a path in the table: a long one has several components. */
static int say_row(struct buf *out, struct bytes key)
{
	struct name_part part = {.more = true};
	int r = 0;

	for (size_t at = 0; r == 0 && part.more; at = part.next) {
		name_part(key, at, &part);
		r = buf_append(out, part.text, part.len);
		if (r == 0)
			r = buf_append(out, part.more ? "/" : "\n", 1);
	}
	return r;
}

static int end_text(struct table *t, bool reversed, struct buf *out)
{
	struct scan_spec spec = {
		.granularity = SCAN_ROWS,
		.keys_only = true,
		.reversed = reversed,
		.limit_rows = 1,
	};
	struct scan *sc;
	struct cell cell;
	int r = scan_open(t, &spec, &sc);

	if (r < 0)
		return r;
	r = scan_next(sc, &cell);
	if (r > 0)
		r = say_row(out, cell.row);
	else if (r == 0)
		r = buf_append(out, "\n", 1);
	scan_close(sc);
	return r;
}

static int first_text(struct table *t, struct buf *out)
{
	return end_text(t, false, out);
}

static int last_text(struct table *t, struct buf *out)
{
	return end_text(t, true, out);
}

/* In byte order of name. */
static const struct info_file files[] = {
	{"bytes", true, bytes_text},	 {"cells", true, cells_text},
	{"damaged", true, damaged_text}, {"files", true, files_text},
	{"first", false, first_text},	 {"last", false, last_text},
	{"newest", true, newest_text},	 {"oldest", true, oldest_text},
	{"rows", true, rows_text},
};

#define FILES (sizeof(files) / sizeof(files[0]))

const char *info_name(const struct fs *fs, uint64_t i)
{
	if (i >= FILES)
		return NULL;
	return !files[i].of_info || store_can(fs->store, CAN_TELL_INFO)
		       ? files[i].name
		       : "";
}

const struct info_file *info_find(struct bytes name)
{
	for (size_t i = 0; i < FILES; i++)
		if (bytes_eq(name, bytes_str(files[i].name)))
			return &files[i];
	return NULL;
}
