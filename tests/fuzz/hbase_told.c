/*
 * Any bytes as what a server of HBase tells of a table in words: what is read lies
 * inside, and is taken for a schema or refused.
 */
#include "store/hbase/master/descriptor.h"
#include "store/hbase/master/told.h"
#include "tests/fuzz/hbase_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct table_traits traits;
	struct schema schema = {0};
	struct pb_descriptor d;
	struct buf hold = {0};

	/* The table of the seeds. */
	if (told_take(bytes_str("goldt"), bytes_of(data, size), &hold, &d) ==
	    0) {
		walk_message(buf_bytes(&hold), &pb_descriptor, &d);
		walk_again(&pb_descriptor, &d);
		(void)descriptor_traits(&d, &traits);
		if (descriptor_take(&d, 0, 0, &schema) == 0)
			schema_free(&schema);
	}
	buf_free(&hold);
	return 0;
}
