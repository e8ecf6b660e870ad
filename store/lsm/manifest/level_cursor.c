/*
 * A cursor over one deeper level: its files one behind the other.
 *
 *	     [a .. c]   [f .. k]   [m .. z]
 *	seek "d"  ──────▶ f		the first file that ends at or after it
 *	next_row of k  ────────────▶ m	the file behind
 *	prev_row of f  ◀── c		the file in front
 *
 * One file is open at a time. Rows do not span files, so what moves inside a
 * row is the file's own cursor's affair.
 */
#include "store/lsm/manifest/levels.h"

static struct level_cursor *level_cursor_of(struct cursor *c)
{
	return (struct level_cursor *)c;
}

static void leave(struct level_cursor *c)
{
	if (c->open)
		cursor_close(&c->in.base);
	c->open = false;
}

static void enter(struct level_cursor *c, uint32_t file)
{
	if (c->open && c->file == file)
		return;
	leave(c);
	sst_cursor(c->level->files[file], &c->in);
	c->in.no_fill = c->no_fill;
	c->file = file;
	c->open = true;
}

/* Shows where the file's cursor stands. */
static int show(struct level_cursor *c, int r)
{
	if (r > 0) {
		c->base.row = c->in.base.row;
		c->base.at = c->in.base.at;
	}
	return r;
}

/* To the first row of the first file from @file on that has one. */
static int first_from(struct level_cursor *c, uint32_t file)
{
	int r = 0;

	for (; r == 0 && file < c->level->nfiles; file++) {
		enter(c, file);
		r = cursor_seek_row(&c->in.base, bytes_of(NULL, 0));
	}
	return show(c, r);
}

/* To the last row of the last file below @file that has one. */
static int last_before(struct level_cursor *c, uint32_t file)
{
	int r = 0;

	while (r == 0 && file-- > 0) {
		enter(c, file);
		r = cursor_seek_back(&c->in.base, bytes_of(NULL, 0), true);
	}
	return show(c, r);
}

static int seek_row(struct cursor *base, struct bytes row)
{
	struct level_cursor *c = level_cursor_of(base);
	uint32_t file = levels_find(c->level, row);
	int r;

	if (file == c->level->nfiles)
		return 0;
	enter(c, file);
	r = cursor_seek_row(&c->in.base, row);
	return r ? show(c, r) : first_from(c, file + 1);
}

static int seek_exact(struct cursor *base, struct bytes row)
{
	struct level_cursor *c = level_cursor_of(base);
	uint32_t file = levels_find(c->level, row);

	if (file == c->level->nfiles)
		return 0;
	/* The gap in front of the file; inside it, its filter is asked. */
	if (bytes_cmp(row, sst_row_min(c->level->files[file])) < 0)
		return 0;
	enter(c, file);
	return show(c, cursor_seek_exact(&c->in.base, row));
}

static int seek_back(struct cursor *base, struct bytes row, bool inclusive)
{
	struct level_cursor *c = level_cursor_of(base);
	uint32_t file;
	int r;

	if (!row.len)
		return last_before(c, c->level->nfiles);
	file = levels_find(c->level, row);
	if (file == c->level->nfiles)
		return last_before(c, file);
	enter(c, file);
	r = cursor_seek_back(&c->in.base, row, inclusive);
	return r ? show(c, r) : last_before(c, file);
}

static int next_row(struct cursor *base)
{
	struct level_cursor *c = level_cursor_of(base);
	int r = cursor_next_row(&c->in.base);

	return r ? show(c, r) : first_from(c, c->file + 1);
}

static int prev_row(struct cursor *base)
{
	struct level_cursor *c = level_cursor_of(base);
	int r = cursor_prev_row(&c->in.base);

	return r ? show(c, r) : last_before(c, c->file);
}

static int next(struct cursor *base)
{
	struct level_cursor *c = level_cursor_of(base);

	return show(c, cursor_next(&c->in.base));
}

static int seek_cell(struct cursor *base, struct bytes qualifier, int64_t ts,
		     uint8_t kind)
{
	struct level_cursor *c = level_cursor_of(base);

	return show(c, cursor_seek_cell(&c->in.base, qualifier, ts, kind));
}

static struct piece *piece(struct cursor *base)
{
	return cursor_piece(&level_cursor_of(base)->in.base);
}

static void close_cursor(struct cursor *base)
{
	leave(level_cursor_of(base));
}

static const struct cursor_ops level_cursor_ops = {
	.seek_row = seek_row,
	.seek_exact = seek_exact,
	.seek_back = seek_back,
	.next_row = next_row,
	.prev_row = prev_row,
	.next = next,
	.seek_cell = seek_cell,
	.piece = piece,
	.close = close_cursor,
};

void level_cursor(const struct level *l, struct level_cursor *c)
{
	/*
	 * Not all of it: a file's cursor is large, and is made when a file is
	 * entered.
	 */
	c->base = (struct cursor){.ops = &level_cursor_ops};
	c->level = l;
	c->file = 0;
	c->open = false;
	c->no_fill = false;
}
