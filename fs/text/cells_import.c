#include "fs/text/cells_import.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/text/cells_frame.h"
#include "fs/text/cells_rows.h"

/* A batch is applied when it has this many bytes; a row is never split. */
#define BATCH_BYTES (1u << 20)
/* The most bytes of a line. */
#define LINE_BYTES_MAX (4ull * VALUE_LEN_MAX)
/* The parts of an export's rows: small enough for a served store, too. */
#define PART_BYTES (4u << 20)
#define PART_LINES (1u << 16)

struct cells_import {
	struct table *table;
	int failed;
	char *reason; /* in words, for failed; or NULL */
	uint64_t lines;
	struct buf partial; /* the beginning of an unfinished line */
	struct buf hold;
	struct cells_rows rows;
	uint64_t first_line; /* number of the first line not yet applied */
	struct buf only_row, only_family; /* empty = any */
	bool puts_only;			  /* no deletes */
	bool has_schema;
	struct schema schema;
	uint64_t schema_version;
	struct cells_frame frame;
	bool row_ended;	    /* the last row gets no more lines */
	bool ready;	    /* the table is known for the next cells */
	bool parted;	    /* rows are applied in parts */
	struct schema from; /* the export's schema */
	cells_target *target;
	void *target_arg;
	cells_where *where;
	void *where_arg;
};

int cells_import_new(struct table *t, unsigned flags, struct cells_import **out)
{
	struct cells_import *im = calloc(1, sizeof(*im));

	if (!im)
		return why(-ENOMEM, "out of memory");
	im->table = im->rows.table = t;
	im->rows.flags = flags;
	table_ref(t);
	*out = im;
	return 0;
}

int cells_import_new_late(cells_target *target, void *arg, unsigned flags,
			  struct cells_import **out)
{
	struct cells_import *im = calloc(1, sizeof(*im));

	if (!im)
		return why(-ENOMEM, "out of memory");
	im->target = target;
	im->target_arg = arg;
	im->rows.flags = flags;
	*out = im;
	return 0;
}

void cells_import_free(struct cells_import *im)
{
	if (!im)
		return;
	table_unref(im->table);
	free(im->reason);
	buf_free(&im->partial);
	buf_free(&im->hold);
	buf_free(&im->only_row);
	buf_free(&im->only_family);
	schema_free(&im->schema);
	schema_free(&im->from);
	cells_frame_free(&im->frame);
	cells_rows_free(&im->rows);
	free(im);
}

int cells_import_within(struct cells_import *im, struct bytes row,
			struct bytes family)
{
	int r = buf_set(&im->only_row, row);

	if (r == 0)
		r = buf_set(&im->only_family, family);
	return r < 0 ? why(r, "out of memory") : 0;
}

void cells_import_puts_only(struct cells_import *im)
{
	im->puts_only = true;
}

void cells_import_notify(struct cells_import *im, cells_batch *before,
			 cells_batch *after, void *arg)
{
	im->rows.before = before;
	im->rows.after = after;
	im->rows.arg = arg;
}

void cells_import_where(struct cells_import *im, cells_where *where, void *arg)
{
	im->where = where;
	im->where_arg = arg;
}

uint64_t cells_import_lines(const struct cells_import *im)
{
	return im->lines;
}

uint64_t cells_import_applied(const struct cells_import *im)
{
	return im->rows.lines_applied;
}

uint64_t cells_import_bytes(const struct cells_import *im)
{
	const struct cells_rows *rs = &im->rows;

	return im->partial.cap + im->hold.cap + rs->bytes.cap + rs->folded.cap +
	       rs->rows_cap * sizeof(*rs->rows) +
	       rs->changes_cap * sizeof(*rs->changes);
}

bool cells_import_is_empty(const struct cells_import *im)
{
	return !im->lines && !im->partial.len;
}

/* Fails with @reason, which is of a line. */
static int why_at(const struct cells_import *im, int err, uint64_t line,
		  const char *reason)
{
	char where[300];

	snprintf(where, sizeof(where), "line %llu: ", (unsigned long long)line);
	if (im->where)
		im->where(im->where_arg, line, where, sizeof(where));
	return why(err, "%s%s", where, reason);
}

/* Ends the import at a line, for the reason in store_why(). */
static int fail_at(struct cells_import *im, int err, uint64_t line)
{
	char reason[600];

	snprintf(reason, sizeof(reason), "%s", store_why());
	im->lines = line;
	im->failed = why_at(im, err, line, reason);
	free(im->reason);
	im->reason = strdup(store_why());
	return err;
}

/* Later calls repeat the error that ended the import. */
static int fail_again(const struct cells_import *im)
{
	return why(im->failed, "%s",
		   im->reason ? im->reason : "an earlier line was refused");
}

/* Applies the first @n waiting rows and drops all others. */
static int import_apply(struct cells_import *im, size_t n)
{
	int r = cells_rows_apply(&im->rows, n);

	return r < 0 ? fail_at(im, r, im->first_line + im->rows.bad) : 0;
}

