/*
 * Any bytes as a schema, in both forms, are refused or come back the same from
 * what they are written as.
 */
#include <stdlib.h>

#include "store/value/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Who writes line by line is not refused before the bad line. */
static void without_last_line(struct bytes in)
{
	struct schema s = {0};

	while (in.len && in.data[in.len - 1] == '\n')
		in.len--;
	while (in.len && in.data[in.len - 1] != '\n')
		in.len--;
	if (schema_parse(in, NULL, &s) < 0)
		abort();
	schema_free(&s);
}

/* As a change of a table that has the families of the text already. */
static void change(struct bytes in, const struct schema *now)
{
	struct alter a = {0};

	if (alter_parse(in, now, ALTER_GONE, &a) < 0 ||
	    !schema_equal(&a.to, now))
		abort();
	alter_free(&a);
	if (alter_parse(in, now, ALTER_SPARE, &a) < 0)
		return;
	for (uint32_t i = 0; i < now->nfamilies; i++)
		if (a.drop.nfamilies ||
		    family_attrs_check(&a.to.families[i].attrs) < 0)
			abort();
	alter_free(&a);
}

static void text(struct bytes in)
{
	struct schema s = {0}, back = {0};
	struct buf out = {0};

	if (schema_parse(in, NULL, &s) < 0)
		return;
	without_last_line(in);
	if (in.len)
		change(in, &s);
	if (schema_format(&s, &out) < 0 ||
	    schema_parse(buf_bytes(&out), NULL, &back) < 0 ||
	    !schema_equal(&s, &back))
		abort();
	buf_free(&out);
	schema_free(&s);
	schema_free(&back);
}

static void binary(struct bytes in)
{
	struct schema s = {0}, back = {0};
	struct buf out = {0};

	if (schema_decode(in, &s) < 0)
		return;
	if (schema_encode(&s, &out) < 0 || !bytes_eq(in, buf_bytes(&out)))
		abort();
	out.len = 0;
	if (schema_format(&s, &out) < 0)
		abort();
	/* An owner that the text cannot say came from the wrong place. */
	if (s.uid != UINT32_MAX && s.gid != UINT32_MAX &&
	    (schema_parse(buf_bytes(&out), NULL, &back) < 0 ||
	     !schema_equal(&s, &back)))
		abort();
	buf_free(&out);
	schema_free(&s);
	schema_free(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	text(bytes_of(data, size));
	binary(bytes_of(data, size));
	return 0;
}
