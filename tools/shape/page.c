#include "tools/shape/page.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "store/value/utf8.h"

static void put(struct page *p, const char *text, size_t n)
{
	if (!p->err)
		p->err = buf_append(&p->out, text, n);
}

void page_put(struct page *p, const char *fmt, ...)
{
	char text[4096];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n > 0)
		put(p, text,
		    (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

/* May a page show the character? */
static bool is_shown(uint32_t c)
{
	if (c < 0x20 || (c >= 0x7F && c < 0xA0) || (c & 0xFFFE) == 0xFFFE)
		return false;
	/* Marks of direction, invisible ones, and ends of lines. */
	return !(c >= 0x200B && c <= 0x200F) && !(c >= 0x2028 && c <= 0x202E) &&
	       !(c >= 0x2060 && c <= 0x206F) && c != 0xFEFF && c != 0x061C &&
	       c != 0xAD;
}

static void put_char(struct page *p, const uint8_t *at, size_t n)
{
	static const struct {
		char c;
		const char *name;
	} markup[] = {{'<', "&lt;"},
		      {'>', "&gt;"},
		      {'&', "&amp;"},
		      {'"', "&quot;"},
		      {'\'', "&#39;"}};

	for (size_t i = 0;
	     n == 1 && !p->plain && i < sizeof(markup) / sizeof(*markup); i++)
		if (*at == (uint8_t)markup[i].c) {
			put(p, markup[i].name, strlen(markup[i].name));
			return;
		}
	put(p, (const char *)at, n);
}

void page_key(struct page *p, struct bytes key, size_t max)
{
	size_t i = 0, shown = 0;

	while (i < key.len && shown < max) {
		size_t n = utf8_char(key.data + i, key.len - i);

		if (n && is_shown(utf8_code(key.data + i, n))) {
			put_char(p, key.data + i, n);
			shown++;
			i += n;
			continue;
		}
		for (size_t end = i + (n ? n : 1); i < end; i++, shown += 4)
			page_put(p, "\\x%02X", key.data[i]);
	}
	if (i < key.len)
		put(p, "\xE2\x80\xA6", 3);
}

void page_bytes(struct page *p, double bytes)
{
	static const char *const units[] = {"bytes", "KiB", "MiB",
					    "GiB",   "TiB", "PiB"};
	int u = 0;

	for (; bytes >= 1024 && u < 5; u++)
		bytes /= 1024;
	page_put(p, "%.*f %s", u && bytes < 100 ? 1 : 0, bytes, units[u]);
}

void page_day(struct page *p, int64_t day)
{
	time_t t = (time_t)(day * 86400);
	struct tm tm;
	char text[32];

	if (gmtime_r(&t, &tm) && strftime(text, sizeof(text), "%Y-%m-%d", &tm))
		page_put(p, "%s", text);
}
