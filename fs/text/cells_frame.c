#include "fs/text/cells_frame.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <xxhash.h>

#define HEAD "\tcellfs export "
#define HEAD_LINE HEAD "1"
#define SCHEMA "\tschema\t"
#define END "\tend\t"
#define END_FORMAT END "cells=%" PRIu64 "\txxh64=%016" PRIx64

/* Longer than any line of a frame's end. */
#define END_BYTES_MAX 96

void cells_frame_free(struct cells_frame *f)
{
	XXH64_freeState(f->sum);
	buf_free(&f->schema);
	*f = (struct cells_frame){0};
}

static int start(struct cells_frame *f)
{
	if (!f->sum)
		f->sum = XXH64_createState();
	if (!f->sum)
		return why(-ENOMEM, "out of memory");
	XXH64_reset(f->sum, 0);
	f->state = FRAME_HEAD;
	f->cells = 0;
	f->schema.len = 0;
	return 0;
}

static void frame_add(struct cells_frame *f, struct bytes s)
{
	XXH64_update(f->sum, s.data, s.len);
}

static bool has_prefix(struct bytes line, const char *prefix)
{
	return bytes_has_prefix(line, bytes_str(prefix));
}

int cells_frame_begin(struct cells_frame *f, const struct schema *schema,
		      struct buf *out)
{
	size_t from = out->len;
	const uint8_t *p, *end, *lf;
	int r = start(f);

	if (r == 0)
		r = schema_format(schema, &f->schema);
	if (r == 0)
		r = buf_append(out, HEAD_LINE "\n", strlen(HEAD_LINE) + 1);
	p = f->schema.data;
	end = p ? p + f->schema.len : p;
	for (; r == 0 && p < end; p = lf + 1) {
		lf = memchr(p, '\n', (size_t)(end - p));
		r = buf_append(out, SCHEMA, strlen(SCHEMA));
		if (r == 0)
			r = buf_append(out, p, (size_t)(lf + 1 - p));
	}
	if (r == 0)
		frame_add(f, bytes_of(out->data + from, out->len - from));
	return r;
}

void cells_frame_wrote(struct cells_frame *f, struct bytes line)
{
	frame_add(f, line);
	f->cells++;
}

/* Formats the last line, without its newline; returns its length. */
static size_t format_end(const struct cells_frame *f, char *to)
{
	return (size_t)snprintf(to, END_BYTES_MAX, END_FORMAT, f->cells,
				XXH64_digest(f->sum));
}

int cells_frame_end(struct cells_frame *f, struct buf *out)
{
	char line[END_BYTES_MAX];
	size_t n = format_end(f, line);

	line[n] = '\n';
	f->state = FRAME_ENDED;
	return buf_append(out, line, n + 1);
}

static int read_head(struct cells_frame *f, struct bytes line)
{
	int r;

	if (f->state != FRAME_NONE && f->state != FRAME_ENDED)
		return why(-EINVAL,
			   "an export begins %s: the end of the data before "
			   "it is missing",
			   f->state == FRAME_PLAIN ? "after lines of cells"
						   : "within an export");
	if (!bytes_eq(line, bytes_str(HEAD_LINE)))
		return why(-EINVAL,
			   "the export is of a newer form than this cellfs "
			   "knows: '%.*s'",
			   (int)(line.len > 40 ? 40 : line.len) - 1,
			   (const char *)line.data + 1);
	r = start(f);
	if (r < 0)
		return r;
	frame_add(f, line);
	frame_add(f, bytes_str("\n"));
	return 0;
}

static int read_schema(struct cells_frame *f, struct bytes line)
{
	size_t n = strlen(SCHEMA);

	if (f->state != FRAME_HEAD)
		return why(-EINVAL, "a line of a schema follows cells: "
				    "the beginning of the export is missing");
	if (f->schema.len + line.len > SCHEMA_TEXT_MAX)
		return why(-EINVAL, "the export's schema is over %u bytes",
			   SCHEMA_TEXT_MAX);
	frame_add(f, line);
	frame_add(f, bytes_str("\n"));
	if (buf_append(&f->schema, line.data + n, line.len - n) < 0 ||
	    buf_append(&f->schema, "\n", 1) < 0)
		return why(-ENOMEM, "out of memory");
	return 0;
}

