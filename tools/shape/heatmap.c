/*
 * Reads and writes over ranges of rows and time.
 *
 * The ranges of a table are such that about as much is stored in each; where its
 * files have too few blocks for that, about as many different rows were called.
 * Colours are logarithmic, of one scale for all tables.
 */
#include <stdlib.h>

#include "tools/shape/draw.h"

#define TABLES_MAX 6
#define RANGES_MAX 24
#define RANGES_ALL 48
#define COLUMNS_MAX 120
#define MINUTES_MIN 30
#define MINUTES_MAX 240
#define COLOURS 6
#define LEFT 150
#define MAP_WIDTH 410
#define MAP_GAP 30
#define RANGE_HEIGHT 14

struct heatmap {
	struct bytes *rows; /* different ones, ascending: borders are of them */
	size_t nrows;
	size_t nranges, ncolumns, minutes; /* of a column */
	int64_t begin_ms;
	double *calls[2]; /* by range and column */
	double sums[2][RANGES_MAX];
};

static int by_row(const void *a, const void *b)
{
	return bytes_cmp(*(const struct bytes *)a, *(const struct bytes *)b);
}

/* Sorts the rows and drops those that are there twice. */
static void sort_rows(struct heatmap *h)
{
	size_t n = 0;

	if (h->nrows)
		qsort(h->rows, h->nrows, sizeof(*h->rows), by_row);
	for (size_t i = 0; i < h->nrows; i++)
		if (!n || !bytes_eq(h->rows[n - 1], h->rows[i]))
			h->rows[n++] = h->rows[i];
	h->nrows = n;
}

static int choose_rows(struct heatmap *h, const struct shape *s,
		       const struct shape_table *t)
{
	h->rows = calloc(t->nparts + t->ncalls + 1, sizeof(*h->rows));
	if (!h->rows)
		return -1;
	for (size_t i = 0; i < t->nparts; i++)
		h->rows[h->nrows++] = s->parts[t->part + i].row;
	sort_rows(h);
	if (h->nrows < h->nranges) {
		for (size_t i = 0; i < t->ncalls; i++)
			h->rows[h->nrows++] = s->calls[t->call + i].row;
		sort_rows(h);
	}
	if (h->nranges > h->nrows)
		h->nranges = h->nrows;
	return 0;
}

static struct bytes border(const struct heatmap *h, size_t range)
{
	return h->rows[range * h->nrows / h->nranges];
}

