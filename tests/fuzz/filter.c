/*
 * Any text as a filter is refused with a sentence or parsed; what was parsed
 * goes over a few rows as a scan has it, twice with the same answers.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/filter/filter.h"
#include "store/filter/pick.h"
#include "store/value/why.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Three rows of two families, three columns and two versions. */
static void make_cell(unsigned i, struct cell *out)
{
	static const char *const rows[] = {"a", "ab", "b"};
	static const char *const families[] = {"f", "g"};
	static const char *const names[] = {"", "p", "q"};
	static const char *const values[] = {"", "x", "xyz", "X 12", "\xff"};

	*out = (struct cell){
		.row = bytes_str(rows[i / 12 % 3]),
		.family = bytes_str(families[i / 6 % 2]),
		.qualifier = bytes_str(names[i / 2 % 3]),
		.ts = 10 - i % 2,
		.kind = CELL_PUT,
		.value = bytes_str(values[i * 7 % 5]),
	};
}

static bool same_column(const struct cell *a, const struct cell *b)
{
	return bytes_eq(a->family, b->family) &&
	       bytes_eq(a->qualifier, b->qualifier);
}

/* The first cell behind @i that the answer does not jump over. */
static unsigned jump(unsigned i, const struct filter_answer *a)
{
	unsigned row = i / 12;
	struct cell from, to;

	make_cell(i, &from);
	for (i++; i / 12 == row; i++) {
		make_cell(i, &to);
		if (a->jump == JUMP_CELL || !bytes_eq(from.family, to.family) ||
		    (a->jump == JUMP_COLUMN && !same_column(&from, &to)) ||
		    (a->jump == JUMP_SEEK &&
		     bytes_cmp(to.qualifier, a->hint) >= 0))
			break;
	}
	return i;
}

static int run_row(struct pick *p, unsigned row, struct buf *out)
{
	struct cell c;
	int r;

	make_cell(12 * row, &c);
	r = pick_begin(p, c.row);
	if (r <= 0)
		return r;
	for (unsigned i = 12 * row; i < 12 * row + 12;) {
		struct filter_answer a;

		make_cell(i, &c);
		r = pick_cell(p, &c, &a);
		if (r < 0)
			return r;
		i = jump(i, &a);
	}
	if (pick_end(p))
		while (pick_next(p, &c)) {
			buf_append(out, c.row.data, c.row.len);
			buf_append(out, c.qualifier.data, c.qualifier.len);
			buf_append(out, c.value.data, c.value.len);
		}
	return 0;
}

static void run(const struct filter *f, bool reversed, struct buf *out)
{
	struct scan_spec spec = {
		.granularity = SCAN_CELLS,
		.reversed = reversed,
		.filter = f,
	};
	struct bytes min = {0}, max = {0};
	struct pick p;
	int r = 0;

	filter_rows(f, &min, &max);
	if (pick_init(&p, &spec) < 0)
		abort();
	for (unsigned i = 0; r == 0 && i < 3 && !pick_done(&p); i++)
		r = run_row(&p, reversed ? 2 - i : i, out);
	/* A pattern may need too many steps, and says so. */
	if (r < 0 && (r != -ETIME || !*store_why()))
		abort();
	pick_free(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct filter *f = NULL;

	if (filter_parse(bytes_of(data, size), &f) < 0) {
		if (f || !*store_why())
			abort();
		return 0;
	}
	for (int reversed = 0; reversed < 2; reversed++) {
		struct buf once = {0}, again = {0};

		run(f, reversed, &once);
		run(f, reversed, &again);
		if (!bytes_eq(buf_bytes(&once), buf_bytes(&again)))
			abort();
		buf_free(&once);
		buf_free(&again);
	}
	filter_free(f);
	return 0;
}