/* Drops the row of the bad line, and applies the @whole rows before it. */
static int fail(struct cells_import *im, int err, size_t whole)
{
	char reason[600];
	int r;

	snprintf(reason, sizeof(reason), "%s", store_why());
	r = import_apply(im, whole);
	if (r < 0)
		return r;
	why(err, "%s", reason);
	return fail_at(im, err, im->lines);
}

/* A line that cannot be parsed may belong to the last row. */
static int fail_unread(struct cells_import *im, int err)
{
	bool whole = im->row_ended || !im->rows.nrows;

	return fail(im, err, im->rows.nrows - !whole);
}

int cells_import_settle(struct cells_import *im)
{
	size_t moved;
	int r;

	if (im->failed)
		return fail_again(im);
	r = cells_rows_settle(&im->rows, &moved);
	im->first_line += moved;
	if (r == 0)
		return 0;
	im->lines = im->first_line + im->rows.bad;
	return fail(im, r, 0);
}

/* Updates the copy of the schema. */
static int look_at_schema(struct cells_import *im)
{
	uint64_t version = table_schema_version(im->table);
	int r;

	if (im->has_schema && version == im->schema_version)
		return 0;
	schema_free(&im->schema);
	im->schema = (struct schema){0};
	im->has_schema = false;
	r = table_schema(im->table, &im->schema);
	if (r < 0)
		return r;
	im->has_schema = true;
	im->schema_version = version;
	return 0;
}

/* A family of the schema gets these attributes. */
struct attrs_edit {
	struct bytes family;
	const struct family_attrs *attrs;
};

static int edit_attrs(void *arg, const struct schema *now, struct alter *a)
{
	const struct attrs_edit *e = arg;
	int r = schema_copy(&a->to, now);
	int at = r < 0 ? -1 : schema_find(&a->to, e->family);

	if (at >= 0)
		a->to.families[at].attrs = *e->attrs;
	return r;
}

/* Gives a family that was just declared the export's attributes. */
static int take_attrs(struct cells_import *im, struct bytes name)
{
	struct attrs_edit e = {.family = name};
	int at = schema_find(&im->from, name);

	if (at < 0)
		return 0;
	e.attrs = &im->from.families[at].attrs;
	return table_edit(im->table, edit_attrs, &e);
}

/* The line's family; in a table of open schema it is added if it is new. */
static int find_family(struct cells_import *im, struct bytes name)
{
	int r = look_at_schema(im), family;

	if (r < 0)
		return r;
	family = schema_find(&im->schema, name);
	if (family >= 0)
		return family;
	r = table_add_family(im->table, name);
	if (r == 0)
		r = take_attrs(im, name);
	if (r < 0 && r != -EEXIST)
		return r;
	r = look_at_schema(im);
	if (r < 0)
		return r;
	family = schema_find(&im->schema, name);
	return family >= 0 ? family
			   : why(-EPERM, "its family was just removed");
}

/* Checks what can be checked of a line before its row is applied. */
static int check_line(struct cells_import *im, const struct cells_line *l)
{
	const struct family_schema *f;
	int r;

	if (!l->row.len || l->row.len > ROW_LEN_MAX)
		return why(-EINVAL, "the row key has %zu bytes; it has 1 to %d",
			   l->row.len, ROW_LEN_MAX);
	if (l->op == CHANGE_DELETE_ROW)
		return 0;
	r = find_family(im, l->family);
	if (r < 0)
		return r;
	f = &im->schema.families[r];
	if (l->value.len > f->attrs.max_value)
		return why(-EFBIG,
			   "a value of %zu bytes is over max_value %u of "
			   "family %s",
			   l->value.len, (unsigned)f->attrs.max_value, f->name);
	return 0;
}

/* Is the line one that the stream may have? */
static int check_within(const struct cells_import *im,
			const struct cells_line *l)
{
	if (im->only_row.len && !bytes_eq(l->row, buf_bytes(&im->only_row)))
		return why(-EINVAL, "the line belongs to another row than the "
				    "stream");
	if (im->only_family.len &&
	    !bytes_eq(l->family, buf_bytes(&im->only_family)))
		return why(-EINVAL,
			   "the line belongs to another family than the "
			   "stream");
	if (im->puts_only && !op_writes(l->op))
		return why(-EPERM, "the table has the sticky bit: only its "
				   "owner deletes");
	return 0;
}

/* Refuses an export into a table that would lose some of its cells. */
static int check_keeps(struct cells_import *im)
{
	char say[400];
	int r = look_at_schema(im);

	if (r < 0 ||
	    !schema_keeps_less(&im->from, &im->schema, say, sizeof(say)))
		return r;
	return why(-EINVAL,
		   "%s: change the table's schema first, or leave out the "
		   "lines that begin with a tab",
		   say);
}

/* Opens the table for the next cells, and reads the export's schema. */
static int be_ready(struct cells_import *im)
{
	bool framed = im->frame.state > FRAME_PLAIN;
	int r = 0;

	schema_free(&im->from);
	im->from = (struct schema){0};
	if (framed)
		r = cells_frame_schema(&im->frame, &im->from);
	if (r == 0 && im->target) {
		table_unref(im->table);
		im->table = NULL;
		im->has_schema = false;
		r = im->target(im->target_arg, framed ? &im->from : NULL,
			       &im->table);
		im->rows.table = im->table;
	} else if (r == 0 && framed) {
		r = check_keeps(im);
	}
	im->ready = r == 0;
	im->parted = framed;
	return r;
}

