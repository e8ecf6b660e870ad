#include "tools/watch/heat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the character at @at: %HH is one, and what UTF-8 makes one. */
static size_t character(const char *at)
{
	size_t n = 1;

	if (at[0] == '%')
		return strnlen(at, 3);
	while (((unsigned char)at[n] & 0xc0) == 0x80)
		n++;
	return n;
}

static size_t prefix_len(const char *row)
{
	size_t n = 0;

	for (int i = 0; i < HEAT_PREFIX && row[n] && row[n] != '/'; i++)
		n += character(row + n);
	return n;
}

/* The row that the path names: /TABLE/ROW... or /TABLE/.put/ROW...; or NULL. */
static const char *row_of(const char *path)
{
	static const char put[] = "/.put/";
	const char *row = strchr(path + 1, '/');

	if (path[0] != '/' || path[1] == '.' || !row)
		return NULL;
	if (!strncmp(row, put, sizeof(put) - 1))
		row += sizeof(put) - 1;
	else
		row++;
	return *row == '.' || !*row ? NULL : row;
}

static void count(struct heat *h, const char *name)
{
	size_t i = 0;

	while (i < h->n && strcmp(h->all[i].name, name) != 0)
		i++;
	if (i == HEAT_MAX)
		return;
	if (i == h->n) {
		h->n++;
		h->all[i].requests = 0;
		snprintf(h->all[i].name, sizeof(h->all[i].name), "%s", name);
	}
	h->all[i].requests++;
}

void heat_add(struct heat *h, const char *line)
{
	const char *tab = strrchr(line, '\t'),
		   *row = tab ? row_of(tab + 1) : NULL;
	char name[sizeof(h->all[0].name)];

	if (!row)
		return;
	snprintf(name, sizeof(name), "%.*s/%.*s", (int)strcspn(tab + 2, "/"),
		 tab + 2, (int)prefix_len(row), row);
	count(h, name);
}

static int by_requests(const void *a, const void *b)
{
	const struct heat_prefix *x = a, *y = b;

	if (x->requests != y->requests)
		return x->requests < y->requests ? 1 : -1;
	return strcmp(x->name, y->name);
}

void heat_sort(struct heat *h)
{
	qsort(h->all, h->n, sizeof(h->all[0]), by_requests);
}
