/*
 * Commands that draw a store.
 */
#include <stdio.h>

#include "fs/text/cells.h"
#include "tools/cellctl.h"
#include "tools/cmds.h"
#include "tools/line/print.h"
#include "tools/shape/draw.h"

/* A page says so, and has the rest. */
static int fail_no_files(const char *store)
{
	fprintf(stderr,
		"cellctl: %s: what files there are HBase's own tools tell\n",
		store);
	return EXIT_STORE;
}

static int draw(struct request *rq, bool plain,
		void (*what)(struct page *p, const struct shape *s,
			     const char *name))
{
	struct page page = {.plain = plain};
	struct shape s;
	int code = EXIT_DONE;

	if (shape_load(rq->store, &s) < 0)
		code = fail_store(rq->words[0]);
	else if (plain && !s.told)
		code = fail_no_files(rq->words[0]);
	else
		what(&page, &s, rq->words[0]);
	if (code == EXIT_DONE)
		code = page.err ? fail_memory()
				: print_raw(buf_bytes(&page.out));
	shape_free(&s);
	buf_free(&page.out);
	return code;
}

static void plot(struct page *p, const struct shape *s, const char *name)
{
	draw_plot(p, s);
}

int cmd_plot(struct request *rq)
{
	return draw(rq, true, plot);
}

/* As every command spells it. */
static void put_row(struct page *p, struct bytes row)
{
	if (!p->err)
		p->err = cells_format_name(row, &p->out);
}

/* A line a file. */
static void list(struct page *p, const struct shape *s, const char *name)
{
	for (size_t i = 0; i < s->nfiles; i++) {
		const struct shape_file *f = &s->files_of[i];

		page_key(p, s->tables[f->table].name, SIZE_MAX);
		page_put(p, "\t");
		page_key(p, f->family, SIZE_MAX);
		page_put(p, "\t%llu\t%llu.sst\t%llu\t%llu\t",
			 (unsigned long long)f->level,
			 (unsigned long long)f->number,
			 (unsigned long long)f->bytes,
			 (unsigned long long)f->entries);
		put_row(p, f->row);
		page_put(p, "\t");
		put_row(p, f->last);
		page_put(p, "\n");
	}
}

int cmd_shape(struct request *rq)
{
	return draw(rq, !rq->html, rq->html ? draw_page : list);
}
