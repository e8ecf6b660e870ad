#include "fs/tree/kind.h"

#include "fs/tree/control_file.h"
#include "fs/tree/info.h"
#include "fs/tree/place_inside.h"
#include "store/store.h"

#define HOME_OF_ROWS                                 \
	"a table holds only rows: a value lives at " \
	"ROW/FAMILY:QUALIFIER"
#define HOME_OF_COLUMNS                                  \
	"a family holds only columns: a value lives at " \
	"QUALIFIER/latest"

/* clang-format off */
const struct kind kinds[NODE_KINDS] = {
	[NODE_ROOT] = {.flags = KIND_DIR,
		.holds = NODE_TABLE,
		.believed = {BELIEVE_SECOND, BELIEVE_SECOND, BELIEVE_NEVER},
		.child = child_of_root,
		.stat = place_stat_blank, .list = list_tables,
		.home = "the root holds only tables: a value lives at "
			"TABLE/ROW/FAMILY:QUALIFIER"},
	/* It appears only by a create of that very name. */
	[NODE_TABLE] = {.flags = KIND_DIR | KIND_ROOT,
		.holds = NODE_ROW, .scan = SCAN_ROWS,
		.believed = {BELIEVE_LONG, BELIEVE_LONG, BELIEVE_LONG},
		.child = child_key, .stat = stat_table, .list = list_cells,
		.home = HOME_OF_ROWS},
	/* A mkdir of a family changes its size. */
	[NODE_SCHEMA] = {.flags = KIND_WRITABLE,
		.believed = {BELIEVE_LONG, BELIEVE_NEVER, BELIEVE_NEVER},
		.stat = stat_schema, .open = OPENS_WRITER},
	[NODE_ROW_PIECE] = {.flags = KIND_DIR | KIND_PIECE | KIND_MADE,
		.key = KEY_ROW, .holds = NODE_ROW, .scan = SCAN_ROWS,
		.believed = {BELIEVE_CELLS, BELIEVE_CELLS, BELIEVE_NEVER},
		.child = child_key, .decode = decode_row,
		.stat = stat_piece, .list = list_cells,
		.home = HOME_OF_ROWS},
	[NODE_ROW] = {.flags = KIND_DIR | KIND_MADE | KIND_KEPT,
		.key = KEY_ROW, .holds = NODE_FAMILY, .piece = NODE_ROW_PIECE,
		.scan = SCAN_FAMILIES,
		.believed = {BELIEVE_CELLS, BELIEVE_CELLS, BELIEVE_ROW},
		.child = child_of_row, .decode = decode_row,
		.stat = stat_row, .list = list_cells,
		.home = "a row holds only families: a value lives at "
			"FAMILY:QUALIFIER or FAMILY/QUALIFIER/latest"},
	[NODE_FAMILY] = {.flags = KIND_DIR | KIND_MADE | KIND_KEPT,
		.key = KEY_FAMILY, .holds = NODE_COLUMN, .scan = SCAN_COLUMNS,
		.believed = {BELIEVE_CELLS, BELIEVE_CELLS, BELIEVE_NEVER},
		.child = child_key, .decode = decode_family,
		.stat = stat_family, .list = list_cells,
		.home = HOME_OF_COLUMNS},
	[NODE_COLUMN_PIECE] = {.flags = KIND_DIR | KIND_PIECE | KIND_MADE,
		.key = KEY_QUALIFIER, .holds = NODE_COLUMN,
		.scan = SCAN_COLUMNS,
		.believed = {BELIEVE_CELLS, BELIEVE_CELLS, BELIEVE_NEVER},
		.child = child_key, .decode = decode_qualifier,
		.stat = stat_piece, .list = list_cells,
		.home = HOME_OF_COLUMNS},
	[NODE_COLUMN] = {.flags = KIND_DIR | KIND_MADE | KIND_KEPT,
		.key = KEY_QUALIFIER, .holds = NODE_VERSION,
		.piece = NODE_COLUMN_PIECE, .scan = SCAN_CELLS,
		.believed = {BELIEVE_CELLS, BELIEVE_CELLS, BELIEVE_NEVER},
		.child = child_of_column, .decode = decode_qualifier,
		.stat = stat_cell, .list = list_cells,
		.home = "a column holds only versions: their names are latest "
			"and milliseconds since 1970"},
	/* A delete of a newer one may bring an old one back. */
	[NODE_VERSION] = {.flags = KIND_CELL | KIND_WRITABLE,
		.believed = {BELIEVE_VERSION, BELIEVE_VERSION, BELIEVE_SECOND},
		.decode = decode_version,
		.stat = stat_cell, .open = OPENS_WRITER},
	/* Another path may take the last version away. */
	[NODE_LATEST] = {.flags = KIND_CELL | KIND_WRITABLE,
		.stat = stat_cell, .open = OPENS_WRITER},
	[NODE_ALIAS] = {.flags = KIND_CELL | KIND_WRITABLE,
		.believed = {BELIEVE_NEWEST, BELIEVE_NEWEST, BELIEVE_NEVER},
		.decode = decode_alias,
		.stat = stat_cell, .open = OPENS_WRITER},
	[NODE_VIEW_NAME] = {.flags = KIND_DIR,
		.holds = NODE_VIEW,
		.believed = {BELIEVE_LONG, BELIEVE_CELLS, BELIEVE_NEVER},
		.child = child_any, .decode = decode_view_name,
		.stat = place_stat_blank},
	/* Its level (place_level()) says what it holds. */
	[NODE_VIEW] = {.flags = KIND_DIR | KIND_ROOT,
		.believed = {BELIEVE_CELLS, BELIEVE_CELLS, BELIEVE_NEVER},
		.decode = decode_view, .stat = place_stat_blank},
	[NODE_VALUE] = {.key = KEY_QUALIFIER, .piece = NODE_COLUMN_PIECE,
		.decode = decode_qualifier,
		.stat = stat_cell, .open = OPENS_READER},
	[NODE_MARKER] = {
		.believed = {BELIEVE_CELLS, BELIEVE_CELLS, BELIEVE_NEVER},
		.decode = decode_marker,
		.stat = stat_cell, .open = OPENS_READER},
	[NODE_PAST] = {.flags = KIND_COMPUTED,
		.decode = decode_past, .stat = stat_cell, .open = OPENS_READER,
		.sentence = " is another name of an older version, to read it: "
			"change that version by its timestamp (ls -U), or put "
			"a new one into latest"},
	[NODE_COUNTER] = {.flags = KIND_COMPUTED | KIND_WRITABLE,
		.believed = {BELIEVE_CELLS, BELIEVE_NEVER, BELIEVE_NEVER},
		.stat = place_stat_blank, .open = OPENS_COUNTER,
		.sentence = "counter is the column's newest value as a number: "
			"echo 5 > counter adds to it; move or remove latest, "
			"or its timestamp"},
	[NODE_CELLS] = {.flags = KIND_COMPUTED | KIND_WRITABLE,
		.believed = {BELIEVE_CELLS, BELIEVE_NEVER, BELIEVE_NEVER},
		.stat = place_stat_blank, .open = OPENS_STREAM,
		.sentence = ".cells is a stream of what is beneath: read it, "
			"or write lines into it; a line of kind delete, or "
			"rm -r, takes away"},
	[NODE_CONTROL_DIR] = {.flags = KIND_DIR | KIND_FIXED,
		.holds = NODE_CONTROL,
		.believed = {BELIEVE_LONG, BELIEVE_LONG, BELIEVE_NEVER},
		.child = child_any, .decode = decode_control_dir,
		.stat = place_stat_blank, .names = control_name,
		.sentence = "nothing can be made or removed here"},
	/* Which of them can be written, control_file.h says. */
	[NODE_CONTROL] = {.flags = KIND_WRITABLE,
		.believed = {BELIEVE_LONG, BELIEVE_LONG, BELIEVE_LONG},
		.decode = decode_control,
		.stat = place_stat_blank, .open = OPENS_READER},
	[NODE_SCRATCH] = {.flags = KIND_SCRATCH | KIND_WRITABLE,
		.believed = {BELIEVE_CELLS, BELIEVE_NEVER, BELIEVE_LONG},
		.stat = stat_nothing, .open = OPENS_WRITER},
	[NODE_SCRATCH_DIR] = {.flags = KIND_DIR | KIND_SCRATCH | KIND_ANY_NAME,
		.holds = NODE_SCRATCH,
		.believed = {BELIEVE_CELLS, BELIEVE_NEVER, BELIEVE_NEVER},
		.child = child_any, .stat = stat_nothing},
	[NODE_SNAPSHOT_DIR] = {.flags = KIND_DIR | KIND_FIXED,
		.holds = NODE_SNAPSHOT,
		.believed = {BELIEVE_CELLS, BELIEVE_CELLS, BELIEVE_NEVER},
		.child = child_of_snapshots,
		.stat = place_stat_blank, .list = list_snapshots},
	[NODE_SNAPSHOT] = {.flags = KIND_DIR | KIND_ROOT,
		.holds = NODE_TABLE,
		.believed = {BELIEVE_LONG, BELIEVE_LONG, BELIEVE_LONG},
		.child = child_of_snapshot,
		.stat = stat_snapshot, .list = list_shown},
	[NODE_STAGE] = {.flags = KIND_DIR | KIND_FIXED | KIND_ANY_NAME,
		.holds = NODE_SCRATCH,
		.believed = {BELIEVE_CELLS, BELIEVE_CELLS, BELIEVE_NEVER},
		.child = child_any, .stat = place_stat_blank},
	[NODE_PUT] = {.flags = KIND_DIR | KIND_FIXED,
		.holds = NODE_ROW,
		.believed = {BELIEVE_CELLS, BELIEVE_CELLS, BELIEVE_NEVER},
		.child = child_of_put, .decode = decode_put,
		.stat = place_stat_blank,
		.home = HOME_OF_ROWS},
	[NODE_INFO_DIR] = {.flags = KIND_DIR | KIND_FIXED,
		.holds = NODE_INFO,
		.believed = {BELIEVE_CELLS, BELIEVE_CELLS, BELIEVE_NEVER},
		.child = child_any,
		.stat = place_stat_blank, .names = info_name,
		.sentence = "what a table holds is told here, and can only be "
			"read"},
	[NODE_INFO] = {
		.believed = {BELIEVE_CELLS, BELIEVE_CELLS, BELIEVE_NEVER},
		.decode = decode_info,
		.stat = place_stat_blank, .open = OPENS_READER},
};
/* clang-format on */
