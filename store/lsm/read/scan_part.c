/*
 * Parts: cells of one row that a scan takes from a block itself.
 *
 * As a run, where a row fills several blocks or one column is asked for:
 *
 *	block 1	| ... p | q 90 q 80 q 70 |
 *	block 2	| q 60 q 50 ... | r | next row
 *
 * Each part ends where the block, the column or the row does. The next one
 * goes on if its first cell is no second version, hidden or one too many, of
 * what was handed out last. Where a block has something that needs thought,
 * the row is entered anew and walked from behind the last cell on.
 */
#include "store/lsm/read/strips.h"

#include <errno.h>

#include "store/lsm/table/block.h"

static struct bytes only_name(const struct family_scan *f)
{
	return f->columns.names[0];
}

/* The reader stands on the first cell of what becomes the run. */
static void take_part(struct lsm_scan *sc, const struct block_part *p)
{
	sc->run.block = p->block;
	sc->run.part = true;
	sc->run.cell = p->cell;
	sc->run.cell_end = p->end;
	sc->run.key_at = 0;
	scan_run_names(sc, p->block, p->end - p->cell);
}

int scan_part_begin(struct lsm_scan *sc, struct family_scan *f, bool *known)
{
	struct cursor *c = reader_cursor(&f->reader);
	struct block_part part;
	bool all;
	int r;

	*known = false;
	/* Is there no family marker? They come first. */
	if (!sc->may_part || reader_part(&f->reader, &part, &all) <= 0)
		return 0;
	if (f->restricted) {
		r = cursor_seek_column(c, only_name(f), INT64_MAX);
		*known = r <= 0 || !bytes_eq(c->at.qualifier, only_name(f));
		if (*known)
			return r < 0 ? r : 0;
		if (reader_part(&f->reader, &part, &all) <= 0)
			return 0;
	}
	*known = true;
	take_part(sc, &part);
	return 1;
}

/* Walks the row from behind its last cell that was handed out. */
static int walk(struct lsm_scan *sc, struct family_scan *f, int64_t ts,
		struct cell *out)
{
	struct cursor *c = reader_cursor(&f->reader);
	struct bytes row = buf_bytes(&sc->row);
	int r;

	if (sc->strips.on)
		r = rows_enter_again(sc);
	else
		r = sc->one_row ? cursor_seek_exact(c, row)
				: cursor_seek_row(c, row);
	if (r > 0)
		r = reader_row(&f->reader);
	if (r > 0)
		r = reader_seek_behind(&f->reader, buf_bytes(&sc->qual_last),
				       ts);
	if (r > 0) {
		sc->current = 0;
		scan_fill(sc, f, out);
	}
	return r;
}

/*
 * All of the part is handed out: 1 and the next part, 2 and a cell that was
 * found by a walk, 0 if the row is exhausted.
 */
static int next_part(struct lsm_scan *sc, struct cell *out)
{
	struct family_scan *f = &sc->families[0];
	struct cursor *c = reader_cursor(&f->reader);
	struct block_part part;
	bool all, alike;
	int64_t ts;
	int r = merge_to_cell(&f->reader.merge, sc->run.cell_end - 1);

	sc->run.block = NULL;
	if (r < 0)
		return r;
	ts = c->at.ts;
	if (buf_set(&sc->qual_last, c->at.qualifier) < 0)
		return why(-ENOMEM, "out of memory");
	r = cursor_next(c);
	if (r <= 0 ||
	    (f->restricted && !bytes_eq(c->at.qualifier, only_name(f))))
		return r < 0 ? r : 0;
	alike = bytes_eq(c->at.qualifier, buf_bytes(&sc->qual_last));
	if (reader_part(&f->reader, &part, &all) <= 0 ||
	    (alike && !(all && c->at.ts < ts))) {
		r = walk(sc, f, ts, out);
		return r > 0 ? 2 : r;
	}
	take_part(sc, &part);
	return 1;
}

int scan_part_next(struct lsm_scan *sc, struct cell *out, size_t n)
{
	if (sc->run.cell == sc->run.cell_end) {
		int r = next_part(sc, out);

		if (r != 1)
			return r == 2 ? 1 : r;
	}
	return (int)scan_run_fill(sc, out, n);
}