/* Handles a line that is not a cell: a note of the frame. */
static int take_note(struct cells_import *im)
{
	int r = im->rows.nrows ? import_apply(im, im->rows.nrows) : 0;

	if (r < 0)
		return r;
	/* An export without cells makes its table, too. */
	if (im->frame.state == FRAME_ENDED && !im->ready)
		r = be_ready(im);
	if (im->frame.state == FRAME_HEAD)
		im->ready = false;
	return r < 0 ? fail(im, r, 0) : 0;
}

/* Must the last row of an export be applied before this line is added? */
static bool is_part(const struct cells_import *im, const struct cells_line *l)
{
	size_t more = l->family.len + l->qualifier.len + l->value.len;

	return im->parted && (cells_rows_lines(&im->rows) >= PART_LINES ||
			      cells_rows_bytes(&im->rows) + more > PART_BYTES);
}

static int take_cell(struct cells_import *im, const struct cells_line *l)
{
	struct cells_rows *rs = &im->rows;
	bool begins = im->row_ended || !cells_rows_is_last(rs, l->row);
	int r = check_within(im, l);

	if (r == 0 && !im->ready)
		r = be_ready(im);
	if (r == 0)
		r = check_line(im, l);
	if (r < 0)
		return fail(im, r, rs->nrows - !begins);
	begins = begins || is_part(im, l);
	if (begins && rs->bytes.len >= BATCH_BYTES) {
		r = import_apply(im, rs->nrows);
		if (r < 0)
			return r;
	}
	if (!rs->nchanges)
		im->first_line = im->lines;
	if (begins)
		r = cells_rows_begin(rs, l->row);
	im->row_ended = false;
	if (r == 0)
		r = cells_rows_add(rs, l);
	return r < 0 ? fail_unread(im, r) : 0;
}

static int take_line(struct cells_import *im, struct bytes line)
{
	struct cells_line l;
	int r;

	im->lines++;
	r = cells_check_end(line);
	if (r == 0)
		r = cells_frame_read(&im->frame, line);
	if (r == 0)
		return take_note(im);
	if (r > 0)
		r = cells_parse(line, &im->hold, &l);
	return r < 0 ? fail_unread(im, r) : take_cell(im, &l);
}

int cells_import_refuse(struct cells_import *im, int err)
{
	if (im->failed)
		return fail_again(im);
	im->lines++;
	return fail_unread(im, err);
}

int cells_import_schema(struct cells_import *im, const struct schema *from)
{
	im->ready = im->parted = true;
	schema_free(&im->from);
	return schema_copy(&im->from, from);
}

int cells_import_put(struct cells_import *im, const struct cells_line *l)
{
	if (im->failed)
		return fail_again(im);
	im->lines++;
	return take_cell(im, l);
}

void cells_import_row_ends(struct cells_import *im)
{
	im->row_ended = true;
}

/* Keeps the beginning or the continuation of an unfinished line. */
static int put_by(struct cells_import *im, const uint8_t *p, size_t n)
{
	int r = 0;

	if (im->partial.len + n > LINE_BYTES_MAX)
		r = why(-EFBIG, "the line is too long");
	else if (buf_append(&im->partial, p, n) < 0)
		r = why(-ENOMEM, "out of memory");
	if (r < 0) {
		im->lines++;
		return fail_unread(im, r);
	}
	return 0;
}

int cells_import_feed(struct cells_import *im, struct bytes data)
{
	const uint8_t *p = data.data, *end = data.data + data.len;

	if (im->failed)
		return fail_again(im);
	while (p < end) {
		const uint8_t *lf = memchr(p, '\n', (size_t)(end - p));
		size_t n = (size_t)((lf ? lf : end) - p);
		struct bytes line = bytes_of(p, n);
		int r = 0;

		if (!lf || im->partial.len) {
			r = put_by(im, p, n);
			line = buf_bytes(&im->partial);
		}
		if (r < 0 || !lf)
			return r;
		r = take_line(im, line);
		im->partial.len = 0;
		if (r < 0)
			return r;
		p = lf + 1;
	}
	return 0;
}

/*
 * The input so far is incomplete. Applies all rows but the last, which waits
 * for more: the file is also closed by a child process of the program.
 */
static int unfinished(struct cells_import *im, int err)
{
	uint64_t line = im->lines + (im->partial.len != 0);
	char reason[600];
	int r;

	snprintf(reason, sizeof(reason), "%s", store_why());
	r = cells_import_settle(im);
	if (r < 0)
		return r;
	return why_at(im, err, line, reason);
}

int cells_import_end(struct cells_import *im)
{
	int r;

	if (im->failed)
		return fail_again(im);
	r = cells_frame_done(&im->frame);
	if (im->partial.len)
		r = why(-EINVAL, "the last line does not end in a newline: the "
				 "stream is cut");
	return r < 0 ? unfinished(im, r) : import_apply(im, im->rows.nrows);
}
