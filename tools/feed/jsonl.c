#include "tools/feed/jsonl.h"

#include <errno.h>

#include "tools/line/json.h"
#include "tools/line/json_read.h"

/* Reads a line into in->text. 1, 0 at the end, or an error. */
static int read_line(struct input *in)
{
	struct buf *text = &in->text;
	int c;

	text->len = 0;
	while ((c = input_byte(in)) != EOF && c != '\n') {
		char byte = (char)c;

		if (text->len >= FEED_RECORD_MAX)
			return why(-EFBIG, "the line is over %u bytes",
				   FEED_RECORD_MAX);
		if (buf_append(text, &byte, 1) < 0)
			return why(-ENOMEM, "out of memory");
	}
	return c == '\n' || text->len;
}

static int take_base64(struct json_reader *j, struct buf *out)
{
	struct buf name = {0};
	int r = 0;

	if (!json_take(j, '"') || (r = json_take_string(j, &name)) < 0 ||
	    !bytes_eq(buf_bytes(&name), bytes_str("base64")) ||
	    !json_take(j, ':') || !json_take(j, '"'))
		r = why(-EINVAL, "an object that is not {\"base64\":\"...\"} "
				 "is no value: make a string of it (jq: "
				 "tojson)");
	if (r == 0)
		r = json_take_string(j, out);
	if (r == 0)
		r = json_from_base64(out);
	if (r == 0 && !json_take(j, '}'))
		r = why(-EINVAL, "there is more in an object than base64");
	buf_free(&name);
	return r;
}

/* Is it a number, as JSON writes them? */
static bool is_number(struct bytes w)
{
	size_t i = w.len && w.data[0] == '-';

	if (i >= w.len || w.data[i] < '0' || w.data[i] > '9')
		return false;
	for (; i < w.len; i++)
		if (!w.data[i] || !strchr("0123456789.eE+-", w.data[i]))
			return false;
	return true;
}

/* Reads a value into @out; *flags are those of record_add(). */
static int take_value(struct json_reader *j, struct buf *out, unsigned *flags)
{
	struct bytes word;

	*flags = 0;
	if (json_take(j, '"'))
		return json_take_string(j, out);
	if (json_take(j, '{'))
		return take_base64(j, out);
	if (json_take(j, '['))
		return why(-EINVAL, "an array is no value: make a string of "
				    "it (jq: tojson)");
	word = json_take_word(j);
	if (bytes_eq(word, bytes_str("null")))
		*flags = FIELD_ABSENT;
	else if (is_number(word) || bytes_eq(word, bytes_str("true")) ||
		 bytes_eq(word, bytes_str("false")))
		return buf_append(out, word.data, word.len) < 0
			       ? why(-ENOMEM, "out of memory")
			       : 0;
	else
		return why(-EINVAL, "a member has no value");
	return 0;
}

static int take_member(struct json_reader *j, struct record *out)
{
	struct buf name = {0}, value = {0};
	unsigned flags = 0;
	int r;

	if (!json_take(j, '"'))
		return why(-EINVAL, "a member has no name");
	r = json_take_string(j, &name);
	if (r == 0 && !json_take(j, ':'))
		r = why(-EINVAL, "a member has no value");
	if (r == 0)
		r = take_value(j, &value, &flags);
	if (r == 0)
		r = record_add(out, buf_bytes(&name), buf_bytes(&value), flags);
	buf_free(&name);
	buf_free(&value);
	return r;
}

static int take_object(struct json_reader *j, struct record *out)
{
	int r = 0;

	if (!json_take(j, '{'))
		return why(-EINVAL, "the line is no JSON object");
	if (!json_take(j, '}')) {
		do {
			r = take_member(j, out);
		} while (r == 0 && json_take(j, ','));
		if (r == 0 && !json_take(j, '}'))
			r = why(-EINVAL, "the object does not end");
	}
	return r < 0 ? r : json_end(j);
}

int jsonl_next(struct input *in, struct record *out)
{
	struct json_reader j;
	int r;

	do {
		record_begin(out, in->line);
		r = read_line(in);
		if (r <= 0)
			return r;
		j = (struct json_reader){in->text.data, in->text.data};
		if (in->text.len)
			j.end += in->text.len;
		json_take(&j, ' ');
	} while (j.at == j.end);
	r = take_object(&j, out);
	if (r < 0)
		return r;
	record_end(out);
	return 1;
}

int jsonl_write(const struct format *f, const struct record *r, struct buf *out)
{
	struct json json = {.out = out};

	json_open(&json, NULL, '{');
	for (size_t i = 0; i < r->n; i++) {
		const struct field *field = &r->fields[i];

		if (!field->absent)
			(field->bare ? json_bare : json_member)(
				&json, field->name, field->value);
	}
	return json_end_line(&json);
}