static int read_end(struct cells_frame *f, struct bytes line)
{
	char want[END_BYTES_MAX], text[END_BYTES_MAX];
	uint64_t cells, sum;
	size_t n;

	if (f->state != FRAME_HEAD && f->state != FRAME_INSIDE)
		return why(-EINVAL, "an export ends here whose beginning is "
				    "missing");
	n = format_end(f, want);
	f->state = FRAME_ENDED;
	if (line.len == n && !memcmp(line.data, want, n))
		return 0;
	snprintf(text, sizeof(text), "%.*s", (int)line.len,
		 (const char *)line.data);
	if (sscanf(text, END_FORMAT, &cells, &sum) != 2)
		return why(-EINVAL, "the end of the export cannot be read");
	if (cells != f->cells)
		return why(-EINVAL,
			   "the export is damaged: it had %" PRIu64
			   " cells, here are %" PRIu64,
			   cells, f->cells);
	return why(-EINVAL,
		   "the export is damaged: its checksum is %016" PRIx64
		   ", that of the data read is different",
		   sum);
}

int cells_frame_read(struct cells_frame *f, struct bytes line)
{
	if (!cells_frame_is_note(line)) {
		if (f->state == FRAME_ENDED)
			return why(-EINVAL, "a line follows the end of "
					    "the export");
		if (f->state == FRAME_NONE)
			f->state = FRAME_PLAIN;
		if (f->state == FRAME_HEAD)
			f->state = FRAME_INSIDE;
		if (f->state == FRAME_INSIDE) {
			frame_add(f, line);
			frame_add(f, bytes_str("\n"));
		}
		f->cells++;
		return 1;
	}
	if (has_prefix(line, HEAD))
		return read_head(f, line);
	if (has_prefix(line, SCHEMA))
		return read_schema(f, line);
	if (has_prefix(line, END))
		return read_end(f, line);
	return why(-EINVAL, "the row key is empty: a row needs a name");
}

int cells_frame_done(const struct cells_frame *f)
{
	if (f->state != FRAME_HEAD && f->state != FRAME_INSIDE)
		return 0;
	return why(-EINVAL,
		   "the export is cut: it has no end after its %" PRIu64
		   " cells",
		   f->cells);
}

int cells_frame_schema(const struct cells_frame *f, struct schema *out)
{
	char reason[600];
	int r = schema_parse(buf_bytes(&f->schema), NULL, out);

	if (r == -EINVAL) {
		snprintf(reason, sizeof(reason), "%s", store_why());
		return why(r, "the export's schema: %s", reason);
	}
	return r;
}

/*
 * The name of an attribute by which @to accepts or keeps less, or NULL. The
 * effect of delete markers is not compared.
 */
static const char *less_word(const struct family_attrs *from,
			     const struct family_attrs *to)
{
	struct family_attrs now = *to;
	const char *word;

	now.keep_deleted = from->keep_deleted;
	now.new_version_behavior = from->new_version_behavior;
	word = family_attrs_less(&now, from);
	if (word)
		return word;
	return to->max_value < from->max_value ? "max_value" : NULL;
}

static const char *attr_text(const struct family_attrs *a, const char *word,
			     char out[32])
{
	struct family_attr at = {0};

	for (unsigned i = 0; family_attr_get(a, i, &at); i++)
		if (!strcmp(at.word, word))
			break;
	if (at.choice)
		return at.choice;
	snprintf(out, 32, "%" PRIu64 "%s", at.number,
		 strcmp(word, "ttl") ? "" : "ms");
	return out;
}

bool schema_keeps_less(const struct schema *from, const struct schema *to,
		       char *say, size_t size)
{
	char a[32], b[32];

	for (uint32_t i = 0; i < from->nfamilies; i++) {
		const struct family_schema *f = &from->families[i];
		int at = schema_find(to, bytes_str(f->name));
		const struct family_attrs *now =
			at < 0 ? &f->attrs : &to->families[at].attrs;
		const char *word = less_word(&f->attrs, now);

		if (!word)
			continue;
		snprintf(say, size, "family %s has %s %s, it had %s %s",
			 f->name, word, attr_text(now, word, b), word,
			 attr_text(&f->attrs, word, a));
		return true;
	}
	return false;
}
