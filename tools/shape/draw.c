#include "tools/shape/draw.h"

static const char style[] =
	":root{color-scheme:light dark;--bg:#fbfbfa;--card:#fff;--ink:#1c1e21;"
	"--mute:#646b75;--line:#e2e4e8;--a0:#0b4f8a;--a1:#2c7fb8;--a2:#63aed1;"
	"--a3:#a3cfe0;--a4:#cfdfe6;--t0:#4269d0;--t1:#e08a1e;--t2:#3a9d6b;"
	"--t3:#c9486f;--t4:#7a5cc4;--t5:#2f9fb3;--t6:#a8862b;--t7:#7d8590;"
	"--r1:#dcebf7;--r2:#b3d3ec;--r3:#7fb4dc;--r4:#4a8fc7;--r5:#1f67a5;"
	"--r6:#0a3d70;--w1:#fdebd6;--w2:#fbd0a2;--w3:#f6ab62;--w4:#e57f2b;"
	"--w5:#bb5410;--w6:#7d3203}\n"
	"@media(prefers-color-scheme:dark){:root{--bg:#15171a;--card:#1d2024;"
	"--ink:#e8eaed;--mute:#9aa2ad;--line:#33373e;--a0:#8fd0ff;--a1:#4da3e0;"
	"--a2:#2f78b0;--a3:#2a557a;--a4:#2b3f50;--t0:#7f9cf0;--t1:#f0a84d;"
	"--t2:#62c492;--t3:#ee7d9d;--t4:#a78cf0;--t5:#5cc6d8;--t6:#d4b254;"
	"--t7:#9aa2ad;--r1:#1d2f40;--r2:#1f4464;--r3:#235d8e;--r4:#2f7fbf;"
	"--r5:#5fa9e4;--r6:#b5dcff;--w1:#38291a;--w2:#57371a;--w3:#834a14;"
	"--w4:#b5651a;--w5:#e8913c;--w6:#ffd0a0}}\n"
	"body{margin:0;background:var(--bg);color:var(--ink);"
	"font:15px/1.45 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu "
	"Sans',sans-serif}\n"
	"main{max-width:1120px;margin:0 auto;padding:28px 24px}\n"
	"h1{font-size:26px;margin:0 0 4px;overflow-wrap:anywhere}"
	"h2{font-size:18px;margin:0 0 2px}"
	"p{margin:2px 0 12px;color:var(--mute);max-width:76ch}\n"
	"section{background:var(--card);border:1px solid var(--line);"
	"border-radius:10px;padding:18px 20px;margin:18px 0;"
	"overflow-x:auto}\n"
	"dl{display:flex;flex-wrap:wrap;gap:10px 36px;margin:16px 0 0}"
	"dl div{min-width:90px}dt{color:var(--mute);font-size:13px}"
	"dd{margin:0;font-size:22px;font-variant-numeric:tabular-nums}\n"
	"svg{display:block;width:100%;min-width:680px;height:auto;"
	"font-size:12px}"
	"text{fill:var(--ink)}text.m{fill:var(--mute);font-size:11px}"
	"text.b{font-weight:600;font-size:13px}text.e{text-anchor:end}"
	"text.c{text-anchor:middle}.g{stroke:var(--line)}.lane{fill:var(--bg)}"
	".bar{fill:var(--a1)}.hit{fill:transparent}"
	".hit:hover{fill:var(--ink);fill-opacity:.12}"
	"rect.k{stroke:var(--card)}\n";

/* One class for each colour: .a0{fill:var(--a0)} ... */
static void put_colours(struct page *p)
{
	static const struct {
		char name, from, to;
	} sets[] = {{'a', '0', '4'},
		    {'t', '0', '7'},
		    {'r', '1', '6'},
		    {'w', '1', '6'}};

	for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++)
		for (char c = sets[i].from; c <= sets[i].to; c++)
			page_put(p, ".%c%c{fill:var(--%c%c)}", sets[i].name, c,
				 sets[i].name, c);
}

static void put_figure(struct page *p, const char *name, uint64_t n)
{
	page_put(p, "<div><dt>%s</dt><dd>%llu</dd></div>\n", name,
		 (unsigned long long)n);
}

static void put_figures(struct page *p, const struct shape *s)
{
	page_put(p, "<dl>\n");
	put_figure(p, "tables", s->ntables);
	if (s->told) {
		put_figure(p, "table files", s->files);
		page_put(p, "<div><dt>bytes of them</dt><dd>");
		page_bytes(p, (double)s->bytes);
		page_put(p, "</dd></div>\n");
		put_figure(p, "cells in memory only", s->memory);
	}
	page_put(p, "</dl>\n");
}

static void put_head(struct page *p, const struct shape *s, const char *name)
{
	unsigned minute = (unsigned)(s->now_ms / 60000 % 1440);

	page_put(p, "<!DOCTYPE html>\n"
		    "<html lang=\"en\"><head><meta charset=\"utf-8\"/>"
		    "<meta name=\"viewport\" "
		    "content=\"width=device-width\"/>\n<title>cellfs: ");
	page_key(p, bytes_str(name), 80);
	page_put(p, "</title>\n<style>\n%s", style);
	put_colours(p);
	page_put(p, "\n</style></head>\n<body><main>\n<h1>");
	page_key(p, bytes_str(name), 200);
	page_put(p, "</h1>\n<p>The shape of this store on ");
	page_day(p, s->now_ms / 86400000);
	page_put(p,
		 " at %02u:%02u UTC. Point at a part of a picture to read what "
		 "it is.</p>\n",
		 minute / 60, minute % 60);
}

void draw_page(struct page *p, const struct shape *s, const char *name)
{
	put_head(p, s, name);
	put_figures(p, s);
	if (s->memory)
		page_put(p, "<p>Cells in memory are in the log as well, and in "
			    "none of the pictures of files: cellctl flush "
			    "writes them to files.</p>\n");
	draw_treemap(p, s);
	draw_levels(p, s);
	draw_heatmap(p, s);
	draw_growth(p, s);
	page_put(p, "</main></body></html>\n");
}
