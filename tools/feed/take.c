#include "tools/feed/take.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "store/value/array.h"
#include "tools/progress/progress.h"

void take_where(void *arg, uint64_t cell, char *out, size_t size)
{
	const struct take *t = arg;
	uint64_t line = t->format ? 1 : cell;

	for (size_t i = t->done; i < t->n && t->marks[i].first <= cell; i++)
		line = t->marks[i].line;
	snprintf(out, size, "%s:%llu: ", t->file, (unsigned long long)line);
}

/* Remembers the line of the cell that comes next. */
static int mark(struct take *t, uint64_t line)
{
	uint64_t applied = cells_import_applied(t->import);

	while (t->n - t->done > 1 && t->marks[t->done + 1].first <= applied)
		t->done++;
	if (t->done > t->n / 2) {
		t->n -= t->done;
		memmove(t->marks, t->marks + t->done, t->n * sizeof(*t->marks));
		t->done = 0;
	}
	if (ARRAY_RESERVE(t->marks, t->cap, t->n + 1) < 0)
		return why(-ENOMEM, "out of memory");
	t->marks[t->n++] =
		(struct mark){cells_import_lines(t->import) + 1, line};
	return 0;
}

/* Fails with store_why() about a line of the file. */
static int refuse(struct take *t, uint64_t line, int err)
{
	char reason[600];

	snprintf(reason, sizeof(reason), "%s", store_why());
	if (mark(t, line) == 0)
		why(err, "%s", reason);
	return cells_import_refuse(t->import, err);
}

static int check_twice(const struct record *r, size_t i)
{
	struct bytes name = r->fields[i].name;

	for (size_t k = 0; k < i; k++)
		if (bytes_eq(r->fields[k].name, name))
			return why(-EINVAL, "'%.*s' is there twice",
				   (int)name.len, name.data);
	return 0;
}

int take_unread(void)
{
	return why(-EIO, "the input cannot be read: %s", strerror(errno));
}

/* Two values of one column would be one, without a word. */
static int check_column(struct take *t, const struct record *r, size_t i,
			const struct place *place)
{
	struct buf *to;

	if (ARRAY_RESERVE(t->columns, t->columns_cap, i + 1) < 0)
		return why(-ENOMEM, "out of memory");
	while (t->ncolumns <= i)
		t->columns[t->ncolumns++] = (struct buf){0};
	to = &t->columns[i];
	to->len = 0;
	if (place->is_key || place->left_out || r->fields[i].absent)
		return 0;
	if (buf_set(to, place->family) < 0 || buf_append(to, ":", 1) < 0 ||
	    buf_append(to, place->qualifier.data, place->qualifier.len) < 0)
		return why(-ENOMEM, "out of memory");
	for (size_t k = 0; k < i; k++)
		if (bytes_eq(buf_bytes(&t->columns[k]), buf_bytes(to)))
			return why(-EINVAL,
				   "the fields '%.*s' and '%.*s' both go to "
				   "%.*s: --map says where, or 'FIELD=' leaves "
				   "one out",
				   (int)r->fields[k].name.len,
				   r->fields[k].name.data,
				   (int)r->fields[i].name.len,
				   r->fields[i].name.data, (int)to->len,
				   to->data);
	return 0;
}

/* Is each field that --map gives a column in the head? */
static int check_rules(const struct take *t, const struct record *head)
{
	for (size_t i = 0; i < t->rules.n; i++) {
		const struct rule *rule = &t->rules.list[i];
		bool there =
			rule->left_out || bytes_eq(rule->field, bytes_str("*"));

		for (size_t k = 0; !there && k < head->n; k++)
			there = bytes_eq(head->fields[k].name, rule->field);
		if (!there)
			return why(
				-EINVAL,
				"there is no field '%.*s', which --map names",
				(int)rule->field.len, rule->field.data);
	}
	return 0;
}

/* Finds the key, and whether each field has its place. */
static int look_at(struct take *t, const struct record *r, bool is_new,
		   struct bytes *row)
{
	const struct field *key = NULL;
	struct place place;

