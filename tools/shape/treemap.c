/*
 * Tables, and in them the beginnings of rows, as areas by their bytes.
 *
 * Areas are near to squares: a strip along the shorter side takes areas as long as
 * that makes its worst one better.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/shape/draw.h"

#define TABLES_MAX 40
#define PREFIXES_MAX 24 /* of a table */
#define PREFIXES_ALL 240
#define FEW 12
#define AGAIN 6		  /* areas of a large one */
#define PREFIX_LEN_MAX 12 /* bytes behind what all rows begin with */
#define LABEL_MAX 64	  /* bytes */
#define HEIGHT 440
#define HEAD 18 /* of a table's area, for its name */

struct box {
	double x, y, w, h;
};

struct area {
	double size;
	struct bytes name;
	size_t of;	     /* the table's place */
	size_t part, nparts; /* those of which it is made */
	bool rest;	     /* others that begin so */
	struct box at;
};

static double worst_of(double sum, double least, double most, double side)
{
	double thick = sum / side, a = most / thick / thick,
	       b = thick * thick / least;

	return a > b ? a : b;
}

/* Takes a strip from @in for as many of the areas as fit it well. */
static size_t take_strip(struct area *a, size_t n, struct box *in)
{
	bool upright = in->w >= in->h;
	double side = upright ? in->h : in->w, sum = a[0].size, at = 0, thick;
	size_t k = 1;

	while (k < n && worst_of(sum + a[k].size, a[k].size, a[0].size, side) <=
				worst_of(sum, a[k - 1].size, a[0].size, side))
		sum += a[k++].size;
	thick = sum / side;
	for (size_t i = 0; i < k; i++) {
		double len = a[i].size / thick;

		a[i].at = upright ? (struct box){in->x, in->y + at, thick, len}
				  : (struct box){in->x + at, in->y, len, thick};
		at += len;
	}
	*in = upright ? (struct box){in->x + thick, in->y, in->w - thick, in->h}
		      : (struct box){in->x, in->y + thick, in->w,
				     in->h - thick};
	return k;
}

static int by_size(const void *x, const void *y)
{
	const struct area *a = x, *b = y;

	return (a->size < b->size) - (a->size > b->size);
}

/* Places the areas, the largest first, so that they fill @in. */
static void lay_out(struct area *a, size_t n, struct box in)
{
	double sum = 0, scale;

	qsort(a, n, sizeof(*a), by_size);
	for (size_t i = 0; i < n; i++)
		sum += a[i].size;
	scale = in.w > 0 && in.h > 0 && sum > 0 ? in.w * in.h / sum : 0;
	if (!(scale > 0))
		return;
	for (size_t i = 0; i < n; i++)
		a[i].size *= scale;
	for (size_t i = 0; i < n && in.w > 1e-6 && in.h > 1e-6;)
		i += take_strip(a + i, n - i, &in);
}

static size_t common(struct bytes a, struct bytes b)
{
	size_t n = 0;

	while (n < a.len && n < b.len && a.data[n] == b.data[n])
		n++;
	return n;
}

static struct bytes begin(struct bytes row, size_t n)
{
	return bytes_of(row.data, row.len < n ? row.len : n);
}

/* How many different beginnings of @len bytes the rows have. */
static size_t beginnings(const struct shape_part *part, size_t n, size_t len)
{
	size_t k = n > 0;

	for (size_t i = 1; i < n; i++)
		k += !bytes_eq(begin(part[i - 1].row, len),
			       begin(part[i].row, len));
	return k;
}

/* The length at which they are many, and yet few enough to be seen. */
static size_t choose_length(const struct shape_part *part, size_t n)
{
	size_t shared = n ? common(part[0].row, part[n - 1].row) : 0;
	size_t len = shared + 1;

	while (len < shared + PREFIX_LEN_MAX &&
	       beginnings(part, n, len + 1) <= FEW)
		len++;
	return len;
}

/* Groups parts by what their rows begin with; the smallest become one. */
static size_t group(const struct shape_part *part, const struct area *of,
		    size_t most, struct area *out)
{
	size_t len = choose_length(part + of->part, of->nparts), k = 0, kept;

	for (size_t i = of->part; i < of->part + of->nparts; i++) {
		struct bytes name = begin(part[i].row, len);

		if (!k || !bytes_eq(out[k - 1].name, name))
			out[k++] = (struct area){.name = name, .part = i};
		out[k - 1].size += (double)part[i].bytes;
		out[k - 1].nparts++;
	}
	qsort(out, k, sizeof(*out), by_size);
	kept = k < most ? k : most;
	for (size_t i = kept; i < k; i++) {
		out[kept - 1].size += out[i].size;
		out[kept - 1].rest = true;
		out[kept - 1].name = of->name;
		out[kept - 1].nparts = 0;
	}
	return kept;
}

/*
 * Groups a table; what has more than a quarter of it, as lib may, is grouped once
 * more in its place. @out has room for all parts.
 */
static size_t group_table(const struct shape *s, const struct shape_table *t,
			  size_t most, struct area *out)
{
	const struct area all = {.part = t->part, .nparts = t->nparts};
	size_t n = group(s->parts, &all, most / 2 + 1, out);

	for (int i = 0; i < 3 && n; i++) {
		size_t room = most > n ? most - n + 1 : 1;
		struct area first = out[0];

		room = room < AGAIN ? room : AGAIN;
		if (first.size < (double)t->bytes / 4 || first.nparts < 2 ||
		    room < 3)
			break;
		out[0] = out[--n];
		n += group(s->parts, &first, room, out + n);
		qsort(out, n, sizeof(*out), by_size);
	}
	return n;
}

