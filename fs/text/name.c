#include "fs/text/name.h"

#include <errno.h>

#include "store/value/utf8.h"
#include "store/value/why.h"

static const char hex[] = "0123456789ABCDEF";

/* All but '%' and '/'. */
static const bool is_plain[256] = {
	[0x20 ... 0x24] = true,
	[0x26 ... 0x2E] = true,
	[0x30 ... 0x7E] = true,
};

/* Does the byte stand for itself? */
#define IS_PLAIN(c, first) \
	(is_plain[c] && !((first) && ((c) == '.' || (c) == '-')))

/*
 * Encodes one character at @pos, escaped or not. *used is its length in the
 * key; returns the length of its spelling in @out.
 */
static size_t unit(struct bytes key, size_t pos, bool first, char out[4],
		   size_t *used)
{
	uint8_t c = key.data[pos];
	size_t n = utf8_char(key.data + pos, key.len - pos);

	*used = n ? n : 1;
	if (n > 1 || (n == 1 && IS_PLAIN(c, first))) {
		memcpy(out, key.data + pos, n);
		return n;
	}
	out[0] = '%';
	out[1] = hex[c >> 4];
	out[2] = hex[c & 15];
	return 3;
}

/* Is the rest of the key, at @pos, its own name? */
static bool spells_itself(struct bytes key, size_t pos)
{
	size_t at = pos;

	if (key.len - pos > NAME_LEN_MAX || !IS_PLAIN(key.data[at], true))
		return false;
	while (++at < key.len)
		if (!is_plain[key.data[at]])
			return false;
	return true;
}

void name_part(struct bytes key, size_t pos, struct name_part *out)
{
	size_t cut_len = 0, cut_next = pos, at = pos, used;
	char text[4];

	out->len = 0;
	out->next = pos;
	out->more = false;
	if (pos >= key.len) {
		memcpy(out->text, "%", 2);
		out->len = 1;
		return;
	}
	if (spells_itself(key, pos)) {
		out->len = key.len - pos;
		out->next = key.len;
		memcpy(out->text, key.data + pos, out->len);
		out->text[out->len] = '\0';
		return;
	}
	while (at < key.len) {
		size_t n = 1;

		text[0] = (char)key.data[at];
		used = 1;
		if (!IS_PLAIN(key.data[at], at == pos))
			n = unit(key, at, at == pos, text, &used);
		if (out->len + n > NAME_LEN_MAX) {
			out->more = true;
			break;
		}
		memcpy(out->text + out->len, text, n);
		out->len += n;
		at += used;
		if (out->len <= NAME_PIECE_MAX) {
			cut_len = out->len;
			cut_next = at;
		}
	}
	out->next = at;
	if (out->more) {
		memcpy(out->text + cut_len, "%+", 2);
		out->len = cut_len + 2;
		out->next = cut_next;
	}
	out->text[out->len] = '\0';
}

bool name_is_cut(struct bytes key, size_t pos)
{
	struct name_part part;
	size_t at = 0;

	while (at < pos) {
		name_part(key, at, &part);
		if (!part.more)
			return false;
		at = part.next;
	}
	return at == pos;
}

/* The digit of an escape. Only capitals are digits there, so that a key has one name. */
static int capital_digit(uint8_t c)
{
	return c >= 'a' ? -1 : hex_digit(c);
}

static int bad_name(struct bytes name, const char *what)
{
	return why(-EINVAL, "the name \"%.*s\" %s", (int)name.len,
		   (const char *)name.data, what);
}

/* Appends the decoded bytes; does not check for the canonical spelling. */
int name_unescape(struct bytes name, struct buf *key)
{
	int r = buf_reserve(key, name.len);

	if (r < 0)
		return why(r, "out of memory for a name");
	if (name.len && !memchr(name.data, '%', name.len)) {
		memcpy(key->data + key->len, name.data, name.len);
		key->len += name.len;
		return 0;
	}
	for (size_t i = 0; i < name.len; i++) {
		uint8_t c = name.data[i];

		if (c == '%') {
			int high, low;

			if (name.len - i < 3)
				return bad_name(name,
						"ends within a %-escape (a % "
						"in a key is spelled %25)");
			high = capital_digit(name.data[i + 1]);
			low = capital_digit(name.data[i + 2]);
			if (high < 0 || low < 0)
				return bad_name(
					name, "has a % that is not followed by "
					      "two of 0-9A-F (a % in a key "
					      "is spelled %25)");
			c = (uint8_t)(high << 4 | low);
			i += 2;
		}
		key->data[key->len++] = c;
	}
	return 0;
}

/*
 * Is @name the spelling of key[from..]? The key of a piece is only known so
 * far: the piece must be spelled canonically, and so long that the next
 * character, of at most four bytes, may not have fit.
 */