	for (size_t i = 0; i < r->n; i++) {
		const struct field *f = &r->fields[i];
		int bad = rules_find(&t->rules, f->name, &place);

		if (bad == 0 && is_new)
			bad = check_twice(r, i);
		if (bad == 0 && is_new)
			bad = check_column(t, r, i, &place);
		if (bad < 0)
			return bad;
		if (place.is_key)
			key = f;
	}
	if (!key)
		return why(-EINVAL,
			   "there is no field '%.*s', the row key: --key says "
			   "which it is",
			   (int)t->rules.key.len, t->rules.key.data);
	*row = key->absent ? bytes_str("") : key->value;
	return 0;
}

static int put_field(struct take *t, struct bytes row, const struct field *f,
		     struct buf *hold)
{
	struct cells_line l = {
		.row = row,
		.op = CHANGE_PUT,
		.ts = TS_AUTO,
		.value = f->value,
	};
	struct place place;
	int r = rules_find(&t->rules, f->name, &place);

	if (r < 0 || place.is_key || place.left_out || f->absent)
		return r;
	hold->len = 0;
	if (place.type) {
		r = typed_read(place.type, f->value, hold);
		l.value = buf_bytes(hold);
	}
	if (r < 0)
		return cells_import_refuse(t->import, r);
	l.family = place.family;
	l.qualifier = place.qualifier;
	return cells_import_put(t->import, &l);
}

static int take_record(struct take *t, const struct record *rec,
		       struct buf *hold)
{
	struct bytes row;
	int r;

	cells_import_row_ends(t->import);
	r = look_at(t, rec, !t->format->head, &row);

	if (r == 0 && !row.len)
		r = why(-EINVAL, "the row key is empty");
	if (r < 0)
		return refuse(t, rec->line, r);
	r = mark(t, rec->line);
	for (size_t i = 0; r == 0 && i < rec->n; i++)
		r = put_field(t, row, &rec->fields[i], hold);
	return r;
}

/* The bytes that are to be read; 0: the input is no file. */
static uint64_t total;

void take_begins(FILE *in)
{
	struct stat st;

	total = 0;
	if (fstat(fileno(in), &st) == 0 && S_ISREG(st.st_mode))
		total = (uint64_t)st.st_size;
	progress_begin("import", total ? "MiB" : "cells", total);
}

int take_went(const struct cells_import *im, size_t bytes)
{
	bool on = total ? progress_add(bytes)
			: progress_at(cells_import_applied(im), 0);

	return on ? 0 : why(-EINTR, "stopped");
}

int take_all(struct take *t, FILE *file)
{
	struct input in = {
		.file = file, .line = 1, .separator = t->format->separator};
	struct buf hold = {0};
	struct record rec = {0};
	off_t last = 0, at;
	struct bytes row;
	int r = 1;

	if (t->format->head)
		r = t->format->head(&in);
	if (ferror(file))
		r = take_unread();
	t->any = in.head.n > 0;
	if (r > 0 && t->any &&
	    (look_at(t, &in.head, true, &row) < 0 ||
	     check_rules(t, &in.head) < 0))
		r = -EINVAL;
	rec.line = in.head.line;
	while (r > 0) {
		r = t->format->next(&in, &rec);
		/* Then it has ended in the midst of a record. */
		if (ferror(file))
			r = take_unread();
		t->any = t->any || r > 0;
		if (r > 0)
			r = take_record(t, &rec, &hold) < 0 ? -ECANCELED : 1;
		at = ftello(file);
		if (r > 0 && take_went(t->import, (size_t)(at - last)) < 0)
			r = -ECANCELED;
		last = at;
	}
	cells_import_row_ends(t->import);
	if (r < 0 && r != -ECANCELED)
		refuse(t, rec.line ? rec.line : 1, r);
	input_free(&in);
	record_free(&rec);
	buf_free(&hold);
	return r;
}

void take_free(struct take *t)
{
	rules_free(&t->rules);
	free(t->marks);
	for (size_t i = 0; i < t->ncolumns; i++)
		buf_free(&t->columns[i]);
	free(t->columns);
}
