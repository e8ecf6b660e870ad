/*
 * Any bytes as an answer of a server of HBase: what is read lies inside, as
 * each of the messages there are, and is written as it was read.
 */
#include "tests/fuzz/hbase_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pb_region_info info;

	(void)walk_frame(bytes_of(data, size));
	(void)walk_as_all(bytes_of(data, size));
	if (region_info_take(bytes_of(data, size), &info) == 0)
		walk_message(bytes_of(data, size), &pb_region_info, &info);
	return 0;
}
