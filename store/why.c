#include "store/why.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char sentence[1024];

int why(int err, const char *fmt, ...)
{
	char text[sizeof(sentence)];
	va_list ap;

	/* Through a second buffer: an argument may be the old sentence. */
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(sentence, sizeof(sentence), "%s", text);
	return err;
}

const char *store_why(void)
{
	return sentence;
}

void why_clear(void)
{
	sentence[0] = '\0';
}
