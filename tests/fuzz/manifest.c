/*
 * Any bytes as a manifest are refused, or make a catalog that comes back the
 * same from the state that is written of it.
 *
 * A checksum keeps a fuzzer out of all that lies behind it. So the input is
 * taken twice: as a file, and as bodies of records (length:2 body) that are
 * given right heads.
 */
#include <stdlib.h>

#include "store/lsm/manifest/manifest_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void replay(struct bytes image)
{
	struct buf first = {0}, second = {0};
	struct manifest_image m;
	struct catalog c, back;

	if (manifest_replay(image, 1, &c, &m) < 0)
		return;
	if (m.end > image.len || m.state_end > m.end)
		abort();
	if (manifest_put_header(&first, 2, m.store) < 0 ||
	    manifest_put_state(&first, 2, first.len, &c) < 0 ||
	    manifest_replay(buf_bytes(&first), 2, &back, &m) < 0 ||
	    manifest_put_header(&second, 2, m.store) < 0 ||
	    manifest_put_state(&second, 2, second.len, &back) < 0 ||
	    !bytes_eq(buf_bytes(&first), buf_bytes(&second)))
		abort();
	catalog_free(&c);
	catalog_free(&back);
	buf_free(&first);
	buf_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t head[MANIFEST_HEAD];
	struct buf image = {0};
	size_t at = 0, len, start;

	replay(bytes_of(data, size));
	while (size - at > 2) {
		len = data[at] | (size_t)data[at + 1] << 8;
		at += 2;
		if (len > size - at)
			len = size - at;
		if (!len)
			break;
		start = image.len;
		if (buf_append(&image, head, sizeof(head)) < 0 ||
		    buf_append(&image, data + at, len) < 0)
			abort();
		manifest_seal(image.data + start, image.len - start, 1, start);
		at += len;
	}
	replay(buf_bytes(&image));
	buf_free(&image);
	return 0;
}
