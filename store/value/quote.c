#include "store/value/quote.h"

#include <stdio.h>

/* What one byte takes at most, and what may follow the last one. */
#define ONE 4
#define END sizeof("'...")

const char *quote(struct quoted *q, struct bytes key)
{
	size_t n = 0, i = 0;

	q->text[n++] = '\'';
	for (; i < key.len && n + ONE + END <= sizeof(q->text); i++) {
		uint8_t c = key.data[i];

		if (c < ' ' || c > '~' || c == '\'' || c == '\\')
			n += (size_t)snprintf(q->text + n, ONE + 1, "\\x%02x",
					      c);
		else
			q->text[n++] = (char)c;
	}
	snprintf(q->text + n, END, "'%s", i < key.len ? "..." : "");
	return q->text;
}
