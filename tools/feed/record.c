#include "tools/feed/record.h"

#include <errno.h>
#include <stdlib.h>

#include "store/value/array.h"

void record_begin(struct record *r, uint64_t line)
{
	r->n = r->bytes.len = 0;
	r->line = line;
}

int record_add(struct record *r, struct bytes name, struct bytes value,
	       unsigned flags)
{
	if (ARRAY_RESERVE(r->fields, r->cap, r->n + 1) < 0 ||
	    buf_append(&r->bytes, name.data, name.len) < 0)
		return why(-ENOMEM, "out of memory");
	r->fields[r->n++] = (struct field){
		.name = name,
		.absent = flags & FIELD_ABSENT,
		.bare = flags & FIELD_BARE,
	};
	return record_grow(r, value.data, value.len);
}

int record_grow(struct record *r, const void *data, size_t len)
{
	if (r->bytes.len + len > FEED_RECORD_MAX)
		return why(-EFBIG, "the record has more than %u bytes",
			   FEED_RECORD_MAX);
	if (buf_append(&r->bytes, data, len) < 0)
		return why(-ENOMEM, "out of memory");
	r->fields[r->n - 1].value.len += len;
	return 0;
}

void record_end(struct record *r)
{
	const uint8_t *p = r->bytes.data;

	/* Without a byte there is no memory to point to. */
	for (size_t i = 0; p && i < r->n; i++) {
		struct field *f = &r->fields[i];

		f->name = bytes_of(p, f->name.len);
		f->value = bytes_of(p + f->name.len, f->value.len);
		p += f->name.len + f->value.len;
	}
}

void record_free(struct record *r)
{
	buf_free(&r->bytes);
	free(r->fields);
}
