#include "fs/utf8.h"

/* The length that the first byte announces and its least code point. */
static size_t announced(uint8_t first, uint32_t *least)
{
	if (first < 0x80) {
		*least = 0;
		return 1;
	}
	if (first >= 0xc2 && first < 0xe0) {
		*least = 0x80;
		return 2;
	}
	if (first >= 0xe0 && first < 0xf0) {
		*least = 0x800;
		return 3;
	}
	if (first >= 0xf0 && first < 0xf5) {
		*least = 0x10000;
		return 4;
	}
	return 0;
}

size_t utf8_char(const uint8_t *p, size_t n)
{
	uint32_t least, code;
	size_t len;

	if (!n)
		return 0;
	len = announced(p[0], &least);
	if (len <= 1 || len > n)
		return len > n ? 0 : len;
	code = p[0] & (0xffu >> (len + 1));
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (p[i] & 0x3f);
	}
	/* Overlong forms and surrogates are no characters. */
	if (code < least || code > 0x10ffff ||
	    (code >= 0xd800 && code <= 0xdfff))
		return 0;
	return len;
}
