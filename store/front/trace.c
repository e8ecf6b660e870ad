#include "store/front/trace.h"

#include <stdarg.h>
#include <stdio.h>

#include "store/value/why.h"

#define KEY_BYTES_MAX 64

const char *trace_key(char out[TRACE_KEY_MAX], struct bytes key)
{
	static const char hex[] = "0123456789ABCDEF";
	size_t n = key.len < KEY_BYTES_MAX ? key.len : KEY_BYTES_MAX;
	char *p = out;

	*p++ = '\'';
	for (size_t i = 0; i < n; i++) {
		uint8_t b = key.data[i];

		if (b > ' ' && b < 0x7f && b != '%' && b != '\'') {
			*p++ = (char)b;
			continue;
		}
		*p++ = '%';
		*p++ = hex[b >> 4];
		*p++ = hex[b & 15];
	}
	if (n < key.len) {
		memcpy(p, "...", 3);
		p += 3;
	}
	*p++ = '\'';
	*p = '\0';
	return out;
}

void trace_line(int r, const char *fmt, ...)
{
	char what[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	fprintf(stderr, "store: %s = %d%s%s\n", what, r, r < 0 ? " " : "",
		r < 0 ? store_why() : "");
}
