#include "tools/line/print.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "fs/text/cells.h"
#include "tools/line/fail.h"
#include "tools/line/json.h"
#include "tools/line/json_cells.h"

#define OUTPUT_BYTES (1u << 16)

static struct buf output;
static bool json;
static bool has_left; /* who reads the output */

void print_json(void)
{
	json = true;
}

int print_end(void)
{
	size_t n = output.len ? fwrite(output.data, 1, output.len, stdout) : 0;
	bool bad = n < output.len || fflush(stdout) != 0;

	output.len = 0;
	if (!bad)
		return EXIT_DONE;
	has_left = has_left || errno == EPIPE;
	/* Who was asked to stop in a write says so itself. */
	if (has_left || errno == EINTR)
		return EXIT_STORE;
	fprintf(stderr, "cellctl: cannot write the output: %s\n",
		strerror(errno));
	return EXIT_STORE;
}

bool print_has_left(void)
{
	return has_left;
}

/* Ends a line; @r is the result of adding it. */
static int printed(int r)
{
	if (r < 0)
		return fail_memory();
	return output.len >= OUTPUT_BYTES ? print_end() : EXIT_DONE;
}

/* The line of JSON that is being made. */
static struct json line = {.out = &output};

static void begin_line(void)
{
	line.err = 0;
	json_open(&line, NULL, '{');
}

static int end_line(void)
{
	return printed(json_end_line(&line));
}

static int text_line(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));

static int text_line(const char *fmt, ...)
{
	va_list ap;
	char *text;
	int n, r;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return fail_memory();
	r = buf_append(&output, text, (size_t)n);
	free(text);
	return printed(r);
}

static void begin_cell(const struct cell *c)
{
	begin_line();
	json_bytes(&line, "row", c->row);
	json_bytes(&line, "family", c->family);
	json_bytes(&line, "qualifier", c->qualifier);
	json_int(&line, "timestamp", c->ts);
}

static int json_cell(const struct cell *c)
{
	begin_cell(c);
	json_bytes(&line, "value", c->value);
	if (c->ttl_ms)
		json_uint(&line, "ttl", c->ttl_ms);
	if (c->kind != CELL_PUT)
		json_str(&line, "kind", kind_name(c->kind));
	return end_line();
}

int print_cell(const struct cell *c)
{
	return json ? json_cell(c) : printed(cells_format(c, &output));
}

/* With JSON, replaces the lines of text from @from on by their objects. */
static int print_notes(size_t from)
{
	struct buf text = {0};
	const uint8_t *p, *lf, *end;
	int r = 0;

	if (!json)
		return printed(0);
	if (buf_append(&text, output.data + from, output.len - from) < 0)
		return fail_memory();
	output.len = from;
	end = text.data + text.len;
	for (p = text.data; r == 0 && p < end; p = lf + 1) {
		lf = memchr(p, '\n', (size_t)(end - p));
		r = json_note(&output, bytes_of(p, (size_t)(lf - p)));
	}
	buf_free(&text);
	return printed(r);
}

int print_head(struct cells_frame *f, const struct schema *schema)
{
	size_t from = output.len;

	if (cells_frame_begin(f, schema, &output) < 0)
		return fail_memory();
	return print_notes(from);
}

int print_framed(struct cells_frame *f, const struct cell *c)
{
	size_t from = output.len;

	if (cells_format(c, &output) < 0)
		return fail_memory();
	cells_frame_wrote(f, bytes_of(output.data + from, output.len - from));
	if (!json)
		return printed(0);
	output.len = from;
	return json_cell(c);
}

int print_tail(struct cells_frame *f)
{
	size_t from = output.len;

	if (cells_frame_end(f, &output) < 0)
		return fail_memory();
	return print_notes(from);
}

int print_raw(struct bytes b)
{
	return printed(buf_append(&output, b.data, b.len));
}

int print_row(struct bytes row)
{
	int r;

	if (json) {
		begin_line();
		json_bytes(&line, "row", row);
		return end_line();
	}
	r = cells_format_name(row, &output);
	return printed(r < 0 ? r : buf_append(&output, "\n", 1));
}

int print_counter(const struct cell *c, int64_t n)
{
	if (!json)
		return text_line("%lld\n", (long long)n);
	begin_cell(c);
	json_int(&line, "counter", n);
	return end_line();
}

int print_name(const char *what, const char *name)
{
	if (!json)
		return text_line("%s\n", name);
	begin_line();
	json_str(&line, what, name);
	return end_line();
}

int print_namespace(const char *name, uint64_t tables)
{
	if (!json)
		return text_line("namespace %s\ntables %llu\n", name,
				 (unsigned long long)tables);
	begin_line();
	json_str(&line, "namespace", name);
	json_uint(&line, "tables", tables);
	return end_line();
}

