#include "store/remote/ops.h"

const struct wire_row wire_rows[WIRE_OPS] = {
	/* the version of either end; a bit for each thing the store can */
	[WIRE_HELLO] = {"4", "44"},
	/* name, or id; handle, id */
	[WIRE_TABLE_OPEN] = {"s", "48"},
	[WIRE_TABLE_OPEN_ID] = {"8", "48"},
	[WIRE_TABLE_CLOSE] = {"4", ""},
	[WIRE_TABLE_SCHEMA] = {"t", "c"},
	[WIRE_TABLE_VERSION] = {"t", "8"},
	[WIRE_TABLE_NAME] = {"t", "n"},
	[WIRE_TABLE_CREATE] = {"kc", ""},
	/* name, only if empty */
	[WIRE_TABLE_DROP] = {"kb", ""},
	[WIRE_TABLE_TRUNCATE] = {"k", ""},
	/* from, to */
	[WIRE_TABLE_RENAME] = {"kk", ""},
	[WIRE_TABLE_ALTER] = {"ta", ""},
	[WIRE_TABLE_ADD_FAMILY] = {"ts", ""},
	/* the first name after this one */
	[WIRE_TABLE_NEXT] = {"s", "n", .found = true},
	[WIRE_NAMESPACE_CREATE] = {"s", ""},
	[WIRE_NAMESPACE_DROP] = {"s", ""},
	[WIRE_NAMESPACE_NEXT] = {"s", "n", .found = true},
	/* table, whether to sync */
	[WIRE_MUTATE] = {"tbm", "g", .found = true},
	/* those done, the error that prevented more or 0, its sentence */
	[WIRE_MUTATE_MANY] = {"tbM", "G4s"},
	[WIRE_SYNC] = {"", ""},
	/* table, snapshot, bytes wanted; scan, batch */
	[WIRE_SCAN_OPEN] = {"tZ4q", "4r"},
	[WIRE_SCAN_NEXT] = {"44", "r"},
	[WIRE_SCAN_CLOSE] = {"4", ""},
	/* table, snapshot, row, family, qualifier, ts, exact, with value */
	[WIRE_GET] = {"tZsssibb", "v", .found = true},
	[WIRE_SNAPSHOT_TAKE] = {"", "4"},
	[WIRE_SNAPSHOT_RELEASE] = {"4", ""},
	/* table, name */
	[WIRE_SNAPSHOT_CREATE] = {"Ts", ""},
	[WIRE_SNAPSHOT_DROP] = {"Ts", ""},
	/* table, from, to */
	[WIRE_SNAPSHOT_RENAME] = {"Tss", ""},
	/* table, after; name, when it was taken */
	[WIRE_SNAPSHOT_NEXT] = {"Ts", "ni", .found = true},
	/* table, name; snapshot, when it was taken */
	[WIRE_SNAPSHOT_OPEN] = {"Ts", "4il"},
	/* the name of the table as the snapshot shows it, to */
	[WIRE_SNAPSHOT_CLONE] = {"Skk", ""},
	[WIRE_SNAPSHOT_RESTORE] = {"Sk", ""},
	[WIRE_FLUSH] = {"T", ""},
	[WIRE_COMPACT] = {"T", ""},
	[WIRE_STATS] = {"", "r"},
	[WIRE_SPACE] = {"", "p"},
	[WIRE_HEALTH] = {"", ""},
	[WIRE_NOW] = {"", "i"},
	[WIRE_TABLE_INFO] = {"t", "I"},
	/*
	 * bytes wanted; whether there is more, bytes in all, each fault in a
	 * line
	 */
	[WIRE_CHECK] = {"C8", "bC8r"},
	/* behind what is damaged, of a scan whose last batch ended there */
	[WIRE_SCAN_PASS] = {"4", ""},
	/* the hold, the bytes of its list */
	[WIRE_HOLD] = {"", "48"},
	/* the hold, from which byte on */
	[WIRE_HOLD_READ] = {"48", "r"},
	[WIRE_HOLD_RELEASE] = {"4", ""},
	/* bytes */
	[WIRE_KEEP_LOG] = {"8", ""},
	/* as store_shape_next() reads it */
	[WIRE_SHAPE] = {"", "r"},
	/* table, whether to put it into service */
	[WIRE_TABLE_ENABLE] = {"tb", "", .found = true},
	[WIRE_TABLE_IS_ENABLED] = {"t", "", .found = true},
};
