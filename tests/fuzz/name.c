/*
 * Any bytes as a key come back from their names; any bytes as names are
 * refused or are the one spelling of what they decode to.
 */
#include <stdlib.h>

#include "fs/text/name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void key_to_names(struct bytes key)
{
	struct name_part part;
	struct buf joined = {0};
	size_t pos = 0;
	bool more;

	do {
		name_part(key, pos, &part);
		if (name_join(bytes_of(part.text, part.len), &joined, &more) ||
		    more != part.more || joined.len != part.next)
			abort();
		pos = part.next;
	} while (part.more);
	if (!bytes_eq(buf_bytes(&joined), key))
		abort();
	buf_free(&joined);
}

/* Components split at '/'. */
static void names_to_key(struct bytes names)
{
	struct name_part part;
	struct buf key = {0};
	size_t at = 0, pos = 0;
	bool more = true;

	while (more && at <= names.len) {
		const uint8_t *end =
			at < names.len
				? memchr(names.data + at, '/', names.len - at)
				: NULL;
		size_t n =
			end ? (size_t)(end - names.data) - at : names.len - at;

		if (name_join(bytes_of(names.data + at, n), &key, &more))
			goto out;
		at += n + 1;
	}
	if (more)
		goto out;
	/* All were accepted: they are the spelling. */
	for (at = 0, more = true; more; at += part.len + 1, pos = part.next) {
		name_part(buf_bytes(&key), pos, &part);
		if (part.len > names.len - at ||
		    memcmp(part.text, names.data + at, part.len))
			abort();
		more = part.more;
	}
out:
	buf_free(&key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes in = bytes_of(data, size), family, qualifier;
	struct buf hold = {0};
	int64_t ts;

	if (size > 4096)
		return 0;
	key_to_names(in);
	names_to_key(in);
	name_split_alias(in, &hold, &family, &qualifier);
	name_parse_ts(in, &ts);
	buf_free(&hold);
	return 0;
}
