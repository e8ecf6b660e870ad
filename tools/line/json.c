#include "tools/line/json.h"

#include <inttypes.h>
#include <stdio.h>

#include "store/value/utf8.h"

static void put(struct json *j, const void *data, size_t len)
{
	if (j->err == 0)
		j->err = buf_append(j->out, data, len);
}

static void json_add(struct json *j, const char *s)
{
	put(j, s, strlen(s));
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
static void add_quoted(struct json *j, struct bytes value)
{
	char escape[8];

	json_add(j, "\"");
	for (size_t i = 0; i < value.len; i++) {
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
		put(j, escape[0] ? escape : (const char *)&c,
		    escape[0] ? strlen(escape) : 1);
	}
	json_add(j, "\"");
}

static void add_base64(struct json *j, struct bytes value)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";

	json_add(j, "\"");
	for (size_t i = 0; i < value.len; i += 3) {
		size_t n = value.len - i < 3 ? value.len - i : 3;
		uint32_t three = 0;
		char four[4];

		for (size_t k = 0; k < 3; k++)
			three = three << 8 | (k < n ? value.data[i + k] : 0);
		for (size_t k = 0; k < 4; k++)
			four[k] = k > n ? '='
					: digits[three >> (18 - 6 * k) & 63];
		put(j, four, 4);
	}
	json_add(j, "\"");
}

static void add_comma(struct json *j)
{
	uint8_t last = j->out->len ? j->out->data[j->out->len - 1] : '\n';

	if (last != '{' && last != '[' && last != '\n')
		json_add(j, ",");
}

/* Appends a comma if needed, and the name with its suffix. */
static void begin(struct json *j, const char *name, const char *suffix)
{
	add_comma(j);
	if (!name)
		return;
	json_add(j, "\"");
	json_add(j, name);
	json_add(j, suffix);
	json_add(j, "\":");
}

/* The same with a name that may need escapes. */
static void begin_named(struct json *j, struct bytes name)
{
	add_comma(j);
	add_quoted(j, name);
	json_add(j, ":");
}

void json_open(struct json *j, const char *name, char bracket)
{
	begin(j, name, "");
	put(j, &bracket, 1);
}

void json_close(struct json *j, char bracket)
{
	put(j, &bracket, 1);
}

void json_bytes(struct json *j, const char *name, struct bytes value)
{
	bool text = is_utf8(value);

	begin(j, name, text ? "" : "_base64");
	(text ? add_quoted : add_base64)(j, value);
}

void json_member(struct json *j, struct bytes name, struct bytes value)
{
	begin_named(j, name);
	if (is_utf8(value)) {
		add_quoted(j, value);
		return;
	}
	json_add(j, "{\"base64\":");
	add_base64(j, value);
	json_add(j, "}");
}

void json_bare(struct json *j, struct bytes name, struct bytes word)
{
	begin_named(j, name);
	put(j, word.data, word.len);
}

void json_str(struct json *j, const char *name, const char *value)
{
	if (value)
		json_bytes(j, name, bytes_str(value));
}

static void add_word(struct json *j, const char *name, const char *word)
{
	begin(j, name, "");
	json_add(j, word);
}

void json_int(struct json *j, const char *name, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	add_word(j, name, text);
}

void json_uint(struct json *j, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	add_word(j, name, text);
}

void json_bool(struct json *j, const char *name, bool value)
{
	add_word(j, name, value ? "true" : "false");
}

int json_end_line(struct json *j)
{
	json_add(j, "}\n");
	return j->err;
}