static void put_label(struct page *p, const struct box *b, struct bytes name,
		      const char *class)
{
	if (b->w < 36 || b->h < 15)
		return;
	page_put(p, "<text%s x=\"%.1f\" y=\"%.1f\">", class, b->x + 5,
		 b->y + 14);
	page_key(p, name, (size_t)((b->w - 10) / 7.6));
	page_put(p, "</text>");
}

/* What its area is called: @text has room for it. */
static struct bytes area_name(const struct area *a, char text[LABEL_MAX])
{
	static const char other[] = "other ";
	const size_t n = sizeof(other) - 1;
	struct bytes name = begin(a->name, LABEL_MAX - n);

	if (!a->rest)
		return a->name;
	if (!name.len)
		return bytes_str("others");
	memcpy(text, other, n);
	memcpy(text + n, name.data, name.len);
	return bytes_of(text, n + name.len);
}

static void put_area(struct page *p, const struct shape_table *t,
		     const struct area *a, size_t colour, double strength)
{
	const struct box *b = &a->at;
	char text[LABEL_MAX];

	page_put(p,
		 "<g><rect class=\"k t%zu\" fill-opacity=\"%.2f\" x=\"%.1f\" "
		 "y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
		 colour, strength, b->x, b->y, b->w, b->h);
	put_label(p, b, area_name(a, text), "");
	page_put(p, "<title>table ");
	page_key(p, t->name, 40);
	page_put(p, a->rest ? ", other rows" : a->name.len ? ", rows" : "");
	page_put(p, a->name.len ? " that begin with " : "");
	page_key(p, a->name, 40);
	page_put(p, ": about ");
	page_bytes(p, a->size);
	page_put(p, "</title></g>\n");
}

static void put_table(struct page *p, const struct shape *s, size_t at,
		      const struct box *b, size_t most)
{
	const struct shape_table *t = &s->tables[at];
	struct area *a = calloc(t->nparts + 1, sizeof(*a));
	double head = b->h > 2 * HEAD && b->w > 40 ? HEAD : 0,
	       sizes[PREFIXES_MAX + 1];
	size_t n, colour = at < 7 ? at : 7;

	if (!a) {
		p->err = -1;
		return;
	}
	n = group_table(s, t, most, a);
	for (size_t i = 0; i < n; i++)
		sizes[i] = a[i].size;
	lay_out(a, n, (struct box){b->x, b->y + head, b->w, b->h - head});
	page_put(p, "<g data-table=\"%zu\">", at);
	if (head > 0)
		put_label(p, b, t->name, " class=\"b\"");
	for (size_t i = 0; i < n; i++) {
		a[i].size = sizes[i];
		put_area(p, t, &a[i], colour, .5 - .25 * (double)i / (double)n);
	}
	page_put(p, "</g>\n");
	free(a);
}

static void put_rest(struct page *p, const struct box *b, size_t tables,
		     double bytes)
{
	page_put(p,
		 "<g><rect class=\"k t7\" fill-opacity=\".2\" x=\"%.1f\" "
		 "y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
		 b->x, b->y, b->w, b->h);
	put_label(p, b, bytes_str("others"), "");
	page_put(p, "<title>%zu smaller tables: ", tables);
	page_bytes(p, bytes);
	page_put(p, "</title></g>\n");
}

void draw_treemap(struct page *p, const struct shape *s)
{
	struct area a[TABLES_MAX + 1] = {0};
	size_t n = 0, with = 0;
	double rest = 0;

	page_put(p, "<section id=\"bytes\"><h2>Where the bytes are</h2>\n");
	for (size_t i = 0; i < s->ntables && s->tables[i].bytes; i++, with++) {
		if (i < TABLES_MAX)
			a[n++] = (struct area){
				.size = (double)s->tables[i].bytes,
				.name = s->tables[i].name,
				.of = i,
			};
		else
			rest += (double)s->tables[i].bytes;
	}
	if (!n) {
		page_put(p, "<p>%s</p></section>\n",
			 s->told ? "There is no table file yet."
				 : "This store does not tell of its files.");
		return;
	}
	page_put(p, "<p>An area is a table, and in it what rows begin with, by "
		    "their bytes in table files. Bytes of a beginning are "
		    "estimated by the indexes of the files.</p>\n");
	if (rest > 0)
		a[n++].size = rest;
	lay_out(a, n, (struct box){0, 0, DRAW_WIDTH, HEIGHT});
	page_put(p,
		 "<svg viewBox=\"0 0 %d %d\" role=\"img\" "
		 "xmlns=\"http://www.w3.org/2000/svg\">\n",
		 DRAW_WIDTH, HEIGHT);
	for (size_t i = 0; i < n; i++) {
		if (!a[i].name.len)
			put_rest(p, &a[i].at, with - TABLES_MAX, rest);
		else
			put_table(p, s, a[i].of, &a[i].at,
				  n * PREFIXES_MAX > PREFIXES_ALL
					  ? PREFIXES_ALL / n
					  : PREFIXES_MAX);
	}
	page_put(p, "</svg></section>\n");
}
