/*
 * The files of each table, level by level, as bars over the rows that they span.
 *
 * The scale of rows is one of bytes: as much lies left of a row as is stored of
 * the rows before it.
 */
#include <stdlib.h>

#include "tools/shape/draw.h"

#define TABLES_MAX 12
#define LANES_MAX 24 /* of a table */
#define BARS_MAX 600
#define LEFT 130
#define TRACKS_MAX 12 /* in a lane, where files overlap */
#define BAR 10
#define GAP 3
#define DAY_MS 86400000

/* How far left a row is: the parts of a table, with the bytes before each. */
struct scale {
	const struct shape_part *part;
	size_t n;
	double *before, all;
};

static int scale_make(const struct shape *s, const struct shape_table *t,
		      struct scale *out)
{
	*out = (struct scale){.part = s->parts + t->part, .n = t->nparts};
	out->before = calloc(t->nparts + 1, sizeof(*out->before));
	if (!out->before)
		return -1;
	for (size_t i = 0; i < t->nparts; i++) {
		out->before[i] = out->all;
		out->all += (double)out->part[i].bytes;
	}
	out->before[t->nparts] = out->all;
	return 0;
}

static double scale_at(const struct scale *c, struct bytes row, bool behind)
{
	size_t low = 0, high = c->n;

	while (low < high) {
		size_t mid = (low + high) / 2;
		int order = bytes_cmp(c->part[mid].row, row);

		if (order < 0 || (behind && order == 0))
			low = mid + 1;
		else
			high = mid;
	}
	return LEFT +
	       (DRAW_WIDTH - LEFT) * (c->all > 0 ? c->before[low] / c->all : 0);
}

/* The files of one family and level; they are neighbours in the array. */
struct lane {
	const struct shape_file *file;
	size_t n;
	double y;
	int tracks;
};

static struct lane lane_at(const struct shape_file *f, size_t n)
{
	size_t k = 1;

	while (k < n && f[k].level == f->level &&
	       bytes_eq(f[k].family, f->family))
		k++;
	return (struct lane){.file = f, .n = k};
}

static const char *age_of(int64_t newest, int64_t now, int *class)
{
	static const struct {
		int64_t days;
		const char *words;
	} ages[] = {{1, "a day"},
		    {7, "a week"},
		    {30, "a month"},
		    {365, "a year"},
		    {INT64_MAX / DAY_MS, "more"}};

	for (*class = 0; *class < 4; ++*class)
		if (newest > now - ages[*class].days * DAY_MS)
			break;
	return ages[*class].words;
}

/* Some files beside each other as one bar. */
static void put_bar(struct page *p, const struct shape *s,
		    const struct shape_file *f, size_t n, double x, double w,
		    double y)
{
	uint64_t bytes = 0, entries = 0;
	int64_t newest = f->newest;
	struct bytes last = f->last;
	int class;

	for (size_t i = 0; i < n; i++) {
		bytes += f[i].bytes;
		entries += f[i].entries;
		newest = f[i].newest > newest ? f[i].newest : newest;
		last = bytes_cmp(f[i].last, last) > 0 ? f[i].last : last;
	}
	age_of(newest, s->now_ms, &class);
	page_put(p,
		 "<rect class=\"k a%d\" data-files=\"%zu\" x=\"%.1f\" "
		 "y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"2\"><title>",
		 class, n, x, y, w, BAR);
	if (n == 1)
		page_put(p, "file %llu.sst", (unsigned long long)f->number);
	else
		page_put(p, "%zu files", n);
	page_put(p, ", ");
	page_bytes(p, (double)bytes);
	page_put(p, ", %llu stored cells, rows ", (unsigned long long)entries);
	page_key(p, f->row, 24);
	page_put(p, " to ");
	page_key(p, last, 24);
	page_put(p, ", newest cell of ");
	page_day(p, newest / DAY_MS);
	page_put(p, "</title></rect>\n");
}

/* Finds a track whose last bar ends before @x. The last one takes all others. */
static int track_for(double *ends, int n, double x)
{
	int i = 0;

	while (i < n - 1 && ends[i] > x)
		i++;
	return i;
}

/* Puts the bars where @p is not NULL; sets lane->tracks. */
static void put_lane(struct page *p, const struct shape *s, struct lane *lane,
		     const struct scale *c, size_t together)
{
	double ends[TRACKS_MAX] = {0};

	lane->tracks = 1;
	for (size_t i = 0; i < lane->n; i += together) {
		const struct shape_file *f = &lane->file[i];
		size_t n = lane->n - i < together ? lane->n - i : together;
		double x = scale_at(c, f->row, false);
		double end = scale_at(c, f[n - 1].last, true);
		int track = track_for(ends, TRACKS_MAX, x + .01);

		if (end < x + 2)
			end = x + 2;
		if (end > DRAW_WIDTH) {
			x -= end - DRAW_WIDTH;
			end = DRAW_WIDTH;
		}
		ends[track] = end;
		if (track >= lane->tracks)
			lane->tracks = track + 1;
		if (p)
			put_bar(p, s, f, n, x, end - x,
				lane->y + 2 + track * (BAR + GAP));
	}
}