int print_figure(const char *what, uint64_t n)
{
	if (!json)
		return text_line("%llu\n", (unsigned long long)n);
	begin_line();
	json_uint(&line, what, n);
	return end_line();
}

int print_truth(const char *what, bool truth)
{
	if (!json)
		return EXIT_DONE;
	begin_line();
	json_bool(&line, what, truth);
	return end_line();
}

static void add_family(const struct family_schema *f)
{
	struct family_attr attr;

	json_open(&line, NULL, '{');
	json_str(&line, "name", f->name);
	for (unsigned i = 0; family_attr_get(&f->attrs, i, &attr); i++) {
		if (attr.choice)
			json_str(&line, attr.word, attr.choice);
		else
			json_uint(&line, attr.word, attr.number);
	}
	json_close(&line, '}');
}

static int json_schema(const char *table, const struct schema *s)
{
	char mode[16];

	snprintf(mode, sizeof(mode), "%04o", s->mode);
	begin_line();
	json_str(&line, "table", table);
	json_str(&line, "families", s->fixed ? "fixed" : "open");
	json_str(&line, "mode", mode);
	json_uint(&line, "uid", s->uid);
	json_uint(&line, "gid", s->gid);
	if (s->quota)
		json_uint(&line, "quota", s->quota);
	json_open(&line, "family", '[');
	for (uint32_t i = 0; i < s->nfamilies; i++)
		add_family(&s->families[i]);
	json_close(&line, ']');
	return end_line();
}

int print_schema(const char *table, const struct schema *schema)
{
	return json ? json_schema(table, schema)
		    : printed(schema_format(schema, &output));
}

int print_stat(const struct store_stat *st)
{
	if (!json)
		return text_line("%-30s %12llu  %s\n", st->name,
				 (unsigned long long)st->value, st->help);
	begin_line();
	json_str(&line, "name", st->name);
	json_uint(&line, "value", st->value);
	json_bool(&line, "counter", st->counter);
	json_str(&line, "help", st->help);
	return end_line();
}

static int json_status(const struct print_status *st)
{
	begin_line();
	json_str(&line, "store", st->store);
	json_str(&line, "mountpoint", st->mountpoint);
	json_bool(&line, "healthy", !st->trouble);
	json_str(&line, "trouble", st->trouble);
	if (!st->unknown)
		json_uint(&line, "tables", st->tables);
	if (!st->unknown && st->told) {
		json_uint(&line, "files", st->files);
		json_uint(&line, "bytes", st->bytes);
		json_uint(&line, "damaged", st->damaged);
	}
	return end_line();
}

static const char *many(uint64_t n)
{
	return n == 1 ? "" : "s";
}

int print_status(const struct print_status *st)
{
	char files[128] = "";

	if (json)
		return json_status(st);
	if (st->unknown)
		return text_line("%s on %s: %s\n", st->store, st->mountpoint,
				 st->trouble);
	if (st->told)
		snprintf(files, sizeof(files),
			 ", %llu file%s of %llu bytes, %llu damaged",
			 (unsigned long long)st->files, many(st->files),
			 (unsigned long long)st->bytes,
			 (unsigned long long)st->damaged);
	return text_line("%s%s%s: %s%s, %llu table%s%s\n", st->store,
			 st->mountpoint ? " on " : "",
			 st->mountpoint ? st->mountpoint : ", not mounted",
			 st->trouble ? "takes no writes: " : "takes writes",
			 st->trouble ? st->trouble : "",
			 (unsigned long long)st->tables, many(st->tables),
			 files);
}

static int json_table(const char *name, const struct table_info *i,
		      uint64_t quota)
{
	begin_line();
	json_str(&line, "table", name);
	if (!i)
		return end_line();
	json_bool(&line, "exact", i->exact);
	json_uint(&line, "rows", i->rows);
	json_uint(&line, "cells", i->cells);
	json_uint(&line, "files", i->files);
	json_uint(&line, "bytes", i->bytes);
	if (quota)
		json_uint(&line, "quota", quota);
	json_uint(&line, "damaged", i->damaged);
	return end_line();
}

int print_status_table(const char *name, const struct table_info *i,
		       uint64_t quota)
{
	const char *about = i && !i->exact ? "~" : "";
	char of[48] = "";

	if (json)
		return json_table(name, i, quota);
	if (!i)
		return text_line("  %s\n", name);
	if (quota)
		snprintf(of, sizeof(of), " (quota %llu)",
			 (unsigned long long)quota);
	return text_line("  %s: %s%llu row%s, %s%llu cell%s, %llu file%s of "
			 "%llu bytes%s, %llu damaged\n",
			 name, about, (unsigned long long)i->rows,
			 many(i->rows), about, (unsigned long long)i->cells,
			 many(i->cells), (unsigned long long)i->files,
			 many(i->files), (unsigned long long)i->bytes, of,
			 (unsigned long long)i->damaged);
}

