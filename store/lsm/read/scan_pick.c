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

/* The present row: 1 if anything of it is handed out. */
static int pick_row(struct lsm_scan *sc)
{
	int r = pick_begin(&sc->pick, buf_bytes(&sc->row));

	if (r <= 0)
		return r;
	r = 0;
	for (uint32_t i = 0; r == 0 && i < sc->nfamilies; i++)
		if (scan_on_row(sc, &sc->families[i]))
			r = pick_family(sc, &sc->families[i]);
	return r < 0 ? r : pick_end(&sc->pick);
}

int scan_next_picked(struct lsm_scan *sc, struct cell *out)
{
	int r;

	while (pick_next(&sc->pick, out) == 0) {
		/* A row that shows nothing does not count. */
		do {
			if (pick_done(&sc->pick))
				return 0;
			r = scan_next_row(sc);
			if (r <= 0)
				return r;
			r = pick_row(sc);
			sc->rows -= r == 0;
		} while (r == 0);
		if (r < 0)
			return r;
	}
	return 1;
}
