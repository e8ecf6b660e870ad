/*
 * Reads an inventory of a backup from arbitrary bytes: what is accepted is, byte
 * for byte, what would be written of it.
 */
#include <stdlib.h>

#include "tools/backup/inventory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf again = {0};
	struct inventory r;

	if (inventory_parse(bytes_of(data, size), &r) < 0)
		return 0;
	if (inventory_format(&r, &again) == 0 &&
	    !bytes_eq(buf_bytes(&again), bytes_of(data, size)))
		abort();
	buf_free(&again);
	inventory_free(&r);
	return 0;
}
