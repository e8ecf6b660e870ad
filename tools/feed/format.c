#include "tools/feed/format.h"

#include "tools/feed/csv.h"
#include "tools/feed/jsonl.h"

static const struct format formats[] = {
	{"csv", ',', csv_head, csv_next, csv_write_head, csv_write},
	{"tsv", '\t', csv_head, csv_next, csv_write_head, csv_write},
	{.name = "jsonl", .next = jsonl_next, .write = jsonl_write},
};

const struct format *format_find(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	return NULL;
}

void input_free(struct input *in)
{
	record_free(&in->head);
	buf_free(&in->text);
}
