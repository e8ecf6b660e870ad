#include "store/value/why.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

_Thread_local char why_sentence[WHY_MAX];

int why_say(const char *fmt, ...)
{
	char text[WHY_MAX];
	int kept = errno;
	va_list ap;

	/* A second buffer is needed: an argument may be the old sentence. */
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(why_sentence, sizeof(why_sentence), "%s", text);
	errno = kept;
	return 0;
}

void why_keep(struct why_kept *k)
{
	memcpy(k->text, why_sentence, strlen(why_sentence) + 1);
}

void why_restore(const struct why_kept *k)
{
	memcpy(why_sentence, k->text, strlen(k->text) + 1);
}

const char *store_why(void)
{
	return why_sentence;
}
