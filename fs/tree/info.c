#include "fs/tree/info.h"

#include "fs/text/name.h"
#include "fs/tree/fs.h"

/* How a figure is said. */
enum {
	ROW,	  /* no figure: the first row, or reversed the last */
	COUNT,	  /* it is known */
	ESTIMATE, /* unless table_info.exact */
	TIME,	  /* the same; none without cells */
};

static int figure_text(const struct info_file *f, struct table *t,
		       struct buf *out)
{
	struct table_info i;
	uint64_t n;
	int r = table_info(t, &i);

	if (r < 0)
		return r;
	if (f->kind == TIME && i.cells == 0)
		return buf_append(out, "\n", 1);
	memcpy(&n, (const char *)&i + f->at, sizeof(n));
	return buf_printf(out, "%s%llu\n",
			  f->kind == COUNT || i.exact ? "" : "~",
			  (unsigned long long)n);
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

int info_text(const struct info_file *f, struct table *t, struct buf *out)
{
	return f->kind == ROW ? end_text(t, f->reversed, out)
			      : figure_text(f, t, out);
}

#define FIGURE(member, is)                                                     \
	{                                                                      \
#member, .kind = is, .at = offsetof(struct table_info, member) \
	}

/* In byte order of name. */
static const struct info_file files[] = {
	FIGURE(bytes, COUNT),	FIGURE(cells, ESTIMATE),
	FIGURE(damaged, COUNT), FIGURE(files, COUNT),
	{"first", .kind = ROW}, {"last", .kind = ROW, .reversed = true},
	FIGURE(newest, TIME),	FIGURE(oldest, TIME),
	FIGURE(rows, ESTIMATE),
};

#define FILES (sizeof(files) / sizeof(files[0]))

const char *info_name(const struct fs *fs, uint64_t i)
{
	if (i >= FILES)
		return NULL;
	return files[i].kind == ROW || store_can(fs->store, CAN_TELL_INFO)
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
