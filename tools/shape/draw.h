/*
 * The pictures of a page. Each is a section with one SVG of DRAW_WIDTH units, and
 * says in words what it shows. What each may have at most is bounded, so that a page
 * is less than a megabyte whatever is stored: beyond it neighbours are put
 * together, and the page says so.
 */
#ifndef CELLFS_TOOLS_SHAPE_DRAW_H
#define CELLFS_TOOLS_SHAPE_DRAW_H

#include "tools/shape/page.h"
#include "tools/shape/shape.h"

#define DRAW_WIDTH 1000

/* The whole page, of the store that @name names. */
void draw_page(struct page *p, const struct shape *s, const char *name);

void draw_treemap(struct page *p, const struct shape *s);
void draw_levels(struct page *p, const struct shape *s);
void draw_heatmap(struct page *p, const struct shape *s);
void draw_growth(struct page *p, const struct shape *s);
/* The same in bars for a terminal. */
void draw_plot(struct page *p, const struct shape *s);

#endif