int print_faults(const char *store, int faults)
{
	if (!json)
		return text_line("%s: %d fault%s\n", store, faults,
				 many((uint64_t)faults));
	begin_line();
	json_str(&line, "store", store);
	json_int(&line, "faults", faults);
	return end_line();
}

/* A part that is lost: nine fields, of which some may be empty. */
static int lost_line(const struct store_rescue *n)
{
	int r = buf_printf(&output, "lost\t%s\t%s\t%s\t%llu\t%llu\t",
			   n->table ? n->table : "", n->family ? n->family : "",
			   n->file, (unsigned long long)n->offset,
			   (unsigned long long)n->bytes);

	if (r >= 0 && n->from.len)
		r = cells_format_name(n->from, &output);
	if (r >= 0)
		r = buf_append(&output, "\t", 1);
	if (r >= 0 && n->to.len)
		r = cells_format_name(n->to, &output);
	return r < 0 ? printed(r) : text_line("\t%s\n", n->reason);
}

static void add_lost(const struct store_rescue *n)
{
	json_str(&line, "lost", n->file);
	json_str(&line, "table", n->table);
	json_str(&line, "family", n->family);
	json_uint(&line, "offset", n->offset);
	if (n->bytes)
		json_uint(&line, "bytes", n->bytes);
	if (n->from.len)
		json_bytes(&line, "from", n->from);
	if (n->to.len)
		json_bytes(&line, "to", n->to);
	json_str(&line, "reason", n->reason);
}

static int json_rescue(const struct store_rescue *n)
{
	begin_line();
	if (n->kind == RESCUE_LOST) {
		add_lost(n);
	} else if (n->kind == RESCUE_NOTE) {
		json_str(&line, "note", n->reason);
	} else {
		json_str(&line, "table", n->table);
		json_str(&line, "family", n->family);
		json_uint(&line, "rows", n->rows);
		json_uint(&line, "cells", n->cells);
	}
	return end_line();
}

int print_rescue(const struct store_rescue *n)
{
	if (json)
		return json_rescue(n);
	if (n->kind == RESCUE_LOST)
		return lost_line(n);
	if (n->kind == RESCUE_NOTE)
		return text_line("note\t%s\n", n->reason);
	return text_line("salvaged\t%s\t%s\t%llu\t%llu\n", n->table, n->family,
			 (unsigned long long)n->rows,
			 (unsigned long long)n->cells);
}

int print_snapshot(const struct snapshot_info *info)
{
	int r;

	if (!json) {
		r = cells_format_name(bytes_str(info->name), &output);
		return r < 0 ? printed(r)
			     : text_line("\t%lld\n", (long long)info->taken_ms);
	}
	begin_line();
	json_str(&line, "snapshot", info->name);
	json_int(&line, "taken", info->taken_ms);
	return end_line();
}

int print_backup(uint64_t number, int64_t taken_ms, uint64_t files,
		 uint64_t bytes, uint64_t log)
{
	if (!json)
		return text_line("%llu\t%lld\t%llu\t%llu\t%llu\n",
				 (unsigned long long)number,
				 (long long)taken_ms, (unsigned long long)files,
				 (unsigned long long)bytes,
				 (unsigned long long)log);
	begin_line();
	json_uint(&line, "backup", number);
	json_int(&line, "taken", taken_ms);
	json_uint(&line, "files", files);
	json_uint(&line, "bytes", bytes);
	json_uint(&line, "log", log);
	return end_line();
}

int print_backup_made(uint64_t number, uint64_t files, uint64_t bytes,
		      uint64_t carried_files, uint64_t carried,
		      int64_t moment_ms)
{
	if (!json)
		return text_line(
			"%llu\t%llu\t%llu\t%llu\t%llu\t%lld\n",
			(unsigned long long)number, (unsigned long long)files,
			(unsigned long long)bytes,
			(unsigned long long)carried_files,
			(unsigned long long)carried, (long long)moment_ms);
	begin_line();
	json_uint(&line, "backup", number);
	json_uint(&line, "files", files);
	json_uint(&line, "bytes", bytes);
	json_uint(&line, "carried_files", carried_files);
	json_uint(&line, "carried", carried);
	json_int(&line, "moment", moment_ms);
	return end_line();
}