/* The last range that begins at or before the row, or the first one. */
static size_t range_of(const struct heatmap *h, struct bytes row)
{
	size_t low = 1, high = h->nranges;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (bytes_cmp(border(h, mid), row) <= 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low - 1;
}

static void heatmap_free(struct heatmap *h)
{
	free(h->rows);
	free(h->calls[CALL_READ]);
	free(h->calls[CALL_WRITE]);
}

static int count(struct heatmap *h, const struct shape *s,
		 const struct shape_table *t)
{
	int64_t column_ms = (int64_t)h->minutes * 60000;

	for (int w = 0; w < 2; w++) {
		h->calls[w] = calloc(h->nranges * h->ncolumns + 1,
				     sizeof(*h->calls[w]));
		if (!h->calls[w])
			return -1;
	}
	for (size_t i = 0; i < t->ncalls; i++) {
		const struct shape_call *c = &s->calls[t->call + i];
		int64_t at = (c->minute_ms - h->begin_ms) / column_ms;
		size_t range = range_of(h, c->row);

		if (c->minute_ms < h->begin_ms || at >= (int64_t)h->ncolumns)
			continue;
		h->calls[c->write][range * h->ncolumns + (size_t)at] +=
			c->weight;
		h->sums[c->write][range] += c->weight;
	}
	return 0;
}

/* The time that is shown: since the store is watched, within bounds. */
static void choose_time(struct heatmap *h, const struct shape *s)
{
	int64_t now = s->now_ms / 60000;
	int64_t minutes = now - s->since_ms / 60000 + 1;

	if (minutes < MINUTES_MIN)
		minutes = MINUTES_MIN;
	if (minutes > MINUTES_MAX)
		minutes = MINUTES_MAX;
	h->minutes = ((size_t)minutes + COLUMNS_MAX - 1) / COLUMNS_MAX;
	h->ncolumns = ((size_t)minutes + h->minutes - 1) / h->minutes;
	h->begin_ms = (now + 1 - (int64_t)(h->ncolumns * h->minutes)) * 60000;
}

static int heatmap_make(const struct shape *s, const struct shape_table *t,
			size_t nranges, struct heatmap *out)
{
	*out = (struct heatmap){.nranges = nranges};
	choose_time(out, s);
	return choose_rows(out, s, t) < 0 || count(out, s, t) < 0 ? -1 : 0;
}

static double most(const struct heatmap *h)
{
	double m = 0;

	for (int w = 0; w < 2; w++)
		for (size_t i = 0; i < h->nranges * h->ncolumns; i++)
			m = h->calls[w][i] > m ? h->calls[w][i] : m;
	return m;
}

/* A logarithm to the base 2, straight between powers; 0 for less than 1. */
static double log_of(double n)
{
	double log = 0;

	for (; n >= 2; n /= 2)
		log++;
	return n > 1 ? log + n - 1 : log;
}

static int colour_of(double calls, double max)
{
	int c;

	if (!(calls > 0))
		return 0;
	c = 1 + (int)(COLOURS * log_of(1 + calls) / log_of(2 + max));
	return c > COLOURS ? COLOURS : c;
}

/* One path for each colour: a rectangle takes some 20 bytes of the page. */
static void put_map(struct page *p, const struct heatmap *h, int w, double max)
{
	double x0 = LEFT + w * (MAP_WIDTH + MAP_GAP);
	double width = (double)MAP_WIDTH / (double)h->ncolumns;

	page_put(p,
		 "<rect class=\"lane\" x=\"%.0f\" y=\"22\" width=\"%d\" "
		 "height=\"%zu\"/>\n",
		 x0, MAP_WIDTH, h->nranges * RANGE_HEIGHT);
	for (int colour = 1; colour <= COLOURS; colour++) {
		page_put(p, "<path class=\"%c%d\" d=\"", w ? 'w' : 'r', colour);
		for (size_t i = 0; i < h->nranges * h->ncolumns; i++) {
			if (colour_of(h->calls[w][i], max) != colour)
				continue;
			page_put(p, "M%.1f %zuh%.1fv%dh-%.1fz",
				 x0 + (double)(i % h->ncolumns) * width,
				 22 + i / h->ncolumns * RANGE_HEIGHT, width,
				 RANGE_HEIGHT, width);
		}
		page_put(p, "\"/>\n");
	}
}

static void put_range(struct page *p, const struct heatmap *h, size_t range)
{
	size_t y = 22 + range * RANGE_HEIGHT;

	page_put(p, "<text class=\"m e\" x=\"%d\" y=\"%zu\">", LEFT - 6,
		 y + 11);
	page_key(p, border(h, range), 18);
	page_put(p,
		 "</text><rect class=\"hit\" data-reads=\"%.0f\" "
		 "data-writes=\"%.0f\" x=\"%d\" y=\"%zu\" width=\"%d\" "
		 "height=\"%d\"><title>rows from ",
		 h->sums[CALL_READ][range], h->sums[CALL_WRITE][range], LEFT, y,
		 DRAW_WIDTH - LEFT, RANGE_HEIGHT);
	page_key(p, border(h, range), 40);
	if (range + 1 < h->nranges) {
		page_put(p, " before ");
		page_key(p, border(h, range + 1), 40);
	}
	page_put(p, ": about %.0f reads, %.0f writes</title></rect>\n",
		 h->sums[CALL_READ][range], h->sums[CALL_WRITE][range]);
}

static void put_times(struct page *p, const struct heatmap *h, int w)
{
	double x0 = LEFT + w * (MAP_WIDTH + MAP_GAP);
	size_t y = 36 + h->nranges * RANGE_HEIGHT;
	int64_t minutes = (int64_t)(h->ncolumns * h->minutes);

	for (int i = 0; i <= 3; i++) {
		int64_t at = h->begin_ms / 60000 + minutes * i / 3;

		page_put(p,
			 "<text class=\"m %s\" x=\"%.0f\" y=\"%zu\">%02d:%02d"
			 "</text>",
			 i == 0	 ? ""
			 : i < 3 ? "c"
				 : "e",
			 x0 + MAP_WIDTH * i / 3., y, (int)(at / 60 % 24),
			 (int)(at % 60));
	}
}

static void put_heatmap(struct page *p, const struct shape_table *t,
			const struct heatmap *h, double max)
{
	page_put(p,
		 "<svg viewBox=\"0 0 %d %zu\" role=\"img\" "
		 "xmlns=\"http://www.w3.org/2000/svg\">\n"
		 "<text class=\"b\" x=\"0\" y=\"14\">",
		 DRAW_WIDTH, 48 + h->nranges * RANGE_HEIGHT);
	page_key(p, t->name, 18);
	page_put(p, "</text>");
	for (int w = 0; w < 2; w++)
		page_put(p,
			 "<text class=\"m\" x=\"%d\" y=\"14\">about %.0f %s"
			 "</text>\n",
			 LEFT + w * (MAP_WIDTH + MAP_GAP), t->calls[w],
			 w ? "writes" : "reads");
	put_map(p, h, CALL_READ, max);
	put_map(p, h, CALL_WRITE, max);
	for (size_t i = 0; i < h->nranges; i++)
		put_range(p, h, i);
	put_times(p, h, CALL_READ);
	put_times(p, h, CALL_WRITE);
	page_put(p, "</svg>\n");
}

static void put_legend(struct page *p, size_t minutes, double max)
{
	page_put(p,
		 "<svg viewBox=\"0 0 %d 18\" "
		 "xmlns=\"http://www.w3.org/2000/svg\">"
		 "<text class=\"m\" x=\"%d\" y=\"13\">1</text>\n",
		 DRAW_WIDTH, LEFT);
	for (int i = 1; i <= COLOURS; i++)
		page_put(p,
			 "<rect class=\"r%d\" x=\"%d\" y=\"4\" width=\"24\" "
			 "height=\"5\"/><rect class=\"w%d\" x=\"%d\" y=\"9\" "
			 "width=\"24\" height=\"5\"/>\n",
			 i, LEFT - 12 + i * 24, i, LEFT - 12 + i * 24);
	page_put(p,
		 "<text class=\"m\" x=\"%d\" y=\"13\">%.0f calls of a range in "
		 "%zu minute%s: reads, writes</text></svg>\n",
		 LEFT + 20 + COLOURS * 24, max, minutes,
		 minutes == 1 ? "" : "s");
}

static int hotter(const void *a, const void *b)
{
	const struct shape_table *x = *(const struct shape_table *const *)a;
	const struct shape_table *y = *(const struct shape_table *const *)b;
	double xs = x->calls[0] + x->calls[1], ys = y->calls[0] + y->calls[1];

	return xs != ys ? (xs < ys ? 1 : -1) : (x > y) - (x < y);
}

/* The tables that were called, the most called first. */
static size_t choose_tables(const struct shape *s,
			    const struct shape_table **out)
{
	size_t n = 0;

	for (size_t i = 0; i < s->ntables; i++)
		if (s->tables[i].ncalls)
			out[n++] = &s->tables[i];
	if (n)
		qsort(out, n, sizeof(const struct shape_table *), hotter);
	return n;
}

static void put_maps(struct page *p, const struct shape *s,
		     const struct shape_table **of, size_t n)
{
	struct heatmap maps[TABLES_MAX] = {0};
	size_t ranges = RANGES_ALL / n;
	double max = 0;

	if (ranges > RANGES_MAX)
		ranges = RANGES_MAX;
	for (size_t i = 0; i < n; i++) {
		if (heatmap_make(s, of[i], ranges, &maps[i]) < 0)
			p->err = -1;
		else if (most(&maps[i]) > max)
			max = most(&maps[i]);
	}
	if (!p->err)
		put_legend(p, maps[0].minutes, max);
	for (size_t i = 0; i < n; i++) {
		if (!p->err)
			put_heatmap(p, of[i], &maps[i], max);
		heatmap_free(&maps[i]);
	}
}

void draw_heatmap(struct page *p, const struct shape *s)
{
	const struct shape_table **of = calloc(s->ntables + 1, sizeof(*of));
	size_t n = of ? choose_tables(s, of) : 0;

	page_put(p, "<section id=\"heat\"><h2>Reads and writes</h2>\n");
	if (!of)
		p->err = -1;
	if (!s->since_ms)
		page_put(p, "<p>Nobody has the store mounted: what is read and "
			    "written is noted by a mount, while it "
			    "lasts.</p>\n");
	else if (!n)
		page_put(p,
			 "<p>Since it is mounted, or in the last four hours, "
			 "nothing was read or written.</p>\n");
	else
		page_put(p,
			 "<p>What reached the store by its mount, of the last "
			 "four hours at most, by ranges of rows in which about "
			 "as much lies: estimated from samples. A read is one "
			 "value, or one step of a listing; what the kernel "
			 "remembered is not among them.%s Times are UTC.</p>\n",
			 n > TABLES_MAX ? " The tables that were called most "
					  "are shown."
					: "");
	if (n)
		put_maps(p, s, of, n < TABLES_MAX ? n : TABLES_MAX);
	page_put(p, "</section>\n");
	free(of);
}
