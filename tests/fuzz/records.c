/*
 * Any bytes as CSV, TSV and JSON lines are refused or taken; what was taken and is
 * written is read as the same. The same bytes as a hash of HBase's shell do no
 * harm, and come back from its escapes.
 */
#include <stdlib.h>

#include "tools/feed/format.h"
#include "tools/shell/escapes.h"
#include "tools/shell/hash.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool held)
{
	if (!held)
		abort();
}

static struct input opened(const struct format *f, struct bytes b)
{
	struct input in = {.line = 1, .separator = f->separator};

	/* fmemopen() of nothing is an error; an empty line is nothing. */
	in.file = b.len ? fmemopen((void *)b.data, b.len, "r")
			: fmemopen((void *)"\n", 1, "r");
	need(in.file != NULL);
	return in;
}

static void closed(struct input *in)
{
	fclose(in->file);
	input_free(in);
}

/* Are the fields that have a value the same? */
static bool is_same(const struct record *a, const struct record *b)
{
	size_t k = 0;

	for (size_t i = 0; i < a->n; i++) {
		if (a->fields[i].absent)
			continue;
		while (k < b->n && b->fields[k].absent)
			k++;
		if (k == b->n ||
		    !bytes_eq(a->fields[i].name, b->fields[k].name) ||
		    !bytes_eq(a->fields[i].value, b->fields[k].value))
			return false;
		k++;
	}
	return true;
}

/* The record alone, as a file, is the record. */
static void there_and_back(const struct format *f, const struct record *r)
{
	struct record again = {0};
	struct buf out = {0};
	struct input in;
	bool empty = true;

	for (size_t i = 0; i < r->n; i++)
		empty = empty && r->fields[i].absent;
	if (f->write_head)
		need(f->write_head(f, r, &out) == 0);
	need(f->write(f, r, &out) == 0);
	in = opened(f, buf_bytes(&out));
	if (f->head)
		need(f->head(&in) == 1);
	need(f->next(&in, &again) == 1 || empty);
	need(empty || is_same(r, &again));
	need(empty || f->next(&in, &again) == 0);
	closed(&in);
	record_free(&again);
	buf_free(&out);
}

static void read_all(const char *name, struct bytes b)
{
	const struct format *f = format_find(name);
	struct input in = opened(f, b);
	struct record r = {0};
	int found = f->head ? f->head(&in) : 1;
	/* A byte order mark is not written. */
	bool marked = in.head.n && in.head.fields[0].name.len &&
		      in.head.fields[0].name.data[0] == 0xef;

	while (found > 0) {
		found = f->next(&in, &r);
		if (found > 0 && !marked)
			there_and_back(f, &r);
	}
	closed(&in);
	record_free(&r);
}

static int take_pair(void *arg, const char *key, const char *value)
{
	need(key && value);
	return 0;
}

static void as_shell(struct bytes b)
{
	struct buf text = {0}, again = {0};
	const char *at;

	need(buf_append(&text, b.data, b.len) == 0);
	need(buf_append(&text, "", 1) == 0);
	at = (const char *)text.data;
	if (hash_begins(at) && hash_read(&at, take_pair, NULL) == 0)
		need(at[-1] == '}');
	text.len = 0;
	need(escapes_write(b, &text) == 0);
	need(buf_append(&text, "", 1) == 0);
	need(escapes_read((const char *)text.data, &again) == 0);
	need(bytes_eq(buf_bytes(&again), b));
	buf_free(&text);
	buf_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = bytes_of(data, size);

	read_all("csv", b);
	read_all("tsv", b);
	read_all("jsonl", b);
	as_shell(b);
	return 0;
}
