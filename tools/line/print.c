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

/* Ends a line of JSON. */
static int end_line(int r)
{
	if (r == 0)
		r = json_close(&output, '}');
	if (r == 0)
		r = buf_append(&output, "\n", 1);
	return printed(r);
}

static int text_line(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));

static int text_line(const char *fmt, ...)
{
	va_list ap;
	char *line;
	int n, r;

	va_start(ap, fmt);
	n = vasprintf(&line, fmt, ap);
	va_end(ap);
	if (n < 0)
		return fail_memory();
	r = buf_append(&output, line, (size_t)n);
	free(line);
	return printed(r);
}

static int json_begin_cell(const struct cell *c)
{
	int r = json_open(&output, NULL, '{');

	if (r == 0)
		r = json_bytes(&output, "row", c->row);
	if (r == 0)
		r = json_bytes(&output, "family", c->family);
	if (r == 0)
		r = json_bytes(&output, "qualifier", c->qualifier);
	if (r == 0)
		r = json_int(&output, "timestamp", c->ts);
	return r;
}

static int json_cell(const struct cell *c)
{
	int r = json_begin_cell(c);

	if (r == 0)
		r = json_bytes(&output, "value", c->value);
	if (r == 0 && c->ttl_ms)
		r = json_uint(&output, "ttl", c->ttl_ms);
	if (r == 0 && c->kind != CELL_PUT)
		r = json_str(&output, "kind", kind_name(c->kind));
	return end_line(r);
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

int print_value(const struct cell *c)
{
	return print_raw(c->value);
}

int print_row(struct bytes row)
{
	int r;

	if (json) {
		r = json_open(&output, NULL, '{');
		return end_line(r < 0 ? r : json_bytes(&output, "row", row));
	}
	r = cells_format_name(row, &output);
	return printed(r < 0 ? r : buf_append(&output, "\n", 1));
}

int print_counter(const struct cell *c, int64_t n)
{
	int r;

	if (!json)
		return text_line("%lld\n", (long long)n);
	r = json_begin_cell(c);
	return end_line(r < 0 ? r : json_int(&output, "counter", n));
}

int print_name(const char *what, const char *name)
{
	int r;

	if (!json)
		return text_line("%s\n", name);
	r = json_open(&output, NULL, '{');
	return end_line(r < 0 ? r : json_str(&output, what, name));
}

int print_namespace(const char *name, uint64_t tables)
{
	int r;

	if (!json)
		return text_line("namespace %s\ntables %llu\n", name,
				 (unsigned long long)tables);
	r = json_open(&output, NULL, '{');
	if (r == 0)
		r = json_str(&output, "namespace", name);
	return end_line(r < 0 ? r : json_uint(&output, "tables", tables));
}

int print_figure(const char *what, uint64_t n)
{
	int r;

	if (!json)
		return text_line("%llu\n", (unsigned long long)n);
	r = json_open(&output, NULL, '{');
	return end_line(r < 0 ? r : json_uint(&output, what, n));
}

int print_truth(const char *what, bool truth)
{
	int r;

	if (!json)
		return EXIT_DONE;
	r = json_open(&output, NULL, '{');
	return end_line(r < 0 ? r : json_bool(&output, what, truth));
}

static int json_family(const struct family_schema *f)
{
	struct family_attr attr;
	int r = json_open(&output, NULL, '{');

	if (r == 0)
		r = json_str(&output, "name", f->name);
	for (unsigned i = 0; r == 0 && family_attr_get(&f->attrs, i, &attr);
	     i++)
		r = attr.choice ? json_str(&output, attr.word, attr.choice)
				: json_uint(&output, attr.word, attr.number);
	return r < 0 ? r : json_close(&output, '}');
}

static int json_schema(const char *table, const struct schema *s)
{
	char mode[16];
	int r = json_open(&output, NULL, '{');

	snprintf(mode, sizeof(mode), "%04o", s->mode);
	if (r == 0)
		r = json_str(&output, "table", table);
	if (r == 0)
		r = json_str(&output, "families", s->fixed ? "fixed" : "open");
	if (r == 0)
		r = json_str(&output, "mode", mode);
	if (r == 0)
		r = json_uint(&output, "uid", s->uid);
	if (r == 0)
		r = json_uint(&output, "gid", s->gid);
	if (r == 0 && s->quota)
		r = json_uint(&output, "quota", s->quota);
	if (r == 0)
		r = json_open(&output, "family", '[');
	for (uint32_t i = 0; r == 0 && i < s->nfamilies; i++)
		r = json_family(&s->families[i]);
	return end_line(r < 0 ? r : json_close(&output, ']'));
}

int print_schema(const char *table, const struct schema *schema)
{
	return json ? json_schema(table, schema)
		    : printed(schema_format(schema, &output));
}

int print_stat(const struct store_stat *st)
{
	int r;

	if (!json)
		return text_line("%-30s %12llu  %s\n", st->name,
				 (unsigned long long)st->value, st->help);
	r = json_open(&output, NULL, '{');
	if (r == 0)
		r = json_str(&output, "name", st->name);
	if (r == 0)
		r = json_uint(&output, "value", st->value);
	if (r == 0)
		r = json_bool(&output, "counter", st->counter);
	return end_line(r < 0 ? r : json_str(&output, "help", st->help));
}

static int json_status(const struct print_status *st)
{
	int r = json_open(&output, NULL, '{');

	if (r == 0)
		r = json_str(&output, "store", st->store);
	if (r == 0 && st->mountpoint)
		r = json_str(&output, "mountpoint", st->mountpoint);
	if (r == 0)
		r = json_bool(&output, "healthy", !st->trouble);
	if (r == 0 && st->trouble)
		r = json_str(&output, "trouble", st->trouble);
	if (r < 0 || st->unknown)
		return end_line(r);
	r = json_uint(&output, "tables", st->tables);
	if (r < 0 || !st->told)
		return end_line(r);
	r = json_uint(&output, "files", st->files);
	if (r == 0)
		r = json_uint(&output, "bytes", st->bytes);
	return end_line(r < 0 ? r : json_uint(&output, "damaged", st->damaged));
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
	int r = json_open(&output, NULL, '{');

	if (r == 0)
		r = json_str(&output, "table", name);
	if (r < 0 || !i)
		return end_line(r);
	r = json_bool(&output, "exact", i->exact);
	if (r == 0)
		r = json_uint(&output, "rows", i->rows);
	if (r == 0)
		r = json_uint(&output, "cells", i->cells);
	if (r == 0)
		r = json_uint(&output, "files", i->files);
	if (r == 0)
		r = json_uint(&output, "bytes", i->bytes);
	if (r == 0 && quota)
		r = json_uint(&output, "quota", quota);
	return end_line(r < 0 ? r : json_uint(&output, "damaged", i->damaged));
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

int print_fault(const char *sentence)
{
	int r;

	if (!json)
		return text_line("%s\n", sentence);
	r = json_open(&output, NULL, '{');
	return end_line(r < 0 ? r : json_str(&output, "fault", sentence));
}

int print_faults(const char *store, int faults)
{
	int r;

	if (!json)
		return text_line("%s: %d fault%s\n", store, faults,
				 faults == 1 ? "" : "s");
	r = json_open(&output, NULL, '{');
	if (r == 0)
		r = json_str(&output, "store", store);
	return end_line(r < 0 ? r : json_int(&output, "faults", faults));
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

static int json_lost(const struct store_rescue *n)
{
	int r = json_str(&output, "lost", n->file);

	if (r == 0 && n->table)
		r = json_str(&output, "table", n->table);
	if (r == 0 && n->family)
		r = json_str(&output, "family", n->family);
	if (r == 0)
		r = json_uint(&output, "offset", n->offset);
	if (r == 0 && n->bytes)
		r = json_uint(&output, "bytes", n->bytes);
	if (r == 0 && n->from.len)
		r = json_bytes(&output, "from", n->from);
	if (r == 0 && n->to.len)
		r = json_bytes(&output, "to", n->to);
	return r < 0 ? r : json_str(&output, "reason", n->reason);
}

static int json_rescue(const struct store_rescue *n)
{
	int r;

	if (n->kind == RESCUE_LOST)
		return json_lost(n);
	if (n->kind == RESCUE_NOTE)
		return json_str(&output, "note", n->reason);
	r = json_str(&output, "table", n->table);
	if (r == 0)
		r = json_str(&output, "family", n->family);
	if (r == 0)
		r = json_uint(&output, "rows", n->rows);
	return r < 0 ? r : json_uint(&output, "cells", n->cells);
}

int print_rescue(const struct store_rescue *n)
{
	int r;

	if (json) {
		r = json_open(&output, NULL, '{');
		return end_line(r < 0 ? r : json_rescue(n));
	}
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
		if (r < 0)
			return printed(r);
		return text_line("\t%lld\n", (long long)info->taken_ms);
	}
	r = json_open(&output, NULL, '{');
	if (r == 0)
		r = json_str(&output, "snapshot", info->name);
	return end_line(r < 0 ? r : json_int(&output, "taken", info->taken_ms));
}

int print_backup(uint64_t number, int64_t taken_ms, uint64_t files,
		 uint64_t bytes, uint64_t log)
{
	int r;

	if (!json)
		return text_line("%llu\t%lld\t%llu\t%llu\t%llu\n",
				 (unsigned long long)number,
				 (long long)taken_ms, (unsigned long long)files,
				 (unsigned long long)bytes,
				 (unsigned long long)log);
	r = json_open(&output, NULL, '{');
	if (r == 0)
		r = json_uint(&output, "backup", number);
	if (r == 0)
		r = json_int(&output, "taken", taken_ms);
	if (r == 0)
		r = json_uint(&output, "files", files);
	if (r == 0)
		r = json_uint(&output, "bytes", bytes);
	return end_line(r < 0 ? r : json_uint(&output, "log", log));
}

int print_backup_made(uint64_t number, uint64_t files, uint64_t bytes,
		      uint64_t carried_files, uint64_t carried,
		      int64_t moment_ms)
{
	int r;

	if (!json)
		return text_line(
			"%llu\t%llu\t%llu\t%llu\t%llu\t%lld\n",
			(unsigned long long)number, (unsigned long long)files,
			(unsigned long long)bytes,
			(unsigned long long)carried_files,
			(unsigned long long)carried, (long long)moment_ms);
	r = json_open(&output, NULL, '{');
	if (r == 0)
		r = json_uint(&output, "backup", number);
	if (r == 0)
		r = json_uint(&output, "files", files);
	if (r == 0)
		r = json_uint(&output, "bytes", bytes);
	if (r == 0)
		r = json_uint(&output, "carried_files", carried_files);
	if (r == 0)
		r = json_uint(&output, "carried", carried);
	return end_line(r < 0 ? r : json_int(&output, "moment", moment_ms));
}
