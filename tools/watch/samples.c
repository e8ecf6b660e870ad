#include "tools/watch/samples.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/value/array.h"

/* Cuts the labels {a="x",le="y"} at @at; what stands behind them, or NULL. */
static char *cut_labels(char *at, struct sample *out)
{
	*at++ = '\0';
	while (*at != '}') {
		char *name = at, *value = strstr(at, "=\""), *end;

		end = value ? strchr(value + 2, '"') : NULL;
		if (!end)
			return NULL;
		*value = *end = '\0';
		if (!strcmp(name, "le"))
			out->bound = value + 2;
		else if (!out->label[0])
			out->label = value + 2;
		at = end + 1;
		if (*at == ',')
			at++;
	}
	return at + 1;
}

static int read_line(char *line, struct sample *out)
{
	char *at = line + strcspn(line, "{ "), *end;

	*out = (struct sample){line, "", "", 0};
	if (!*at || line[0] == '#')
		return 0;
	if (*at == '{')
		at = cut_labels(at, out);
	else
		*at++ = '\0';
	if (!at)
		return 0;
	out->value = strtod(at, &end);
	return end != at;
}

int samples_read(char *text, struct samples *out)
{
	char *line;
	size_t cap = 0;

	*out = (struct samples){0};
	while ((line = strsep(&text, "\n"))) {
		if (ARRAY_RESERVE(out->all, cap, out->n + 1) < 0) {
			samples_free(out);
			return -ENOMEM;
		}
		out->n += (size_t)read_line(line, &out->all[out->n]);
	}
	return 0;
}

void samples_free(struct samples *s)
{
	free(s->all);
	*s = (struct samples){0};
}

double samples_get(const struct samples *s, const char *name, const char *label)
{
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->all[i].name, name) &&
		    !strcmp(s->all[i].label, label))
			return s->all[i].value;
	return 0;
}

size_t samples_buckets(const struct samples *s, const char *name,
		       const char *label, double *out, const char **bounds,
		       size_t max)
{
	char buckets[128];
	double before = 0;
	size_t n = 0;

	snprintf(buckets, sizeof(buckets), "%s_bucket", name);
	for (size_t i = 0; i < s->n && n < max; i++) {
		const struct sample *a = &s->all[i];

		if (strcmp(a->name, buckets) != 0 ||
		    strcmp(a->label, label) != 0)
			continue;
		out[n] = a->value - before;
		bounds[n++] = a->bound;
		before = a->value;
	}
	return n;
}
