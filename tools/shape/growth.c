/*
 * What is stored, by the day of its timestamps; and the same figures as bars for a
 * terminal.
 */
#include "tools/shape/draw.h"

#define HEIGHT 170
#define TOP 18
#define DAYS_MIN 14
#define LEFT 70

static uint64_t most_of(const struct shape *s)
{
	uint64_t most = 0;

	for (size_t i = 0; i < s->ndays; i++)
		most = s->days[i].bytes > most ? s->days[i].bytes : most;
	return most;
}

static void put_axis(struct page *p, int64_t first, int64_t days, uint64_t most)
{
	page_put(p, "<text class=\"m e\" x=\"%d\" y=\"%d\">", LEFT - 6,
		 TOP + 4);
	page_bytes(p, (double)most);
	page_put(p,
		 "</text><line class=\"g\" x1=\"%d\" x2=\"%d\" y1=\"%d\" "
		 "y2=\"%d\"/><line class=\"g\" x1=\"%d\" x2=\"%d\" y1=\"%d\" "
		 "y2=\"%d\"/>\n",
		 LEFT, DRAW_WIDTH, TOP, TOP, LEFT, DRAW_WIDTH, HEIGHT, HEIGHT);
	for (int i = 0; i <= 2; i++) {
		page_put(p, "<text class=\"m %s\" x=\"%d\" y=\"%d\">",
			 i == 0	  ? ""
			 : i == 1 ? "c"
				  : "e",
			 LEFT + (DRAW_WIDTH - LEFT) * i / 2, HEIGHT + 15);
		page_day(p, first + (days - 1) * i / 2);
		page_put(p, "</text>\n");
	}
}

void draw_growth(struct page *p, const struct shape *s)
{
	uint64_t most = most_of(s);
	int64_t today = s->now_ms / 86400000, first, days;
	double width;

	if (!s->ndays || !most)
		return;
	first = s->days[0].day;
	if (first > today - DAYS_MIN + 1)
		first = today - DAYS_MIN + 1;
	days = s->days[s->ndays - 1].day - first + 1;
	if (days < today - first + 1)
		days = today - first + 1;
	width = (double)(DRAW_WIDTH - LEFT) / (double)days;
	page_put(p,
		 "<section id=\"growth\"><h2>Growth by day</h2>\n<p>Bytes in "
		 "table files by the day of their cells' timestamps. What "
		 "was deleted and merged away is not here any more; a block "
		 "of cells of several days is spread evenly over them. What "
		 "is older than a year is in the first of 366 days.</p>\n"
		 "<svg viewBox=\"0 0 %d %d\" role=\"img\" "
		 "xmlns=\"http://www.w3.org/2000/svg\">\n",
		 DRAW_WIDTH, HEIGHT + 22);
	put_axis(p, first, days, most);
	for (size_t i = 0; i < s->ndays; i++) {
		double h = (HEIGHT - TOP) * (double)s->days[i].bytes /
			   (double)most;

		page_put(p,
			 "<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" "
			 "width=\"%.1f\" height=\"%.1f\"><title>",
			 LEFT + (double)(s->days[i].day - first) * width,
			 HEIGHT - h, width > 3 ? width - 1 : width, h);
		page_day(p, s->days[i].day);
		page_put(p, ": about ");
		page_bytes(p, (double)s->days[i].bytes);
		page_put(p, "</title></rect>\n");
	}
	page_put(p, "</svg></section>\n");
}

#define PLOT_TABLES 20
#define PLOT_DAYS 30
#define PLOT_WIDTH 40

static void put_bar(struct page *p, double part)
{
	static const char *const eighths[] = {"",
					      "\xE2\x96\x8F",
					      "\xE2\x96\x8E",
					      "\xE2\x96\x8D",
					      "\xE2\x96\x8C",
					      "\xE2\x96\x8B",
					      "\xE2\x96\x8A",
					      "\xE2\x96\x89"};
	int n = (int)(part * PLOT_WIDTH * 8 + .5);

	page_put(p, " ");
	for (int i = 0; i < n / 8; i++)
		page_put(p, "\xE2\x96\x88");
	page_put(p, "%s\n", n ? eighths[n % 8] : "");
}

static void put_line(struct page *p, struct bytes name, uint64_t bytes,
		     uint64_t most)
{
	size_t begin = p->out.len;

	page_put(p, "  ");
	page_key(p, name, 22);
	page_put(p, "%*s",
		 (int)(begin + 28 > p->out.len ? begin + 28 - p->out.len : 1),
		 "");
	begin = p->out.len;
	page_bytes(p, (double)bytes);
	page_put(p, "%*s",
		 (int)(begin + 12 > p->out.len ? begin + 12 - p->out.len : 1),
		 "");
	put_bar(p, most ? (double)bytes / (double)most : 0);
}

static void plot_levels(struct page *p, const struct shape *s)
{
	uint64_t bytes[8] = {0}, most = 0;
	char name[2] = "0";

	for (size_t i = 0; i < s->nfiles; i++)
		bytes[s->files_of[i].level % 8] += s->files_of[i].bytes;
	for (int i = 0; i < 8; i++)
		most = bytes[i] > most ? bytes[i] : most;
	page_put(p, "levels\n");
	for (int i = 0; i < 8; i++) {
		name[0] = (char)('0' + i);
		if (bytes[i])
			put_line(p, bytes_str(name), bytes[i], most);
	}
}

void draw_plot(struct page *p, const struct shape *s)
{
	size_t day = s->ndays > PLOT_DAYS ? s->ndays - PLOT_DAYS : 0;
	uint64_t most = most_of(s);

	page_put(p, "tables\n");
	for (size_t i = 0; i < s->ntables && i < PLOT_TABLES; i++)
		put_line(p, s->tables[i].name, s->tables[i].bytes,
			 s->tables[0].bytes);
	if (s->ntables > PLOT_TABLES)
		page_put(p, "  and %zu smaller ones\n",
			 s->ntables - PLOT_TABLES);
	plot_levels(p, s);
	page_put(p, "days of timestamps\n");
	for (; day < s->ndays; day++) {
		struct page name = {.plain = true};

		page_day(&name, s->days[day].day);
		put_line(p, buf_bytes(&name.out), s->days[day].bytes, most);
		buf_free(&name.out);
	}
}
