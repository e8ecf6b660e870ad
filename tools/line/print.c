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

/* What has been added to the line of JSON: 0, or the error that ends it. */
static int line_err;

static void open_in_line(const char *name, char bracket)
{
	if (line_err == 0)
		line_err = json_open(&output, name, bracket);
}

static void close_in_line(char bracket)
{
	if (line_err == 0)
		line_err = json_close(&output, bracket);
}

static void begin_line(void)
{
	line_err = 0;
	open_in_line(NULL, '{');
}

static int end_line(void)
{
	close_in_line('}');
	if (line_err == 0)
		line_err = buf_append(&output, "\n", 1);
	return printed(line_err);
}

/* Nothing, of a text that is NULL. */
static void add_text(const char *name, const char *text)
{
	if (line_err == 0 && text)
		line_err = json_str(&output, name, text);
}

static void add_bytes(const char *name, struct bytes b)
{
	if (line_err == 0)
		line_err = json_bytes(&output, name, b);
}

static void add_number(const char *name, uint64_t n)
{
	if (line_err == 0)
		line_err = json_uint(&output, name, n);
}

static void add_signed(const char *name, int64_t n)
{
	if (line_err == 0)
		line_err = json_int(&output, name, n);
}

static void add_truth(const char *name, bool truth)
{
	if (line_err == 0)
		line_err = json_bool(&output, name, truth);
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

static void begin_cell(const struct cell *c)
{
	begin_line();
	add_bytes("row", c->row);
	add_bytes("family", c->family);
	add_bytes("qualifier", c->qualifier);
	add_signed("timestamp", c->ts);
}

static int json_cell(const struct cell *c)
{
	begin_cell(c);
	add_bytes("value", c->value);
	if (c->ttl_ms)
		add_number("ttl", c->ttl_ms);
	if (c->kind != CELL_PUT)
		add_text("kind", kind_name(c->kind));
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

int print_value(const struct cell *c)
{
	return print_raw(c->value);
}

int print_row(struct bytes row)
{
	int r;

	if (json) {
		begin_line();
		add_bytes("row", row);
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
	add_signed("counter", n);
	return end_line();
}

int print_name(const char *what, const char *name)
{
	if (!json)
		return text_line("%s\n", name);
	begin_line();
	add_text(what, name);
	return end_line();
}

int print_namespace(const char *name, uint64_t tables)
{
	if (!json)
		return text_line("namespace %s\ntables %llu\n", name,
				 (unsigned long long)tables);
	begin_line();
	add_text("namespace", name);
	add_number("tables", tables);
	return end_line();
}

int print_figure(const char *what, uint64_t n)
{
	if (!json)
		return text_line("%llu\n", (unsigned long long)n);
	begin_line();
	add_number(what, n);
	return end_line();
}

int print_truth(const char *what, bool truth)
{
	if (!json)
		return EXIT_DONE;
	begin_line();
	add_truth(what, truth);
	return end_line();
}

static void add_family(const struct family_schema *f)
{
	struct family_attr attr;

	open_in_line(NULL, '{');
	add_text("name", f->name);
	for (unsigned i = 0; family_attr_get(&f->attrs, i, &attr); i++) {
		if (attr.choice)
			add_text(attr.word, attr.choice);
		else
			add_number(attr.word, attr.number);
	}
	close_in_line('}');
}

static int json_schema(const char *table, const struct schema *s)
{
	char mode[16];

	snprintf(mode, sizeof(mode), "%04o", s->mode);
	begin_line();
	add_text("table", table);
	add_text("families", s->fixed ? "fixed" : "open");
	add_text("mode", mode);
	add_number("uid", s->uid);
	add_number("gid", s->gid);
	if (s->quota)
		add_number("quota", s->quota);
	open_in_line("family", '[');
	for (uint32_t i = 0; i < s->nfamilies; i++)
		add_family(&s->families[i]);
	close_in_line(']');
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
	add_text("name", st->name);
	add_number("value", st->value);
	add_truth("counter", st->counter);
	add_text("help", st->help);
	return end_line();
}

static int json_status(const struct print_status *st)
{
	begin_line();
	add_text("store", st->store);
	add_text("mountpoint", st->mountpoint);
	add_truth("healthy", !st->trouble);
	add_text("trouble", st->trouble);
	if (!st->unknown)
		add_number("tables", st->tables);
	if (!st->unknown && st->told) {
		add_number("files", st->files);
		add_number("bytes", st->bytes);
		add_number("damaged", st->damaged);
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
	add_text("table", name);
	if (!i)
		return end_line();
	add_truth("exact", i->exact);
	add_number("rows", i->rows);
	add_number("cells", i->cells);
	add_number("files", i->files);
	add_number("bytes", i->bytes);
	if (quota)
		add_number("quota", quota);
	add_number("damaged", i->damaged);
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

int print_fault(const char *sentence)
{
	return print_name("fault", sentence);
}

int print_faults(const char *store, int faults)
{
	if (!json)
		return text_line("%s: %d fault%s\n", store, faults,
				 faults == 1 ? "" : "s");
	begin_line();
	add_text("store", store);
	add_signed("faults", faults);
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
	add_text("lost", n->file);
	add_text("table", n->table);
	add_text("family", n->family);
	add_number("offset", n->offset);
	if (n->bytes)
		add_number("bytes", n->bytes);
	if (n->from.len)
		add_bytes("from", n->from);
	if (n->to.len)
		add_bytes("to", n->to);
	add_text("reason", n->reason);
}

static int json_rescue(const struct store_rescue *n)
{
	begin_line();
	if (n->kind == RESCUE_LOST) {
		add_lost(n);
	} else if (n->kind == RESCUE_NOTE) {
		add_text("note", n->reason);
	} else {
		add_text("table", n->table);
		add_text("family", n->family);
		add_number("rows", n->rows);
		add_number("cells", n->cells);
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
	add_text("snapshot", info->name);
	add_signed("taken", info->taken_ms);
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
	add_number("backup", number);
	add_signed("taken", taken_ms);
	add_number("files", files);
	add_number("bytes", bytes);
	add_number("log", log);
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
	add_number("backup", number);
	add_number("files", files);
	add_number("bytes", bytes);
	add_number("carried_files", carried_files);
	add_number("carried", carried);
	add_signed("moment", moment_ms);
	return end_line();
}
