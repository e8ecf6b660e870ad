/*
 * Any bytes as a manifest of format 4 are refused, or make a catalog that comes
 * back the same from its bytes.
 *
 * Checksums keep a fuzzer out of all that lies behind them. So the input is
 * taken twice: as a file, and as bodies of records (length:2 body) that are
 * given right heads.
 */
#include <string.h>
#include <xxhash.h>

#include "store/lsm/manifest/manifest_old.h"
#include "tests/fuzz/catalog_print.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	RECORD_HEAD = 16
};

static void le(uint8_t *p, uint64_t v, size_t size)
{
	for (size_t i = 0; i < size; i++)
		p[i] = (uint8_t)(v >> (8 * i));
}

/* Appends a record of manifest 1 whose kind and ops are @body. */
static void add_record(struct buf *image, struct bytes body)
{
	uint8_t head[RECORD_HEAD], place[24];

	le(place, 1, 8);
	le(place + 8, image->len, 8);
	le(place + 16, body.len, 8);
	memcpy(head, "cMf1", 4);
	le(head + 4, body.len, 4);
	le(head + 8,
	   XXH3_64bits_withSeed(body.data, body.len,
				XXH3_64bits(place, sizeof(place))),
	   8);
	if (buf_append(image, head, sizeof(head)) < 0 ||
	    buf_append(image, body.data, body.len) < 0)
		abort();
}

/* The records of an input, with heads; @ends, of @n at most: where each ends. */
static struct buf image_of(struct bytes input, uint64_t *ends, size_t *n)
{
	struct buf image = {0};
	size_t at = 0, most = n ? *n : 0, count = 0;

	while (input.len - at > 2) {
		size_t len = input.data[at] | (size_t)input.data[at + 1] << 8;

		at += 2;
		if (len > input.len - at)
			len = input.len - at;
		if (!len)
			break;
		add_record(&image, bytes_of(input.data + at, len));
		at += len;
		if (count < most)
			ends[count] = image.len;
		count++;
	}
	if (n)
		*n = count;
	return image;
}

static void replay(struct bytes image)
{
	struct catalog c;
	uint64_t store;

	if (manifest_old_replay(image, 1, &c, &store) < 0)
		return;
	catalog_comes_back(&c);
	catalog_free(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf image;

	replay(bytes_of(data, size));
	image = image_of(bytes_of(data, size), NULL, NULL);
	replay(buf_bytes(&image));
	buf_free(&image);
	return 0;
}