static bool canonical(struct bytes key, size_t from, struct bytes name,
		      bool more)
{
	struct name_part part;
	size_t len = 0, used;
	char text[4];

	if (!more) {
		if (!name_is_cut(key, from))
			return false;
		name_part(key, from, &part);
		return !part.more &&
		       bytes_eq(name, bytes_of(part.text, part.len));
	}
	if (name.len > NAME_PIECE_MAX || name.len < NAME_PIECE_MAX - 3)
		return false;
	for (size_t at = from; at < key.len; at += used) {
		size_t n = unit(key, at, at == from, text, &used);

		if (n > name.len - len || memcmp(name.data + len, text, n))
			return false;
		len += n;
	}
	/* Check the pieces before, now that more of the key is known. */
	for (size_t at = 0; at < from; at = part.next) {
		name_part(key, at, &part);
		if (!part.more || part.next > from)
			return false;
	}
	return len == name.len;
}

/* Removes the mark of a piece from the end of the name. */
static bool take_piece_mark(struct bytes *name)
{
	if (name->len < 2 || memcmp(name->data + name->len - 2, "%+", 2))
		return false;
	name->len -= 2;
	return true;
}

static bool is_empty_key(struct bytes name)
{
	return name.len == 1 && name.data[0] == '%';
}

/* Each key has one name: the message shows it, as far as it fits. */
static int bad_spelling(struct bytes name, struct bytes key, size_t from,
			bool more)
{
	struct name_part part;

	if (more)
		return bad_name(bytes_of(name.data, name.len + 2),
				"is no piece of a key: only one that is longer "
				"than 255 bytes is cut, and as late as 250 "
				"bytes allow");
	if (!name_is_cut(key, from))
		from = 0;
	name_part(key, from, &part);
	return why(-EINVAL,
		   "the name \"%.*s\" is not how this key is spelled: that "
		   "is \"%s%s\" (each key has one name)",
		   (int)name.len, (const char *)name.data, part.text,
		   part.more ? "/..." : "");
}

int name_append(struct bytes name, struct buf *key, bool *more)
{
	*more = false;
	if (is_empty_key(name))
		return 0;
	*more = take_piece_mark(&name);
	return name_unescape(name, key);
}

int name_join(struct bytes name, struct buf *key, bool *more)
{
	size_t from = key->len;
	int r;

	*more = false;
	if (name.len > NAME_LEN_MAX)
		return why(-ENAMETOOLONG,
			   "a name of %zu bytes: one component holds 255; a "
			   "longer key continues in nested directories whose "
			   "names end in %%+",
			   name.len);
	if (name.len == 0)
		return why(-EINVAL, "an empty name");
	if (is_empty_key(name)) {
		if (from)
			return bad_name(name, "cannot end a longer key");
		return 0;
	}
	*more = take_piece_mark(&name);
	r = name_unescape(name, key);
	if (r < 0) {
		key->len = from;
		return r;
	}
	if (!canonical(buf_bytes(key), from, name, *more)) {
		r = bad_spelling(name, buf_bytes(key), from, *more);
		key->len = from;
		return r;
	}
	return 0;
}

int name_decode(struct bytes name, struct buf *key)
{
	bool more;
	int r;

	key->len = 0;
	r = name_join(name, key, &more);
	if (r == 0 && more)
		return bad_name(name, "is only a piece of a longer one");
	return r;
}

bool name_parse_ts(struct bytes name, int64_t *ts)
{
	int64_t v = 0;

	if (name.len == 0 || name.len > 19 ||
	    (name.len > 1 && name.data[0] == '0'))
		return false;
	for (size_t i = 0; i < name.len; i++) {
		if (name.data[i] < '0' || name.data[i] > '9')
			return false;
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, name.data[i] - '0', &v))
			return false;
	}
	if (v > TS_MAX)
		return false;
	*ts = v;
	return true;
}

size_t name_format_ts(int64_t ts, char out[NAME_TS_LEN_MAX + 1])
{
	char digits[NAME_TS_LEN_MAX], *p = digits + sizeof(digits);
	uint64_t left = (uint64_t)ts;
	size_t n;

	do
		*--p = (char)('0' + left % 10);
	while (left /= 10);
	n = (size_t)(digits + sizeof(digits) - p);
	memcpy(out, p, n);
	out[n] = '\0';
	return n;
}

int name_split_alias(struct bytes name, struct buf *hold, struct bytes *family,
		     struct bytes *qualifier)
{
	const uint8_t *colon;
	size_t n;
	int r;

	if (!name.len || !memchr(name.data, ':', name.len))
		return 0;
	r = name_decode(name, hold);
	if (r < 0)
		return r;
	/* ':' is never escaped, so the key contains one too. */
	colon = memchr(hold->data, ':', hold->len);
	if (!colon)
		return bad_name(name, "has no family before a ':'");
	n = (size_t)(colon - hold->data);
	*family = bytes_of(hold->data, n);
	*qualifier = bytes_of(colon + 1, hold->len - n - 1);
	return 1;
}

bool name_alias(struct bytes family, struct bytes qualifier,
		struct name_part *out)
{
	uint8_t key[NAME_LEN_MAX];
	size_t len = family.len + 1 + qualifier.len;

	/* A name is not shorter than its key. */
	if (len > sizeof(key))
		return false;
	memcpy(key, family.data, family.len);
	key[family.len] = ':';
	if (qualifier.len)
		memcpy(key + family.len + 1, qualifier.data, qualifier.len);
	name_part(bytes_of(key, len), 0, out);
	return !out->more;
}
