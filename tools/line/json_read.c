#include "tools/line/json_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/store.h"

static void skip_blanks(struct json_reader *j)
{
	while (j->at < j->end && (*j->at == ' ' || *j->at == '\t' ||
				  *j->at == '\r' || *j->at == '\n'))
		j->at++;
}

bool json_take(struct json_reader *j, uint8_t c)
{
	skip_blanks(j);
	if (j->at == j->end || *j->at != c)
		return false;
	j->at++;
	return true;
}

static int hex4(const uint8_t *p, uint32_t *out)
{
	char text[5], *end;

	memcpy(text, p, 4);
	text[4] = '\0';
	*out = (uint32_t)strtoul(text, &end, 16);
	return end == text + 4 && text[0] != '-' && text[0] != '+' &&
			       text[0] != ' '
		       ? 0
		       : -EINVAL;
}

static int put_utf8(struct buf *out, uint32_t c)
{
	uint8_t b[4];
	size_t n = 0;

	if (c < 0x80) {
		b[n++] = (uint8_t)c;
	} else if (c < 0x800) {
		b[n++] = (uint8_t)(0xc0 | c >> 6);
	} else if (c < 0x10000) {
		b[n++] = (uint8_t)(0xe0 | c >> 12);
		b[n++] = (uint8_t)(0x80 | (c >> 6 & 63));
	} else {
		b[n++] = (uint8_t)(0xf0 | c >> 18);
		b[n++] = (uint8_t)(0x80 | (c >> 12 & 63));
		b[n++] = (uint8_t)(0x80 | (c >> 6 & 63));
	}
	if (c >= 0x80)
		b[n++] = (uint8_t)(0x80 | (c & 63));
	return buf_append(out, b, n);
}

/* Decodes the digits after "\u"; two escapes may make one character. */
static int take_unicode(struct json_reader *j, struct buf *out)
{
	uint32_t c, low;

	if (j->end - j->at < 4 || hex4(j->at, &c) < 0)
		goto bad;
	j->at += 4;
	if (c >= 0xd800 && c < 0xe000) {
		if (c >= 0xdc00 || j->end - j->at < 6 || j->at[0] != '\\' ||
		    j->at[1] != 'u' || hex4(j->at + 2, &low) < 0 ||
		    low < 0xdc00 || low >= 0xe000)
			goto bad;
		j->at += 6;
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	}
	return put_utf8(out, c) < 0 ? why(-ENOMEM, "out of memory") : 0;
bad:
	return why(-EINVAL, "a \\u is not followed by four hexadecimal digits "
			    "that are a character");
}

static int take_escape(struct json_reader *j, struct buf *out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *p;

	if (j->at == j->end)
		return why(-EINVAL, "a string does not end");
	if (*j->at == 'u') {
		j->at++;
		return take_unicode(j, out);
	}
	p = *j->at ? strchr(from, *j->at) : NULL;
	if (!p)
		return why(-EINVAL, "a string has an unknown escape");
	j->at++;
	return buf_append(out, &to[p - from], 1) < 0
		       ? why(-ENOMEM, "out of memory")
		       : 0;
}

/* Decodes a string after its first quote, and appends it to @out. */
int json_take_string(struct json_reader *j, struct buf *out)
{
	int r = 0;

	while (r == 0) {
		const uint8_t *p = j->at;

		while (p < j->end && *p != '"' && *p != '\\' && *p >= 0x20)
			p++;
		if (buf_append(out, j->at, (size_t)(p - j->at)) < 0)
			return why(-ENOMEM, "out of memory");
		j->at = p;
		if (p == j->end || *p < 0x20)
			return why(-EINVAL, "a string does not end");
		j->at++;
		if (*p == '"')
			return 0;
		r = take_escape(j, out);
	}
	return r;
}

static int digit64(uint8_t c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *p = c ? strchr(digits, c) : NULL;

	return p ? (int)(p - digits) : -1;
}

/* Decodes base64 in place. */
int json_from_base64(struct buf *b)
{
	size_t n = b->len, out = 0;
	uint32_t bits = 0;

	if (n % 4)
		goto bad;
	while (n && b->len - n < 2 && b->data[n - 1] == '=')
		n--;
	for (size_t i = 0; i < n; i++) {
		int d = digit64(b->data[i]);

		if (d < 0)
			goto bad;
		bits = bits << 6 | (uint32_t)d;
		if (i % 4)
			b->data[out++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
	}
	/* The unused bits of the last digit must be zero. */
	if (n % 4 && bits & (n % 4 == 2 ? 15u : 3u))
		goto bad;
	b->len = out;
	return 0;
bad:
	return why(-EINVAL, "a member is not base64 with padding");
}

struct bytes json_take_word(struct json_reader *j)
{
	static const char in_words[] = "+-.0123456789";
	const uint8_t *from;

	skip_blanks(j);
	from = j->at;
	while (j->at < j->end && *j->at &&
	       ((*j->at >= 'a' && *j->at <= 'z') ||
		(*j->at >= 'A' && *j->at <= 'Z') || strchr(in_words, *j->at)))
		j->at++;
	return bytes_of(from, (size_t)(j->at - from));
}

int json_end(struct json_reader *j)
{
	skip_blanks(j);
	return j->at == j->end ? 0
			       : why(-EINVAL, "there is text after the object");
}
