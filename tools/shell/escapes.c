#include "tools/shell/escapes.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_escape(const char *p)
{
	return p[0] == '\\' && p[1] == 'x' && isxdigit((unsigned char)p[2]) &&
	       isxdigit((unsigned char)p[3]);
}

int escapes_read(const char *text, struct buf *out)
{
	int r = 0;

	while (r == 0 && *text) {
		uint8_t c = (uint8_t)*text;
		bool escaped = is_escape(text);

		if (escaped) {
			char digits[3] = {text[2], text[3], '\0'};

			c = (uint8_t)strtoul(digits, NULL, 16);
		}
		text += escaped ? 4 : 1;
		r = buf_append(out, &c, 1);
	}
	return r;
}

int escapes_write(struct bytes b, struct buf *out)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < b.len; i++) {
		char text[8];

		snprintf(text, sizeof(text), "\\x%02X", b.data[i]);
		r = b.data[i] > 0x1f && b.data[i] < 0x7f && b.data[i] != '\\'
			    ? buf_append(out, &b.data[i], 1)
			    : buf_append(out, text, 4);
	}
	return r;
}

bool escapes_has(const char *text)
{
	for (; *text; text++)
		if (is_escape(text))
			return true;
	return false;
}
