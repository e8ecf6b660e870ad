#include "tools/line/json.h"

#include <inttypes.h>
#include <stdio.h>

#include "store/value/utf8.h"

static int json_add(struct buf *out, const char *s)
{
	return buf_append(out, s, strlen(s));
}

static bool is_utf8(struct bytes s)
{
	for (size_t i = 0, n; i < s.len; i += n) {
		n = utf8_char(s.data + i, s.len - i);
		if (!n)
			return false;
	}
	return true;
}

/* Appends @value, which is UTF-8, in quotes. */
static int add_quoted(struct buf *out, struct bytes value)
{
	char escape[8];
	int r = json_add(out, "\"");

	for (size_t i = 0; r == 0 && i < value.len; i++) {
		uint8_t c = value.data[i];

		if (c == '"' || c == '\\')
			snprintf(escape, sizeof(escape), "\\%c", c);
		else if (c == '\n')
			strcpy(escape, "\\n");
		else if (c == '\t')
			strcpy(escape, "\\t");
		else if (c < 0x20 || c == 0x7f)
			snprintf(escape, sizeof(escape), "\\u%04x", c);
		else
			escape[0] = '\0';
		r = escape[0] ? json_add(out, escape) : buf_append(out, &c, 1);
	}
	return r < 0 ? r : json_add(out, "\"");
}

static int add_base64(struct buf *out, struct bytes value)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	int r = json_add(out, "\"");

	for (size_t i = 0; r == 0 && i < value.len; i += 3) {
		size_t n = value.len - i < 3 ? value.len - i : 3;
		uint32_t three = 0;
		char four[4];

		for (size_t k = 0; k < 3; k++)
			three = three << 8 | (k < n ? value.data[i + k] : 0);
		for (size_t k = 0; k < 4; k++)
			four[k] = k > n ? '='
					: digits[three >> (18 - 6 * k) & 63];
		r = buf_append(out, four, 4);
	}
	return r < 0 ? r : json_add(out, "\"");
}

/* Appends a comma if needed, and the name with its suffix. */
static int begin(struct buf *out, const char *name, const char *suffix)
{
	uint8_t last = out->len ? out->data[out->len - 1] : '\n';
	int r = 0;

	if (last != '{' && last != '[' && last != '\n')
		r = json_add(out, ",");
	if (r < 0 || !name)
		return r;
	r = json_add(out, "\"");
	if (r == 0)
		r = json_add(out, name);
	if (r == 0)
		r = json_add(out, suffix);
	return r < 0 ? r : json_add(out, "\":");
}

/* The same with a name that may need escapes. */
static int begin_named(struct buf *out, struct bytes name)
{
	int r = begin(out, NULL, "");

	if (r == 0)
		r = add_quoted(out, name);
	return r < 0 ? r : json_add(out, ":");
}

int json_open(struct buf *out, const char *name, char bracket)
{
	int r = begin(out, name, "");

	return r < 0 ? r : buf_append(out, &bracket, 1);
}

int json_close(struct buf *out, char bracket)
{
	return buf_append(out, &bracket, 1);
}

int json_bytes(struct buf *out, const char *name, struct bytes value)
{
	bool text = is_utf8(value);
	int r = begin(out, name, text ? "" : "_base64");

	if (r < 0)
		return r;
	return text ? add_quoted(out, value) : add_base64(out, value);
}

int json_member(struct buf *out, struct bytes name, struct bytes value)
{
	int r = begin_named(out, name);

	if (r < 0)
		return r;
	if (is_utf8(value))
		return add_quoted(out, value);
	r = json_add(out, "{\"base64\":");
	if (r == 0)
		r = add_base64(out, value);
	return r < 0 ? r : json_add(out, "}");
}

int json_bare(struct buf *out, struct bytes name, struct bytes word)
{
	int r = begin_named(out, name);

	return r < 0 ? r : buf_append(out, word.data, word.len);
}

int json_str(struct buf *out, const char *name, const char *value)
{
	return json_bytes(out, name, bytes_str(value));
}

static int add_word(struct buf *out, const char *name, const char *word)
{
	int r = begin(out, name, "");

	return r < 0 ? r : json_add(out, word);
}

int json_int(struct buf *out, const char *name, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	return add_word(out, name, text);
}

int json_uint(struct buf *out, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return add_word(out, name, text);
}

int json_bool(struct buf *out, const char *name, bool value)
{
	return add_word(out, name, value ? "true" : "false");
}