/* Five rows below the lanes, fewer where parts are few. */
static void put_scale(struct page *p, const struct scale *c, double y)
{
	size_t i = 0, before = SIZE_MAX;

	for (int tick = 0; tick < 5 && c->n; tick++) {
		double at = c->all * tick / 5;
		double x = LEFT + (DRAW_WIDTH - LEFT) * tick / 5.;

		while (i + 1 < c->n && c->before[i + 1] <= at)
			i++;
		if (i == before)
			continue;
		before = i;
		page_put(p,
			 "<line class=\"g\" x1=\"%.1f\" x2=\"%.1f\" "
			 "y1=\"20\" y2=\"%.1f\"/>"
			 "<text class=\"m\" x=\"%.1f\" y=\"%.1f\">",
			 x, x, y, x, y + 12);
		page_key(p, c->part[i].row, 22);
		page_put(p, "</text>\n");
	}
}

static void put_lane_name(struct page *p, const struct lane *lane)
{
	page_put(p,
		 "<rect class=\"lane\" x=\"%d\" y=\"%.1f\" width=\"%d\" "
		 "height=\"%d\"/><text class=\"m\" x=\"0\" y=\"%.1f\">",
		 LEFT, lane->y, DRAW_WIDTH - LEFT,
		 lane->tracks * (BAR + GAP) + 1, lane->y + 11);
	page_key(p, lane->file->family, 12);
	page_put(p, " level %llu</text>\n",
		 (unsigned long long)lane->file->level);
}

static void put_table(struct page *p, const struct shape *s,
		      const struct shape_table *t, size_t together)
{
	struct lane lanes[LANES_MAX];
	struct scale c;
	size_t n = 0, shown = 0;
	double y = 24;

	if (scale_make(s, t, &c) < 0) {
		p->err = -1;
		return;
	}
	for (; shown < t->nfiles && n < LANES_MAX; shown += lanes[n++].n) {
		lanes[n] = lane_at(s->files_of + t->file + shown,
				   t->nfiles - shown);
		lanes[n].y = y;
		put_lane(NULL, s, &lanes[n], &c, together);
		y += lanes[n].tracks * (BAR + GAP) + 4;
	}
	page_put(p,
		 "<svg viewBox=\"0 0 %d %.0f\" role=\"img\" "
		 "xmlns=\"http://www.w3.org/2000/svg\">\n"
		 "<text class=\"b\" x=\"0\" y=\"14\">",
		 DRAW_WIDTH, y + 24);
	page_key(p, t->name, 60);
	page_put(p,
		 "</text><text class=\"m e\" x=\"%d\" y=\"14\">%llu file%s, ",
		 DRAW_WIDTH, (unsigned long long)t->files,
		 t->files == 1 ? "" : "s");
	if (shown < t->nfiles)
		page_put(p, "%zu of them not shown, ", t->nfiles - shown);
	page_bytes(p, (double)t->bytes);
	page_put(p, "</text>\n");
	for (size_t i = 0; i < n; i++)
		put_lane_name(p, &lanes[i]);
	put_scale(p, &c, y);
	for (size_t i = 0; i < n; i++)
		put_lane(p, s, &lanes[i], &c, together);
	page_put(p, "</svg>\n");
	free(c.before);
}

static void put_legend(struct page *p)
{
	page_put(p,
		 "<svg viewBox=\"0 0 %d 18\" "
		 "xmlns=\"http://www.w3.org/2000/svg\">"
		 "<text class=\"m\" x=\"0\" y=\"13\">newest cell younger "
		 "than</text>\n",
		 DRAW_WIDTH);
	for (int i = 0; i < 5; i++) {
		const int64_t days[] = {0, -2, -10, -100, -1000};
		int class;
		const char *words = age_of(days[i] * DAY_MS, 0, &class);

		page_put(p,
			 "<rect class=\"a%d\" x=\"%d\" y=\"4\" width=\"22\" "
			 "height=\"10\" rx=\"2\"/><text class=\"m\" x=\"%d\" "
			 "y=\"13\">%s</text>\n",
			 class, 150 + i * 110, 178 + i * 110, words);
	}
	page_put(p, "</svg>\n");
}

void draw_levels(struct page *p, const struct shape *s)
{
	size_t tables = 0, files = 0, together;

	if (!s->nfiles)
		return;
	while (tables < s->ntables && tables < TABLES_MAX &&
	       s->tables[tables].bytes)
		files += s->tables[tables++].nfiles;
	together = files / BARS_MAX + 1;
	page_put(p,
		 "<section id=\"levels\"><h2>Files by level</h2>\n<p>A bar is "
		 "a table file");
	if (together > 1)
		page_put(p, ", or up to %zu of them beside each other",
			 together);
	page_put(p, ", from its first row to its last. As much of the width is "
		    "left of a row as is stored of the rows before it. Level 0 "
		    "has what was flushed, and files there may overlap.");
	if (tables < s->ntables && s->tables[tables].bytes)
		page_put(p, " The %zu largest tables are shown.", tables);
	if (s->others)
		page_put(p, " %llu files are not told one by one.",
			 (unsigned long long)s->others);
	page_put(p, "</p>\n");
	put_legend(p);
	for (size_t i = 0; i < tables; i++)
		put_table(p, s, &s->tables[i], together);
	page_put(p, "</section>\n");
}
