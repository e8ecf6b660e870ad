/*
 * Any bytes as a schema, in both forms, are refused or come back the same from
 * what they are written as.
 */
#include <stdlib.h>

#include "store/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void text(struct bytes in)
{
	struct schema s = {0}, back = {0};
	struct buf out = {0};

	if (schema_parse(in, NULL, &s) < 0)
		return;
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
