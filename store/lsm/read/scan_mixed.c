/*
 * Mixed rows: cells of one row that a scan takes from blocks of several files.
 *
 *	file 1	| a . c . |		a c	from 1
 *	file 2	| . b . . |		b d	from 2 and 3, put between them
 *	file 3	| . . . d |
 *
 * Where the files' parts of the row are all visible by themselves (reader.h)
 * and no column is in two of them, nothing of one hides or pushes out what is
 * in another: their cells only have to be put in order. The cursors stand on
 * the first entries of the row until all is handed out.
 */
#include "store/lsm/read/scan.h"

#include "store/lsm/base/heads.h"
#include "store/lsm/table/block.h"

/* Puts the part among the @n cells that are there; false if it cannot. */
static bool add_part(struct mixed_cell *cells, uint32_t *n,
		     const struct block_part *p)
{
	uint32_t low = 0; /* the cell before in the part is in front of it */

	if (p->end - p->cell > MIXED_CELLS - *n)
		return false;
	for (uint32_t cell = p->cell; cell < p->end; cell++) {
		uint32_t id = (uint32_t)block_number(p->block, BLOCK_ID, cell);
		struct bytes q = block_qualifier(p->block, id);
		uint64_t head = head_of(q);
		uint32_t at = (*n)++;

		for (; at > low; at--) {
			const struct mixed_cell *m = &cells[at - 1];
			int c = (m->head > head) - (m->head < head);

			if (c == 0)
				c = head_tie(m->qualifier, q);
			if (c == 0)
				return false;
			if (c < 0)
				break;
			cells[at] = *m;
		}
		cells[at] = (struct mixed_cell){head, q, p->block, cell};
		low = at + 1;
	}
	return true;
}

bool scan_mixed_begin(struct lsm_scan *sc, struct family_scan *f)
{
	struct block_part parts[MIXED_PARTS];
	uint32_t n = 0, nparts;

	if (!sc->may_run)
		return false;
	nparts = reader_parts(&f->reader, parts, MIXED_PARTS);
	if (!nparts)
		return false;
	if (sc->granularity == SCAN_ROWS)
		return true;
	for (uint32_t i = 0; i < nparts; i++)
		if (!add_part(sc->mixed, &n, &parts[i]))
			return false;
	sc->run.block = parts[0].block;
	sc->run.part = false;
	sc->run.mixed = true;
	sc->run.cell = 0;
	sc->run.cell_end = n;
	sc->run.key_at = 0;
	return true;
}

int scan_mixed_next(struct lsm_scan *sc, struct cell *out, size_t n)
{
	struct run *run = &sc->run;
	const struct bytes row = buf_bytes(&sc->row);
	const struct bytes family = sc->families[0].name_bytes;
	size_t left = run->cell_end - run->cell;

	if (n > left)
		n = left;
	for (size_t i = 0; i < n; i++) {
		const struct mixed_cell *m = &sc->mixed[run->cell + i];
		uint64_t len, at = block_value_at(m->block, m->cell, &len);

		out[i] = (struct cell){
			.row = row,
			.family = family,
			.qualifier = m->qualifier,
			.ts = (int64_t)block_number(m->block, BLOCK_TS,
						    m->cell),
			.seq = block_number(m->block, BLOCK_SEQ, m->cell),
			.ttl_ms = 0,
			.kind = CELL_PUT,
			.value = bytes_of(sc->keys_only ? NULL
							: m->block->values + at,
					  len),
		};
	}
	run->cell += (uint32_t)n;
	if (!n)
		run->block = NULL;
	return (int)n;
}
