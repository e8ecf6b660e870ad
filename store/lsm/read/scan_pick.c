/*
 * Scans that pick: each row is walked as the filter says (pick.h) before its
 * first cell is handed out.
 */
#include "store/lsm/read/scan.h"

#include <errno.h>

/* Moves within the family. */
static int jump(struct family_scan *f, const struct lsm_scan *sc,
		const struct filter_answer *a)
{
	switch (a->jump) {
	case JUMP_FAMILY:
		return 0;
	case JUMP_COLUMN:
		return reader_next_column(&f->reader);
	case JUMP_SEEK:
		return reader_seek(&f->reader, a->hint);
	}
	return sc->granularity == SCAN_COLUMNS && a->take
		       ? reader_next_column(&f->reader)
		       : reader_next(&f->reader);
}

static int pick_family(struct lsm_scan *sc, struct family_scan *f)
{
	int r = 1;

	while (r > 0) {
		struct filter_answer a;
		struct cell c;

		scan_fill(sc, f, &c);
		r = pick_cell(&sc->pick, &c, &a);
		if (r < 0)
			return r == -ENOMEM ? why(r, "out of memory for a row")
					    : r;
		r = jump(f, sc, &a);
	}
	return r;
}

/*
 * Picks from the families that are left of the present row: 1 if anything of it
 * is handed out. One that is damaged ends there when it is passed.
 */
static int pick_row(struct lsm_scan *sc)
{
	struct family_scan *f;

	for (; (f = scan_current(sc)); sc->current++) {
		int r = pick_family(sc, f);

		if (r < 0)
			return r;
	}
	return pick_end(&sc->pick);
}

/* To the next row that the filter lets in: 1, 0 at the end, or negative. */
static int begin_row(struct lsm_scan *sc)
{
	while (!pick_done(&sc->pick)) {
		int r = scan_next_row(sc);

		if (r <= 0)
			return r;
		r = pick_begin(&sc->pick, buf_bytes(&sc->row));
		if (r)
			return r;
		sc->rows--;
		sc->current = sc->nfamilies;
	}
	return 0;
}

int scan_next_picked(struct lsm_scan *sc, struct cell *out)
{
	/* Where damage of it was passed. */
	bool in_row = sc->in_row && sc->current < sc->nfamilies;

	while (in_row || pick_next(&sc->pick, out) == 0) {
		int r = in_row ? 1 : begin_row(sc);

		if (r <= 0)
			return r;
		in_row = false;
		r = pick_row(sc);
		if (r < 0)
			return r;
		/* A row that shows nothing does not count. */
		sc->rows -= r == 0;
	}
	return 1;
}
