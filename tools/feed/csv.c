#include "tools/feed/csv.h"

#include <errno.h>

/* Reads a field in quotes, behind the first one; *c is the byte behind it. */
static int quoted(struct input *in, struct record *out, int *c)
{
	int r = 0;

	while (r == 0) {
		char byte;

		*c = input_byte(in);
		if (*c == EOF)
			return why(-EINVAL, "a field in quotes does not end");
		if (*c == '"') {
			*c = input_byte(in);
			if (*c != '"')
				return 0;
		}
		byte = (char)*c;
		r = record_grow(out, &byte, 1);
	}
	return r;
}

static bool ends(const struct input *in, int c)
{
	return c == EOF || c == '\n' || c == (unsigned char)in->separator;
}

static int unquoted(struct input *in, struct record *out, int *c)
{
	struct field *f = &out->fields[out->n - 1];
	int r = 0;

	for (; r == 0 && !ends(in, *c); *c = input_byte(in)) {
		char byte = (char)*c;

		r = record_grow(out, &byte, 1);
	}
	/* Of a line that ends in CRLF. */
	if (*c == '\n' && f->value.len &&
	    out->bytes.data[out->bytes.len - 1] == '\r') {
		f->value.len--;
		out->bytes.len--;
	}
	f->absent = !f->value.len;
	return r;
}

/* Reads a field that begins with the byte *c; *c is the one that ends it. */
static int read_field(struct input *in, struct record *out, int *c)
{
	int r = record_add(out, bytes_str(""), bytes_str(""), 0);

	if (r < 0)
		return r;
	if (*c != '"')
		return unquoted(in, out, c);
	r = quoted(in, out, c);
	if (r == 0 && *c == '\r')
		*c = input_byte(in);
	if (r == 0 && !ends(in, *c))
		r = why(-EINVAL, "there is text behind the quote that ends a "
				 "field: within it a quote is written twice");
	return r;
}

/* Reads a record without names. 1, 0 at the end, or an error. */
static int read_record(struct input *in, struct record *out)
{
	int c, r;

	do {
		record_begin(out, in->line);
		c = input_byte(in);
		if (c == EOF)
			return 0;
		for (;;) {
			r = read_field(in, out, &c);
			if (r < 0)
				return r;
			if (c == '\n' || c == EOF)
				break;
			c = input_byte(in);
		}
	} while (out->n == 1 && out->fields[0].absent);
	record_end(out);
	return 1;
}

int csv_head(struct input *in)
{
	static const char mark[] = "\xef\xbb\xbf";
	int r = read_record(in, &in->head);
	struct record *h = &in->head;

	for (size_t i = 0; r > 0 && i < h->n; i++) {
		struct field *f = &h->fields[i];

		f->name = f->value;
		if (i == 0 && bytes_has_prefix(f->name, bytes_str(mark)))
			f->name = bytes_of(f->name.data + 3, f->name.len - 3);
		if (!f->name.len)
			return why(-EINVAL, "field %zu has no name", i + 1);
	}
	return r;
}

int csv_next(struct input *in, struct record *out)
{
	int r = read_record(in, out);

	if (r <= 0)
		return r;
	if (out->n != in->head.n)
		return why(-EINVAL, "fields: %zu, in the head: %zu", out->n,
			   in->head.n);
	for (size_t i = 0; i < out->n; i++)
		out->fields[i].name = in->head.fields[i].name;
	return 1;
}

static int write_field(char separator, struct bytes b, struct buf *out)
{
	bool plain = b.len > 0;
	int r;

	for (size_t i = 0; i < b.len; i++)
		plain &= b.data[i] != '"' && b.data[i] != '\n' &&
			 b.data[i] != '\r' && b.data[i] != (uint8_t)separator;
	if (plain)
		return buf_append(out, b.data, b.len);
	r = buf_append(out, "\"", 1);
	for (size_t i = 0; r == 0 && i < b.len; i++)
		r = b.data[i] == '"' ? buf_append(out, "\"\"", 2)
				     : buf_append(out, &b.data[i], 1);
	return r < 0 ? r : buf_append(out, "\"", 1);
}

static int write_record(const struct format *f, const struct record *r,
			bool names, struct buf *out)
{
	int bad = 0;

	for (size_t i = 0; bad == 0 && i < r->n; i++) {
		const struct field *field = &r->fields[i];

		if (i > 0)
			bad = buf_append(out, &f->separator, 1);
		if (bad == 0 && (names || !field->absent))
			bad = write_field(f->separator,
					  names ? field->name : field->value,
					  out);
	}
	return bad < 0 ? bad : buf_append(out, "\n", 1);
}

int csv_write_head(const struct format *f, const struct record *r,
		   struct buf *out)
{
	return write_record(f, r, true, out);
}

int csv_write(const struct format *f, const struct record *r, struct buf *out)
{
	return write_record(f, r, false, out);
}
