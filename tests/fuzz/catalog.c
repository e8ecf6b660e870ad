/*
 * Any bytes as a catalog's file are refused, or make a catalog that comes back
 * the same from its bytes.
 *
 * A checksum keeps a fuzzer out of all that lies behind it. So the input is
 * taken twice: as a file, and as a body that is given a right head.
 */
#include "tests/fuzz/catalog_print.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void decode(struct bytes image)
{
	struct catalog c;
	uint64_t store;

	if (catalog_decode(image, 1, &c, &store) < 0)
		return;
	catalog_comes_back(&c);
	catalog_free(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t head[CATALOG_HEAD];
	struct buf image = {0};

	decode(bytes_of(data, size));
	if (buf_append(&image, head, sizeof(head)) < 0 ||
	    (size && buf_append(&image, data, size) < 0))
		abort();
	catalog_seal(image.data, image.len, 1);
	decode(buf_bytes(&image));
	buf_free(&image);
	return 0;
}
